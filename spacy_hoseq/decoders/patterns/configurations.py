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

Their number can grow exponentially in the configurations that overlap, hence `max_states`. It is
small where features are sparse; `ConfigurationLattice.n_states` tells.

Checked against enumeration in tests/decoders/patterns/test_configurations.py.
"""

from typing import List, NamedTuple, Tuple

import numpy as np

from ...arrays import Floats, Ints, Labels, Mask
from ...errors import Errors
from ..problem import NoPath, Paths, Potentials, make_layout, no_configurations
from .lattice import Lattice, Step, best_paths
from .longest_match import LongestMatch


class ConfigurationLattice:
    """Lattice of one sequence: label patterns of any sign and configurations.

    n_states (T,): states of each token.
    potentials: of the sequence, checked. RAISES ValueError [HS038]: more than `max_states` states
        at a token.
    """

    def __init__(self, potentials: Potentials) -> None:
        configurations = potentials.configurations
        if configurations is None:
            configurations = no_configurations(potentials.weights.n_labels)
        self.size_at_t = np.ones(len(potentials.scores), np.int64)
        self._completed: List[Tuple[Ints, Mask]] = []
        self._nodes: List[Ints] = []
        self.trie = potentials.weights.trie
        self._configurations = configurations
        self._starts = np.cumsum(configurations.sizes) - configurations.sizes
        self._steps = self._build(potentials)
        self.n_states = np.array([len(step.label) for step in self._steps], np.intp)

    def step(self, t: int) -> Step:
        return self._steps[t]

    def nodes(self, t: int) -> Ints:
        """The longest match of each state. RETURNS (S,)."""
        return self._nodes[t]

    def completed(self, t: int) -> Tuple[Ints, Mask]:
        """The configurations that end at a token (m,), and for each arc (at the first token: each
        state) whether it completes them (E, m)."""
        return self._completed[t]

    def _build(self, potentials: Potentials) -> List[Step]:
        trie = self.trie
        steps: List[Step] = []
        states = _States(np.zeros(0, np.intp), np.zeros((0, 0), bool), np.zeros(0, np.intp))
        for t in range(len(potentials.scores)):
            source, label, node, live, arc = self._arcs_into(t, states, potentials)
            live, open_ = self._extend(t, label, live, states.open)
            ends = self._configurations.last[open_] == t
            done = live[:, ends]
            arc = arc + done @ self._configurations.weights[open_[ends]]
            states, first, order = _merge(node, live[:, ~ends], open_[~ends])
            if len(states.node) > self._configurations.max_states:
                raise ValueError(
                    Errors.HS038.format(
                        n=len(states.node),
                        limit=self._configurations.max_states,
                        token=t,
                        open=len(states.open),
                    )
                )
            gain = self._gain(t, states.node, potentials)
            self._nodes.append(states.node)
            self._completed.append((open_[ends], done[order]))
            arcs = source[order], first, arc[order]
            if t == 0:  # each state has one label, so what it pays is its own gain
                gain = gain + arc[order]
                arcs = order[:0], order[:0], arc[:0]
            steps.append(Step(trie.label[states.node], gain[:, None], *arcs))
        return steps

    def _arcs_into(self, t: int, states: "_States", potentials: Potentials) -> "_Reached":
        """Each label that is allowed at a token, after each state of the token before."""
        trie = self.trie
        allowed = potentials.allowed
        labels = np.arange(trie.n_labels) if allowed is None else np.flatnonzero(allowed[t])
        if t == 0:
            source = np.zeros(len(labels), np.intp)
            node = labels.astype(np.intp)
            return _Reached(
                source, labels, node, np.zeros((len(labels), 0), bool), np.zeros(len(labels))
            )
        source = np.repeat(np.arange(len(states.node)), len(labels))
        label = np.tile(labels, len(states.node))
        before = states.node[source]
        node = trie.after[before, label].astype(np.intp)
        pairs = trie.label[before], label
        gain = potentials.weights.precise_trans[pairs]
        if potentials.edge_scores is not None:
            gain = gain + potentials.edge_scores[t][pairs]
        return _Reached(source, label, node, states.live[source], gain)

    def _gain(self, t: int, node: Ints, potentials: Potentials) -> Floats:
        """What states earn at their token, without configurations. node (S,): of each."""
        trie = self.trie
        fired = potentials.fired
        gain = potentials.weights.psi[node]
        if fired is not None and len(fired.tokens):
            here = fired.tokens == t
            weights = np.bincount(fired.nodes[here], fired.weights[here], minlength=len(trie))
            gain = gain + trie.suffix_sums(weights.astype(np.float64))[node]
        return np.asarray(gain + potentials.scores[t, trie.label[node]])

    def _extend(self, t: int, label: Ints, live: Mask, open_: Ints) -> Tuple[Mask, Ints]:
        """Configurations after one more label: those that were matched so far and go on, and those
        that begin."""
        begin = np.flatnonzero(self._configurations.first == t)
        open_ = np.concatenate([open_, begin])
        live = np.concatenate([live, np.ones((len(live), len(begin)), bool)], axis=1)
        slot = self._configurations.slots[
            self._starts[open_] + t - self._configurations.first[open_]
        ]
        return live & self._configurations.sets[slot][:, label].T, open_


class _Reached(NamedTuple):
    """Ways from the states of a token to labels of the next one (E,): the state before, the label,
    its longest match. live (E, m): configurations matched before it. gain (E,): of label pairs."""

    source: Ints
    label: Ints
    node: Ints
    live: Mask
    gain: Floats


class _States(NamedTuple):
    """States of one token. node (S,): longest match. live (S, m): which open configurations are
    matched so far.
    open (m,): configurations that go on after this token."""

    node: Ints
    live: Mask
    open: Ints


def _merge(node: Ints, live: Mask, open_: Ints) -> Tuple[_States, Ints, Ints]:
    """Equal states become one. RETURNS states, first arc into each (S + 1,), and the arcs sorted by
    state."""
    key = node.astype(np.int64)
    # exact: ids of the distinct (key, 16 bits) so far, no hash
    for column in range(0, live.shape[1], 16):
        bits = live[:, column : column + 16] @ (
            1 << np.arange(live[:, column : column + 16].shape[1])
        )
        key = np.unique(key * 65536 + bits, return_inverse=True)[1].reshape(-1)
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    chosen = order[first]
    return _States(node[chosen], live[chosen], open_), np.append(first, len(order)), order


def lattice_of(potentials: Potentials) -> Lattice:
    """The lattice of one sequence of at least one token, checked, with states as simple as its
    features permit."""
    if potentials.configurations is not None and len(potentials.configurations.first):
        return ConfigurationLattice(potentials)
    return LongestMatch(potentials, make_layout(potentials.lengths, len(potentials.scores)))


def labels_with_configurations(potentials: Potentials) -> Labels:
    """The best labels (N,) of a batch, sequence by sequence. potentials: checked. RAISES ValueError
    [HS023, HS038]."""
    labels = [np.zeros(0, np.int32)]
    for part in potentials.one_by_one():
        with part.numbered() as one:
            labels.append(configuration_paths(ConfigurationLattice(one)).labels)
    return np.concatenate(labels)


def configuration_paths(lattice: ConfigurationLattice) -> Paths:
    """The best label sequence of one sequence. RETURNS (Paths): labels (T,), scores (1,). RAISES
    NoPath."""
    best = best_paths(lattice)
    if best.scores[0] == -np.inf:
        raise NoPath(0)
    return Paths(best.labels, best.scores)
