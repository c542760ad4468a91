"""General configurations: label sets, gaps and wildcards over a span of tokens, exact by states
made on the fly.

A configuration is a sequence of label SETS, Z_first x ... x Z_last, that earns its weight where
every label of the span lies in its set (Qian et al. 2009, section 2). Such are "a person name
between `professor` and `said`", or the skip-chain feature {B, I} x any* x {B, I} over two mentions
of one word. A label pattern is the case of single labels.

    state at t = (longest match in the trie of label patterns,  set of configurations that span t -> t + 1 and are
                  still matched)

Two labellings of 1..t in one state have the same scores for whatever follows: these are the GROUPED
STATES of Qian et al. (section 3.3, formula 3: intersections of configurations and their
complements, without the empty ones). A label y takes a state on: each of its configurations stays
if y is in its set, those that begin at t + 1 join, those that end there are paid and leave. All
labels that lead from one state to the same state with the same pay are one GROUPED TRANSITION
(section 3.4); here they remain one arc for each label, since transitions and emissions may tell
labels apart. The states of a token are those that some permitted labelling reaches, found by
merging equal ones: with no configuration around there is one for each label, and the walk is
Viterbi's.

Their number can grow exponentially in the configurations that overlap, hence a limit. It is
small where features are sparse.

Checked against enumeration in tests/decoders/patterns/test_configurations.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints, Mask
from ...errors import Errors
from ..problem import (
    TUNING,
    Configurations,
    Layout,
    Paths,
    Potentials,
    Selection,
    Tuning,
    make_layout,
    parts_of,
)
from .lattice import NO_ARCS, Arcs, Lattice, Step, decode_lattices
from .longest_match import LongestMatch


def decode_any_sign(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """Best label sequences with label patterns and configurations of any sign, for a batch.

    Maximises the objective of `path_score`. RETURNS (Paths). Ties: the lowest state, decided right
    to left. RAISES ValueError [HS020-HS037]; [HS038]: more than `max_states` states.

    Time O(U L) a token for U nodes of the trie, memory O(U) a token, in blocks as in `viterbi`.
    """
    return decode_lattices(potentials, lattices_of(potentials.check(), tuning), tuning)


def lattices_of(potentials: Potentials, tuning: Tuning) -> Iterator[tuple[Lattice, Selection]]:
    """Lattices of all sequences, and which they are: those without configurations in parts, the
    others one by one."""
    n_nodes = len(potentials.weights.trie)
    columns = max(1, tuning.arc_cells // (n_nodes * potentials.weights.n_labels))
    configured = configured_sequences(potentials)
    others = np.setdiff1d(np.arange(len(potentials.lengths)), configured, assume_unique=True)
    parts = parts_of(potentials.lengths[others], columns, tuning.sum_cells // n_nodes)
    for sequences in [*(others[part] for part in parts), *configured[:, None]]:
        part = potentials.select(sequences)
        yield lattice_of(part.potentials), part


def configured_sequences(potentials: Potentials) -> Ints:
    """Sequences in which configurations fire. RETURNS (n,)."""
    if potentials.configurations is None:
        return np.zeros(0, np.intp)
    ends = np.cumsum(potentials.lengths)
    return np.unique(np.searchsorted(ends, potentials.configurations.first, side="right"))


def lattice_of(potentials: Potentials) -> Lattice:
    """The lattice of some sequences without configurations, or of one, checked, with states as
    simple as its features permit."""
    layout = make_layout(potentials.lengths, len(potentials.scores))
    configurations = potentials.configurations
    if configurations is None or not len(configurations.first):
        return LongestMatch(potentials, layout)
    return ConfigurationLattice(potentials, layout, configurations)


class ConfigurationLattice(LongestMatch):
    """Lattice of one sequence: label patterns of any sign and configurations.

    RAISES ValueError [HS038]: more than `max_states` states at a token.
    """

    def __init__(
        self, potentials: Potentials, layout: Layout, configurations: Configurations
    ) -> None:
        super().__init__(potentials, layout)
        self._configurations = configurations
        self._starts = np.cumsum(configurations.sizes) - configurations.sizes
        self._completed: list[tuple[Ints, Mask]] = []
        self._nodes: list[Ints] = []
        self._steps = self._build(potentials)

    def step(self, t: int) -> Step:
        return self._steps[t]

    def nodes(self, t: int) -> Ints:
        return self._nodes[t]

    def completed(self, t: int) -> tuple[Ints, Mask]:
        return self._completed[t]

    def labels(self, t: int) -> Ints:
        return self._steps[t].label

    def _build(self, potentials: Potentials) -> list[Step]:
        steps: list[Step] = []
        states = _States(np.zeros(0, np.intp), np.zeros((0, 0), bool), np.zeros(0, np.intp))
        for t in range(len(potentials.scores)):
            source, label, node, live, scores = self._arcs_into(t, states, potentials)
            live, open_ = self._extend(t, label, live, states.open)  # (E, m), (m,)
            # what ends here is paid, and no part of the state any more
            ends = self._configurations.last[open_] == t
            done = live[:, ends]
            scores = scores + done @ self._configurations.weights[open_[ends]]
            states, first, order = _merge(node, live[:, ~ends], open_[~ends])
            self._check_number(t, states)
            self._nodes.append(states.node)
            self._completed.append((open_[ends], done[order]))
            gain = self.gain(t)[states.node]
            arcs = Arcs(source[order], first)
            scores = scores[order, None]
            if t == 0:  # each state has one label, so what it pays is its own gain
                gain = gain + scores
                arcs = NO_ARCS
            steps.append(Step(self.trie.label[states.node], gain, arcs, scores))
        return steps

    def _check_number(self, t: int, states: "_States") -> None:
        limit = self._configurations.max_states
        if len(states.node) > limit:
            n = {"n": len(states.node), "open": len(states.open)}
            raise ValueError(Errors.HS038.format(**n, limit=limit, token=t))

    def _arcs_into(
        self, t: int, states: "_States", potentials: Potentials
    ) -> tuple[Ints, Ints, Ints, Mask, Floats]:
        """Each label that is allowed at a token, after each state of the token before. RETURNS the
        state before, the label, its longest match (E,), configurations matched before it (E, m),
        and scores of label pairs (E,)."""
        trie = self.trie
        allowed = potentials.allowed
        labels = np.arange(trie.n_labels) if allowed is None else np.flatnonzero(allowed[t])
        n = len(labels)
        if t == 0:
            live = np.zeros((n, 0), bool)
            return np.zeros(n, np.intp), labels, labels, live, np.zeros(n)
        # every label after every state
        source = np.repeat(np.arange(len(states.node)), n)
        label = np.tile(labels, len(states.node))
        before = states.node[source]
        pairs = trie.label[before], label
        scores = potentials.weights.precise_trans[pairs]
        if potentials.edge_scores is not None:
            scores = scores + potentials.edge_scores[t][pairs]
        node = trie.after[before, label].astype(np.intp)
        return source, label, node, states.live[source], scores

    def _extend(self, t: int, label: Ints, live: Mask, open_: Ints) -> tuple[Mask, Ints]:
        """Configurations after one more label: those that were matched so far and go on, and those
        that begin."""
        begin = np.flatnonzero(self._configurations.first == t)
        open_ = np.concatenate([open_, begin])
        live = np.concatenate([live, np.ones((len(live), len(begin)), bool)], axis=1)  # (E, m)
        slot = self._configurations.slots[
            self._starts[open_] + t - self._configurations.first[open_]
        ]
        return live & self._configurations.sets[slot][:, label].T, open_


class _States(NamedTuple):
    """States of one token. node (S,): longest match. live (S, m): which open configurations are
    matched so far.
    open (m,): configurations that go on after this token."""

    node: Ints
    live: Mask
    open: Ints


def _merge(node: Ints, live: Mask, open_: Ints) -> tuple[_States, Ints, Ints]:
    """Equal states become one. RETURNS states, first arc into each (S + 1,), and the arcs sorted by
    state."""
    key = node.astype(np.int64)
    # exact: ids of the distinct (key, 16 bits) so far, no hash
    for column in range(0, live.shape[1], 16):
        bits = live[:, column : column + 16] @ (
            1 << np.arange(live[:, column : column + 16].shape[1])
        )
        key = np.unique(key * 65536 + bits, return_inverse=True)[1].reshape(-1)
    # arcs of one key lie together; the first of each stands for the state
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    chosen = order[first]
    return _States(node[chosen], live[chosen], open_), np.append(first, len(order)), order
