"""What a trained pipeline has learnt: its strongest features by label, transitions, label patterns,
counts and sizes.

Features are hashes in a model. Those that are to be shown get names from a corpus: where one of
them fires, template and text say what it is. Such a table of names can be kept beside the model.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..components import SequenceComponent
from ..layers.listening.listener import own_layers
from ..layers.scorer import scorer_of
from ..layers.structured import transitions_of
from ..layers.weights.shim import LayerShim, weights_of
from ..patterns.sources import EVERYWHERE, PatternFeatures
from .certainty import BATCH
from .reading import ReadTexts, knows_sums, reading_of

NAMES = "hoseq_names.json"  # beside the model
Table = Dict[str, Dict[str, str]]  # component -> key of a feature, in hexadecimals -> name


class Strong(NamedTuple):
    """A feature and its weight for a label. key: in hexadecimals. name: "" where the corpus does
    not have it."""

    key: str
    name: str
    weight: float


class Pattern(NamedTuple):
    """labels: of a label pattern. rule: number of the rule that it needs, -1 = none. example: words
    of the corpus that were labelled so, "" = there are none."""

    labels: List[str]
    rule: int
    weight: float
    example: str


class Component(NamedTuple):
    """name, kind. labels: by id. sizes: bytes of each part of the model. n_features, n_weights:
    what there is.
    counts: of each label in the corpus, as predicted. strongest: of each label, features of largest
    weight, then of smallest. transitions: weights of pairs (L, L), the earlier label first; None =
    there are none. patterns: of largest weight."""

    name: str
    kind: str
    labels: List[str]
    n_features: int
    n_weights: int
    sizes: Dict[str, int]
    counts: Dict[str, int]
    strongest: Dict[str, List[Strong]]
    transitions: Optional[List[List[float]]]
    patterns: List[Pattern]


def inspected(
    nlp: Language, docs: Sequence[Doc] = (), *, top: int = 5, names: Optional[Table] = None
) -> List[Component]:
    """Every component of this package. docs: of a corpus, annotated by the pipeline. top (int):
    features of each label with the largest weights, as many with the smallest, and label patterns.
    names: known before."""
    return [
        _component(pipe, docs, top, (names or {}).get(name, {}))
        for name, pipe in nlp.pipeline
        if isinstance(pipe, SequenceComponent)
    ]


def names_in(components: Sequence[Component]) -> Table:
    """The names that are known, to be kept."""
    return {
        one.name: {
            strong.key: strong.name
            for rows in one.strongest.values()
            for strong in rows
            if strong.name
        }
        for one in components
    }


def _component(
    pipe: SequenceComponent, docs: Sequence[Doc], top: int, names: Dict[str, str]
) -> Component:
    labels = pipe.tags
    shims = [(layer.name, shim) for layer in pipe.model.walk() for shim in layer.shims]
    sizes: Dict[str, int] = {}
    for name, shim in shims:
        sizes[name] = sizes.get(name, 0) + len(shim.to_bytes())
    of_features = [shim for _, shim in shims if isinstance(shim, LayerShim)]
    whole = [table for shim in of_features for table in shim.feature_weights()]
    n_features = sum(shim.n_features() for shim in of_features)
    n_weights = sum(int(np.count_nonzero(table.values)) for table in whole)
    readings = [reading_of(pipe, list(batch)) for batch in minibatch(docs, BATCH)]
    of_labels = np.zeros(len(labels), np.intp)
    for reading in readings:
        of_labels += np.bincount(reading.best, minlength=len(labels))
    has_sums = knows_sums(pipe)
    trans = transitions_of(pipe.model, is_train=False) if has_sums else np.zeros((0, 0))
    return Component(
        name=pipe.name,
        kind=type(pipe).__name__,
        labels=labels,
        n_features=n_features,
        n_weights=n_weights,
        sizes=sizes,
        counts=dict(zip(labels, of_labels.tolist(), strict=True)),
        strongest=_strongest(pipe, readings, top, names),
        transitions=[[round(float(x), 4) for x in row] for row in trans] if trans.any() else None,
        patterns=_patterns(pipe, readings, 4 * top) if has_sums else [],
    )


def _strongest(
    pipe: SequenceComponent, readings: Sequence[ReadTexts], top: int, names: Dict[str, str]
) -> Dict[str, List[Strong]]:
    found: Dict[str, List[Tuple[float, int]]] = {label: [] for label in pipe.tags}
    scorer = scorer_of(pipe.model)
    tables = [
        table for layer in own_layers(pipe.model) for table in scorer_of(layer).keyed_weights()
    ]
    for keys, table in tables:
        for y, label in enumerate(pipe.tags):
            weights = table[:, scorer.columns_of(y)].sum(axis=1, dtype=np.float64)
            ends = np.unique(
                np.concatenate([np.argsort(-weights)[:top], np.argsort(weights)[:top]])
            )
            found[label] += [(float(weights[i]), int(keys[i])) for i in ends if weights[i]]
    wanted = np.array(sorted({key for rows in found.values() for _, key in rows}), np.uint64)
    named: Dict[int, str] = {}
    for reading in readings:
        named = {**scorer.names(reading.docs, wanted), **named}
    strongest = {}
    for label, rows in found.items():
        rows.sort(key=lambda row: -row[0])
        ends_of = rows if len(rows) <= 2 * top else [*rows[:top], *rows[-top:]]
        keyed = [(f"{key:016x}", named.get(key, ""), weight) for weight, key in ends_of]
        strongest[label] = [
            Strong(key, name or names.get(key, ""), weight) for key, name, weight in keyed
        ]
    return strongest


def _patterns(pipe: SequenceComponent, readings: Sequence[object], top: int) -> List[Pattern]:
    shim = weights_of(pipe.model)
    if "patterns" not in shim.extra:
        return []
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    weights = shim.values("patterns", is_train=False)[features.weight_of]
    order = np.argsort(-np.abs(weights), kind="stable")[:top]
    strings = {tuple(features.patterns[i]) for i in order.tolist()}
    examples = _examples(readings, strings)
    names = pipe.tags
    return [
        Pattern(
            [names[y] for y in features.patterns[i]],
            int(features.rule_of[i]) if features.rule_of[i] != EVERYWHERE else -1,
            float(weights[i]),
            examples.get(tuple(features.patterns[i]), ""),
        )
        for i in order.tolist()
        if weights[i]
    ]


def _examples(readings: Sequence[Any], strings: Set[Tuple[int, ...]]) -> Dict[Tuple[int, ...], str]:
    """Words that were labelled with a string, the first in the corpus."""
    examples: Dict[Tuple[int, ...], str] = {}
    for reading in readings:
        trie = reading.potentials.weights.trie
        places = trie.occurrences(reading.best, reading.lengths)
        nodes, first = np.unique(places.nodes, return_index=True)
        for node, i in zip(nodes.tolist(), first.tolist(), strict=True):
            string = trie.string(node)
            if string in strings and string not in examples:
                last = int(places.tokens[i])
                examples[string] = " ".join(
                    reading.text(w) for w in range(last - len(string) + 1, last + 1)
                )
    return examples
