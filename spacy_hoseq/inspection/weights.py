"""Weights of a trained pipeline: its strongest features by label, transitions, label patterns,
counts and sizes.

Features of a model are hashes. A corpus gives names to those that are shown: where one of them
fires, template and text say what it is. Such a table of names can be saved beside the model.
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
from ..components.predictions import Predictions
from ..decoders import PatternTrie
from ..features.sequences import sequence_lengths
from ..layers.listener import own_layers
from ..layers.scorer import scorer_of
from ..layers.structured import HeadScorer
from ..layers.weights import LayerShim, weights_of
from ..patterns.sources import PatternFeatures
from .certainty import DOCS_PER_BATCH
from .names import names_by_key
from .reading import Reading, knows_sums
from .wording import wording_of

NAMES_FILE = "hoseq_names.json"  # beside the model
Table = dict[str, dict[str, str]]  # component -> key of a feature, in hexadecimals -> name
Rows = dict[str, list[tuple[float, int]]]  # weights and keys of features, of each label
Readings = list[Predictions]


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
    """The names of features that are known, to be saved."""
    table: Table = {}
    for one in components:
        names = table[one["name"]] = {}
        for row in chain.from_iterable(one["strongest"].values()):
            if row["name"]:
                names[row["key"]] = row["name"]
    return table


def _component(
    pipe: SequenceComponent, docs: Sequence[Doc], top: int, names: dict[str, str]
) -> dict[str, Any]:
    """What `inspected` returns of one component."""
    sizes: Counter[str] = Counter()
    n_features = 0
    n_weights = 0
    for layer in pipe.model.walk():
        for shim in layer.shims:
            sizes[layer.name] += len(shim.to_bytes())
            if isinstance(shim, LayerShim):
                n_features += shim.n_features()
                for table in shim.feature_weights():
                    n_weights += int(np.count_nonzero(table.values))
    # Greedy decisions have no sums over labellings, and so neither transitions nor patterns.
    has_sums = knows_sums(pipe)
    readings: Readings = []
    for batch in minibatch(docs, DOCS_PER_BATCH):
        readings.append(Reading(pipe, batch) if has_sums else pipe.read(batch, preset=False))
    counts = np.zeros(len(pipe.tags), np.intp)
    for reading in readings:
        counts += np.bincount(reading.best, minlength=len(pipe.tags))
    transitions = None
    patterns: list[dict[str, Any]] = []
    if has_sums:
        trans = HeadScorer(pipe.model).weights(is_train=False)[1].trans
        if trans.any():
            transitions = np.round(trans, 4).tolist()
        patterns = _patterns(pipe, readings, 4 * top)
    return {
        "name": pipe.name,
        "kind": type(pipe).__name__,
        "labels": pipe.tags,
        "n_features": n_features,
        "n_weights": n_weights,
        "sizes": dict(sizes),
        "counts": dict(zip(pipe.tags, counts.tolist(), strict=True)),
        "strongest": _named(pipe, _strongest(pipe, top), readings, names),
        "transitions": transitions,
        "patterns": patterns,
    }


def _strongest(pipe: SequenceComponent, top: int) -> Rows:
    """The features of the largest and of the smallest weights of each label."""
    strongest: Rows = {label: [] for label in pipe.tags}
    parts = scorer_of(pipe.model).parts
    for layer in own_layers(pipe.model):
        for keys, table in scorer_of(layer).keyed_weights():
            for y, rows in enumerate(strongest.values()):
                # a label of several parts has a column for each of them
                columns = [y] if parts is None else parts.of_label(y)
                weights = table[:, columns].sum(axis=1, dtype=np.float64)
                order = np.argsort(-weights)
                ends = np.unique([*order[:top], *order[::-1][:top]]).astype(np.intp)
                for i in ends.tolist():
                    if weights[i]:
                        rows.append((float(weights[i]), int(keys[i])))
    for label, rows in strongest.items():
        rows.sort(key=lambda row: -row[0])
        if len(rows) > 2 * top:
            strongest[label] = [*rows[:top], *rows[-top:]]
    return strongest


def _named(
    pipe: SequenceComponent, strongest: Rows, readings: Readings, names: dict[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """Features with their names. names: known before, by key in hexadecimals."""
    used = {key for rows in strongest.values() for _, key in rows}
    keys = np.array(sorted(used), np.uint64)
    named: dict[int, str] = {int(key, 16): name for key, name in names.items()}
    for reading in reversed(readings):  # so that the first place in the corpus names a feature
        named |= names_by_key(pipe.model, reading.docs, keys)
    wording = wording_of(pipe.tags, pipe.vocab)
    features: dict[str, list[dict[str, Any]]] = {}
    for label, rows in strongest.items():
        features[label] = []
        for weight, key in rows:
            name = named.get(key, "")
            words = wording.feature(name)
            row = {"key": f"{key:016x}", "name": name, "words": words, "weight": weight}
            features[label].append(row)
    return features


def _patterns(pipe: SequenceComponent, readings: Readings, top: int) -> list[dict[str, Any]]:
    """The label patterns of the largest weights of either sign."""
    shim = weights_of(pipe.model)
    if "patterns" not in shim.extra:
        return []
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    features = features.chosen(np.flatnonzero(~features.is_span))  # spans are no strings of labels
    weights = shim.values("patterns", is_train=False)[features.weight_of]
    order = np.argsort(-np.abs(weights), kind="stable")[:top]
    strongest = order[weights[order] != 0].tolist()
    strings = [tuple(features.patterns[i]) for i in strongest]
    examples = _examples(readings, PatternTrie(strings, len(pipe.tags)))
    rows = []
    for i, string in zip(strongest, strings, strict=True):
        row = {
            "labels": [pipe.tags[y] for y in string],
            "rule": int(features.rule_of[i]),
            "weight": float(weights[i]),
            "example": examples.get(string, ""),
        }
        rows.append(row)
    return rows


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
