"""Weights of a trained pipeline: its strongest features by label, transitions, label patterns,
counts and sizes.

Features are hashes in a model. Those that are to be shown get names from a corpus: where one of
them fires, template and text say what it is. Such a table of names can be kept beside the model.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..components.base import SequenceComponent
from ..components.reading import Reading as ComponentReading
from ..decoders import PatternTrie
from ..features.sequences import sequence_lengths
from ..layers.listener import own_layers
from ..layers.scorer import scorer_of
from ..layers.structured import HeadScorer
from ..layers.weights import LayerShim, weights_of
from ..patterns.sources import PatternFeatures
from .certainty import BATCH
from .names import names_by_key
from .reading import Reading, knows_sums

NAMES = "hoseq_names.json"  # beside the model
Table = dict[str, dict[str, str]]  # component -> key of a feature, in hexadecimals -> name
Rows = dict[str, list[tuple[float, int]]]  # weights and keys of features, of each label
Readings = list[ComponentReading]


def inspected(
    nlp: Language, docs: Sequence[Doc] = (), *, top: int = 5, names: Table | None = None
) -> list[dict[str, Any]]:
    """Every component of this package, as data. docs: of a corpus, annotated by the pipeline. top
    (int): features of each label with the largest weights, as many with the smallest, and label
    patterns. names: known before. RETURNS of each component

    name, kind; labels: by id; n_features, n_weights; sizes: bytes of each part of the model;
    counts: of each label in the corpus, as predicted; strongest: of each label, features ("key" in
    hexadecimals, "name", "" where the corpus does not have it, "weight") of largest weight, then of
    smallest; transitions: weights of pairs (L, L), the earlier label first, None = there are none;
    patterns: of largest weight ("labels", "rule": number of the rule that it needs, -1 = none,
    "weight", "example": words of the corpus that were labelled so).
    """
    own = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    return [_component(pipe, docs, top, (names or {}).get(pipe.name, {})) for pipe in own]


def names_in(components: Sequence[dict[str, Any]]) -> Table:
    """The names that are known, to be kept."""
    return {
        one["name"]: {
            row["key"]: row["name"]
            for row in chain.from_iterable(one["strongest"].values())
            if row["name"]
        }
        for one in components
    }


def _component(
    pipe: SequenceComponent, docs: Sequence[Doc], top: int, names: dict[str, str]
) -> dict[str, Any]:
    sizes: Counter[str] = Counter()
    shims = [(layer.name, shim) for layer in pipe.model.walk() for shim in layer.shims]
    for name, shim in shims:
        sizes[name] += len(shim.to_bytes())
    of_features = [shim for _, shim in shims if isinstance(shim, LayerShim)]
    tables = [table for shim in of_features for table in shim.feature_weights()]
    has_sums = knows_sums(pipe)
    readings: Readings = [
        Reading(pipe, batch) if has_sums else pipe.read(batch, preset=False)
        for batch in minibatch(docs, BATCH)
    ]
    labels = np.concatenate([np.zeros(0, np.intp), *(reading.best for reading in readings)])
    counts = np.bincount(labels, minlength=len(pipe.tags))
    trans = (
        HeadScorer(pipe.model).weights(is_train=False)[1].trans if has_sums else np.zeros((0, 0))
    )
    return {
        "name": pipe.name,
        "kind": type(pipe).__name__,
        "labels": pipe.tags,
        "n_features": sum(shim.n_features() for shim in of_features),
        "n_weights": sum(int(np.count_nonzero(table.values)) for table in tables),
        "sizes": dict(sizes),
        "counts": dict(zip(pipe.tags, counts.tolist(), strict=True)),
        "strongest": _named(pipe, _strongest(pipe, top), readings, names),
        "transitions": np.round(trans, 4).tolist() if trans.any() else None,
        "patterns": _patterns(pipe, readings, 4 * top) if has_sums else [],
    }


def _strongest(pipe: SequenceComponent, top: int) -> Rows:
    found: Rows = {label: [] for label in pipe.tags}
    parts = scorer_of(pipe.model).parts
    for layer in own_layers(pipe.model):
        for keys, table in scorer_of(layer).keyed_weights():
            for y, rows in enumerate(found.values()):
                columns = [y] if parts is None else parts.of_label(y)
                weights = table[:, columns].sum(axis=1, dtype=np.float64)
                order = np.argsort(-weights)
                ends = np.unique([*order[:top], *order[::-1][:top]]).astype(np.intp)
                rows += [(float(weights[i]), int(keys[i])) for i in ends if weights[i]]
    for label, rows in found.items():
        rows.sort(key=lambda row: -row[0])
        found[label] = rows if len(rows) <= 2 * top else [*rows[:top], *rows[-top:]]
    return found


def _named(
    pipe: SequenceComponent, strongest: Rows, readings: Readings, names: dict[str, str]
) -> dict[str, list[dict[str, Any]]]:
    keys = np.array(sorted({key for rows in strongest.values() for _, key in rows}), np.uint64)
    named: dict[int, str] = {int(key, 16): name for key, name in names.items()}
    for reading in reversed(readings):
        named |= names_by_key(pipe.model, reading.docs, keys)
    return {
        label: [{"key": f"{key:016x}", "name": named.get(key, ""), "weight": x} for x, key in rows]
        for label, rows in strongest.items()
    }


def _patterns(pipe: SequenceComponent, readings: Readings, top: int) -> list[dict[str, Any]]:
    shim = weights_of(pipe.model)
    if "patterns" not in shim.extra:
        return []
    every = PatternFeatures.from_arrays(shim.extra["patterns"])
    features = every.chosen(np.flatnonzero(~every.is_span))
    weights = shim.values("patterns", is_train=False)[features.weight_of]
    order = np.argsort(-np.abs(weights), kind="stable")[:top]
    strongest = order[weights[order] != 0].tolist()
    strings = [tuple(features.patterns[i]) for i in strongest]
    examples = _examples(readings, PatternTrie(strings, len(pipe.tags)))
    return [
        {
            "labels": [pipe.tags[y] for y in string],
            "rule": int(features.rule_of[i]),
            "weight": float(weights[i]),
            "example": examples.get(string, ""),
        }
        for i, string in zip(strongest, strings, strict=True)
    ]


def _examples(readings: Readings, trie: PatternTrie) -> dict[tuple[int, ...], str]:
    """Words that were labelled with a string, the first in the corpus."""
    examples: dict[tuple[int, ...], str] = {}
    for reading in readings:
        words = [token.text for doc in reading.docs for token in doc]
        places = trie.occurrences(reading.best, sequence_lengths(reading.docs))
        for node, last in zip(places.nodes.tolist(), places.tokens.tolist(), strict=True):
            string = trie.string(node)
            examples.setdefault(string, " ".join(words[last - len(string) + 1 : last + 1]))
    return examples
