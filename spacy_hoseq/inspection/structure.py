"""What two labellings earn beside their emissions: transitions, label patterns, configurations, by name."""

from typing import Dict, Iterator, List, Sequence, Tuple

import numpy as np

from ..arrays import Ints, Labels
from ..decoders.problem import Potentials, matching

OTHERWISE = "(otherwise)"  # of what the other labelling has
Piece = Tuple[str, str, int, float]  # kind, name, place, value


def structure_terms(one: Potentials, labels: Labels, others: Labels, names: Sequence[str]) -> List[Piece]:
    """One sentence. Of what both labellings have nothing is said; what only the others have is said to be so."""
    totals: Dict[Tuple[str, str, int], float] = {}
    own = set()
    for sign, of in ((1.0, labels), (-1.0, others)):
        for kind, name, place, value in [*_pairs(one, of, names), *_patterns(one, of, names), *_spans(one, of, names)]:
            totals[kind, name, place] = totals.get((kind, name, place), 0.0) + sign * value
            if sign > 0:
                own.add((kind, name, place))
    return [
        (kind, name if (kind, name, place) in own else f"{name} {OTHERWISE}", place, value)
        for (kind, name, place), value in totals.items()
        if value
    ]


def _pairs(one: Potentials, labels: Labels, names: Sequence[str]) -> Iterator[Piece]:
    for t in range(1, len(labels)):
        a, b = int(labels[t - 1]), int(labels[t])
        value = float(one.trans[a, b])
        yield "transition", f"{names[a]} {names[b]}", t, value
        if one.edge_scores is not None:
            yield "transition", f"{names[a]} {names[b]}, by these words", t, float(one.edge_scores[t, a, b])


def _patterns(one: Potentials, labels: Labels, names: Sequence[str]) -> Iterator[Piece]:
    weights, fired = one.weights, one.fired
    if not weights.has_patterns:
        return

    def said(node: int) -> str:
        return " ".join(names[y] for y in weights.trie.string(node))

    places = weights.trie.occurrences(labels, one.lengths)
    for token, node in zip(places.tokens.tolist(), places.nodes.tolist(), strict=True):
        if weights.node_weights[node]:
            yield "pattern", said(node), token, float(weights.node_weights[node])
    if fired is not None:
        sequence = np.zeros(len(labels), np.intp)
        here = np.flatnonzero(matching(fired, weights.trie, sequence, lambda token, label: labels[token] == label))
        for i in here.tolist():
            yield "pattern", f"{said(int(fired.nodes[i]))}, by a rule", int(fired.tokens[i]), float(fired.weights[i])


def _spans(one: Potentials, labels: Labels, names: Sequence[str]) -> Iterator[Piece]:
    configurations = one.configurations
    if configurations is None:
        return
    starts = np.cumsum(configurations.sizes) - configurations.sizes
    for i in np.flatnonzero(configurations.matched(labels)).tolist():
        slots = configurations.slots[starts[i] : starts[i] + configurations.sizes[i]]
        said = " ".join(_set(configurations.sets[slot].nonzero()[0], names) for slot in slots)
        yield "pattern", f"{said}, by a rule", int(configurations.last[i]), float(configurations.weights[i])


def _set(ids: Ints, names: Sequence[str]) -> str:
    if len(ids) == len(names):
        return "*"
    return names[ids[0]] if len(ids) == 1 else "{" + ",".join(names[y] for y in ids[:6]) + "}"
