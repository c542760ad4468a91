"""Inference with grouped states and transitions, as Qian et al. (2009) write it in sections 3.2 to 3.5.

A configuration Z_s:t is a sequence of label sets with a potential exp(weight): of labellings whose labels s to t lie in
the sets. All features are configurations: of one label, of two, of more.

    grouped state A         labellings of 1..t that lie in the same ones of the configurations that overlap t and end
                            later, as far as those reach until t: a part of formula (3) that is not empty
    grouped transition A x V    labels y at t + 1 that lead from A to the same grouped state, with the same potential
                            psi(A x V) of the configurations that end at t + 1 (Propositions 1 and 2)

    alpha(B) = sum over A x V within B of alpha(A) |V| psi(A x V)
    z(x)     = sum of the last alphas

Configurations that begin alike are one until they differ: (3) is of a set. The paper sums alpha over all labellings of
a group; so no group is counted that has none. The text of the paper ends in section 4, before what it measured.

Checked against enumeration in tests/experiments/test_papers.py.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from spacy_hoseq.arrays import Floats
from spacy_hoseq.decoders.problem import Potentials

Labels = frozenset[int]
State = tuple[int, ...]  # numbers of the open configurations that are matched so far
NOTHING = -1  # what the first token of a configuration goes on from
ENDS = -1  # instead of a number, of a configuration that ends here


class Configuration(NamedTuple):
    """first: token that its first set is of. sets: of labels, one for each token. weight: log of its potential."""

    first: int
    sets: tuple[Labels, ...]
    weight: float


class Extension(NamedTuple):
    """How a configuration goes on at a token. number: among those that are open after it, or ENDS. weight: log of the
    potential of those that end here; 0 of others."""

    labels: Labels
    number: int
    weight: float


class Part(NamedTuple):
    """What tells grouped transitions from one state apart: the state they lead to, and log psi."""

    target: State
    weight: float


class Token(NamedTuple):
    """begins: the parts of the full label set by configurations that begin here. part_of: of each label. alone, whole:
    of each configuration that is open before this token, and each label that it goes on with, what it makes of the
    label; whole: with those that begin here."""

    begins: dict[Part, int]
    part_of: list[Part]
    alone: dict[int, dict[int, Part]]
    whole: dict[int, dict[int, Part]]


class Forward(NamedTuple):
    """log_z. states, transitions: grouped ones of each token. ungrouped: transitions of each token if each label of the
    grouped states is one. Transitions of potential 0 are not counted."""

    log_z: float
    states: list[int]
    transitions: list[int]
    ungrouped: list[int]


def forward(n_tokens: int, n_labels: int, configurations: Iterable[Configuration]) -> Forward:
    """The extended forward recursion over one sequence. Alphas are scaled to sum to 1 at each token."""
    alpha: dict[State, float] = {(): 1.0}
    result = Forward(0.0, [], [], [])
    for token in tokens_of(n_tokens, n_labels, configurations):
        reached: defaultdict[State, float] = defaultdict(float)
        n_grouped = n_ungrouped = 0
        for state, value in alpha.items():
            for part, size in transitions(token, state).items():
                if part.weight > -math.inf:
                    reached[part.target] += value * size * math.exp(part.weight)
                    n_grouped += 1
                    n_ungrouped += size
        scale = sum(reached.values())
        if not scale:
            return result._replace(log_z=-math.inf)
        alpha = {state: value / scale for state, value in reached.items()}
        result = result._replace(log_z=result.log_z + math.log(scale))
        for counts, n in zip(result[1:], (len(alpha), n_grouped, n_ungrouped), strict=True):
            counts.append(n)
    return result


def transitions(token: Token, state: State) -> dict[Part, int]:
    """The transition partition of a state: |V| of each part."""
    touched: dict[int, Part] = {}
    for number in state:
        if not touched:
            touched = token.whole.get(number, {}).copy()
            continue
        for label, part in token.alone.get(number, {}).items():
            touched[label] = joined(touched.get(label, token.part_of[label]), part)
    if not touched:
        return token.begins
    parts = Counter(touched.values())
    if len(touched) < len(token.part_of):
        elsewhere = Counter(token.begins)
        elsewhere.subtract(token.part_of[label] for label in touched)
        parts += elsewhere
    return parts


def joined(a: Part, b: Part) -> Part:
    target = tuple(sorted(a.target + b.target)) if a.target and b.target else a.target or b.target
    return Part(target, a.weight + b.weight)


def tokens_of(n_tokens: int, n_labels: int, configurations: Iterable[Configuration]) -> list[Token]:
    """What the configurations say of each token, beginnings that are alike as one."""
    numbers: list[dict[tuple[int, Labels], int]] = [{} for _ in range(n_tokens)]
    weights: list[dict[tuple[int, Labels], float]] = [{} for _ in range(n_tokens)]
    for first, sets, weight in configurations:
        before = NOTHING
        for t, labels in enumerate(sets[:-1], first):
            before = numbers[t].setdefault((before, labels), len(numbers[t]))
        last = weights[first + len(sets) - 1]
        last[before, sets[-1]] = last.get((before, sets[-1]), 0.0) + weight
    result = []
    for open_here, ended_here in zip(numbers, weights, strict=True):
        extensions: dict[int, list[Extension]] = {}
        for (before, labels), number in open_here.items():
            extensions.setdefault(before, []).append(Extension(labels, number, 0.0))
        for (before, labels), weight in ended_here.items():
            extensions.setdefault(before, []).append(Extension(labels, ENDS, weight))
        result.append(token_of(n_labels, extensions))
    return result


def token_of(n_labels: int, extensions: dict[int, list[Extension]]) -> Token:
    alone = {before: by_label(some) for before, some in extensions.items()}
    beginning = alone.pop(NOTHING, {})
    part_of = [beginning.get(label, Part((), 0.0)) for label in range(n_labels)]
    whole = {
        before: {label: joined(part_of[label], part) for label, part in parts.items()}
        for before, parts in alone.items()
    }
    return Token(Counter(part_of), part_of, alone, whole)


def by_label(extensions: list[Extension]) -> dict[int, Part]:
    """What they make together of each label that any of them goes on with."""
    result: dict[int, Part] = {}
    for labels, number, weight in extensions:
        own = Part((), weight) if number == ENDS else Part((number,), 0.0)
        for label in labels:
            result[label] = joined(result[label], own) if label in result else own
    return result


def local_configurations(potentials: Potentials) -> list[Configuration]:
    """Of one sequence: the scores of its labels and of pairs of neighbours, one configuration for each, as the features
    f(y_t, x, t) and g(y_t-1, y_t, x, t) of the paper's Figure 5. A label that is not permitted has potential 0."""
    scores: Floats = potentials.scores.astype(float)
    if potentials.allowed is not None:
        scores[~potentials.allowed] = -math.inf
    result = []
    single = [frozenset([y]) for y in range(scores.shape[1])]
    for t, row in enumerate(scores.tolist()):
        result += [
            Configuration(t, (labels,), weight) for labels, weight in zip(single, row, strict=True)
        ]
        if t == 0:
            continue
        pairs = potentials.weights.precise_trans
        if potentials.edge_scores is not None:
            pairs = pairs + potentials.edge_scores[t]
        for before, weights in zip(single, pairs.tolist(), strict=True):
            both = zip(single, weights, strict=True)
            result += [Configuration(t - 1, (before, labels), weight) for labels, weight in both]
    return result


def higher_configurations(potentials: Potentials) -> list[Configuration]:
    """Of one sequence: its label patterns, those that match everywhere at each place where they fit, and its
    configurations. Those of weight 0 say nothing, and are left out."""
    weights = potentials.weights
    n_tokens = len(potentials.scores)
    at: list[tuple[int, int, float]] = []  # last token, node, weight
    for node in weights.node_weights.nonzero()[0].tolist():
        weight = float(weights.node_weights[node])
        at += [(t, node, weight) for t in range(int(weights.trie.depth[node]) - 1, n_tokens)]
    if potentials.fired is not None:
        fired = potentials.fired
        at += zip(fired.tokens.tolist(), fired.nodes.tolist(), fired.weights.tolist(), strict=True)
    strings = {node: weights.trie.string(node) for node in {node for _, node, _ in at}}
    result = []
    for t, node, weight in at:
        sets = tuple(frozenset([y]) for y in strings[node])
        if weight and t + 1 >= len(sets):
            result.append(Configuration(t + 1 - len(sets), sets, weight))
    if potentials.configurations is not None:
        result += with_sets(potentials)
    return result


def with_sets(potentials: Potentials) -> list[Configuration]:
    some = potentials.configurations
    if some is None:
        return []
    sets = [frozenset(row.nonzero()[0].tolist()) for row in some.sets]
    result, place = [], 0
    for first, size, weight in zip(
        some.first.tolist(), some.sizes.tolist(), some.weights.tolist(), strict=True
    ):
        slots = some.slots[place : place + size].tolist()
        result.append(Configuration(first, tuple(sets[slot] for slot in slots), weight))
        place += size
    return result
