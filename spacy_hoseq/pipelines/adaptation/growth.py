"""Components that go on from trained weights, with more labels and more features.

A new component of the same settings finds labels and features in the new texts. Then it gets those
of the old one with their weights; new features and labels begin at zero. Keys of a compacted model
have few bits, so new ones are cut to as many.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model

from ...arrays import Ints
from ...components.structured import StructuredComponent
from ...errors import Errors
from ...features.keys import bits_of, lowest_bits
from ...inspection.calibration import is_linear
from ...layers.label_parts import packed_parts
from ...layers.scorer import scorer_of
from ...layers.weights import WeightsShim, weights_in
from ...learning.parameter import Parameter
from ...learning.used_rows import UsedRows
from ...patterns.sources import PatternFeatures
from ..distillation.silver import renamed_tag


def check_growth(pipe: Any) -> None:
    """RAISES ValueError [HS193]: the component cannot go on from its weights."""
    reason = ""
    if not isinstance(pipe, StructuredComponent):
        reason = "its labels are decided one by one"
    elif not is_linear(pipe):
        reason = "it has a network: train it by `spacy train` with `source`"
    elif pipe.has_own_tables:
        reason = "its features read other tables of words than the pipeline"
    if reason:
        raise ValueError(Errors.HS193.format(name=pipe.name, reason=reason))


def grown(
    nlp: Language, old: Any, examples: Sequence[Example], renamed: Mapping[str, str]
) -> StructuredComponent:
    """A new component in the place of an old one, with its weights, and with the labels and features
    of both it and the examples. renamed: labels of the old one -> their names now. RAISES ValueError
    [HS193]: label patterns for which there can be no other labels."""
    # a component has no more labels after its initialization, so another one takes its place
    config = dict(nlp.get_pipe_config(old.name))
    pipe: Any = nlp.replace_pipe(old.name, config.pop("factory"), config=config)
    labels = [renamed.get(label, label) for label in old.labels]
    labels += [label for label in pipe.target.labels_in(examples) if label not in labels]
    settings = {}
    if old.cfg.get("tag_dictionary"):
        settings["tag_dictionary"] = _dictionary(old, pipe, examples, renamed)
    pipe.initialize(lambda: examples, nlp=nlp, labels=labels, **settings)
    if old.cfg.get("candidates"):
        # labels that a tag had in training, and those that it has in the new texts
        pipe.cfg["candidates"] = _united(old.cfg["candidates"], pipe.cfg["candidates"])
        pipe.labels_changed()
    tags = [renamed_tag(renamed.get(tag, tag), renamed) for tag in old.tags]
    _check_patterns(old, tags == pipe.tags[: len(tags)], len(pipe.tags))
    _take_weights(old.model, pipe.model, tags, pipe.tags)
    return pipe


def _dictionary(
    old: Any, pipe: Any, examples: Sequence[Example], renamed: Mapping[str, str]
) -> dict[str, list[str]]:
    """The tag dictionary of a component, with what gold annotation has besides."""
    entries = {}
    for word, labels in old.cfg["tag_dictionary"].items():
        entries[word] = [renamed.get(label, label) for label in labels]
    found: dict[str, list[str]] = {}
    for example in examples:
        for first, _, label in pipe.target.items(example.reference):
            word = example.reference[first].text
            if label and word in entries:
                found.setdefault(word, []).append(label)
    return _united(entries, found)


def _united(a: Mapping[str, list[str]], b: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Lists of labels by word or tag."""
    return {key: sorted({*a.get(key, ()), *b.get(key, ())}) for key in sorted({*a, *b})}


def _check_patterns(old: Any, is_prefix: bool, n_labels: int) -> None:
    """RAISES ValueError [HS193]: patterns whose labels would have other numbers."""
    patterns = weights_in(old.model)[0].extra.get("patterns")
    if patterns is None:
        return
    has_sets = len(PatternFeatures.from_arrays(patterns).sets) > 0
    if not is_prefix or (has_sets and n_labels > len(old.tags)):
        reason = "there can be no other labels beside those of its patterns"
        raise ValueError(Errors.HS193.format(name=old.name, reason=reason))


def _take_weights(
    old: Model, new: Model, tags_before: Sequence[str], tags_now: Sequence[str]
) -> None:
    """Put the weights of a model into one of more labels and features. tags_before: labels of the
    columns of the first, by the names that they have in the second."""
    labels = _places(tags_before, tags_now), len(tags_now)
    columns = labels
    if scorer_of(old).parts is not None:
        columns = _parts_in(old, new, tags_now)
    for before, shim in zip(weights_in(old), weights_in(new), strict=True):
        for name, parameter in before.parameters.items():
            weights = before.used_rows(name)
            # patterns are those that training has counted: few new texts count none
            if name == "patterns":
                shim.extra = before.extra
            elif name == "table":
                n_rows = _join_keys(before, shim)
                weights = _widened(weights, n_rows, *_columns(weights.shape[1], *columns))
            elif name == "trans":
                weights = _square(weights, *labels)
            else:
                weights = _square(weights, *columns)
            sign = parameter.nonnegative
            shim.set(Parameter(name, weights, nonnegative=sign, resumed=True))


def _parts_in(old: Model, new: Model, tags: Sequence[str]) -> tuple[Ints, int]:
    """Define the parts of labels that share weights. RETURNS where those of before are, and how many
    there are."""
    layer = new.layers[0]
    shim = weights_in(layer)[0]
    # every label as if it was frequent, so that none has fewer parts than before
    often = np.full(len(tags), 2)
    shim.extra = packed_parts(layer.attrs["parts_of"](list(tags), often))
    names = shim.extra["names"]
    parts: Any = scorer_of(old).parts
    return _places(parts.names, names), len(names)


def _places(names: Sequence[str], others: Sequence[str]) -> Ints:
    """Where names (n,) stand among others."""
    place = {name: i for i, name in enumerate(others)}
    return np.array([place[name] for name in names], np.intp)


def _columns(width: int, columns: Ints, n_columns: int) -> tuple[Ints, int]:
    """Columns of a table: of labels, or of pairs of them, the earlier label first."""
    # (`transitions` of a model are scores of pairs)
    if width == len(columns):
        return columns, n_columns
    return (columns[:, None] * n_columns + columns).reshape(-1), n_columns**2


def _widened(weights: UsedRows, n_rows: int, columns: Ints, n_columns: int) -> UsedRows:
    """Weights of more features and columns; the others, and the last row, are zero."""
    values = np.zeros((len(weights.values), n_columns), weights.values.dtype)
    values[:, columns] = weights.values
    return UsedRows.of(values, weights.rows, n_rows + 1)


def _square(weights: UsedRows, columns: Ints, n_columns: int) -> UsedRows:
    """Weights (C, C) of pairs, of more of them."""
    values = np.zeros((n_columns, n_columns), weights.values.dtype)
    values[np.ix_(columns, columns)] = weights.dense()
    return UsedRows.of(values)


def _join_keys(before: WeightsShim, shim: WeightsShim) -> int:
    """Give a layer the features of both. Those of the old one come first. RETURNS their number."""
    keys = before.extra["keys"]
    # one that is among the old ones when it is cut was the same feature in prediction, too
    found = shim.extra["keys"] & lowest_bits(bits_of(keys) or 64)
    new = np.setdiff1d(found[found != 0], keys)
    shim.extra = {**before.extra, "keys": np.concatenate([keys, new])}
    return len(shim.extra["keys"])
