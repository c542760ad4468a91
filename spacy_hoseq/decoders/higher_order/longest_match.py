"""Exact inference with label patterns of ANY sign: states are the longest matches in the trie.

The state at token t is the longest node that y_1..y_t ends with. States are exclusive, so patterns count in full
whatever their sign: a state earns psi(u), the weights of all patterns that are suffixes of u. After one more label y
the state is the child of u by y, or else the state that fail(u) goes to (the automaton of Aho & Corasick 1975):

    after(u, y) = child(u, y)  if it is a node,  else  after(fail(u), y);   after(single label a, y) = (a, y) or (y)

These are the forward and backward variables of Ye et al. (2009) and the "state partition" of contiguous configurations
in Qian et al. (2009, section 3.3). A step costs O(U L) arcs, where inclusive messages (`nonnegative.py`,
`pattern_posterior.py`) cost O(U + L^2).

Checked against enumeration in tests/decoders/higher_order/test_longest_match.py.
"""

from typing import Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors
from ..problem.firing import expand_fired
from ..problem.layout import Layout, check_scores, make_layout, packed_scores, parts_of
from ..problem.results import NoPath, Paths, Posterior
from ..problem.trie import PatternScores, PatternTrie
from .lattice import Step, best_paths, posterior

STEP_CELLS = 2_000_000  # arcs of one token of all sequences that are walked together
SUM_CELLS = 4_000_000  # states of all tokens that are kept at once for sums


class LongestMatch:
    """Lattice over the nodes of a trie, for sequences walked together. Arguments as in `viterbi`, with their layout."""

    def __init__(
        self,
        scores: AnyFloats,
        trans: AnyFloats,
        patterns: PatternScores,
        layout: Layout,
        allowed: Optional[Mask],
    ) -> None:
        trie, weights, fired = patterns
        check_finite(patterns)
        self.trie, self.layout = trie, layout
        self.size_at_t = layout.size_at_t
        self._emissions = packed_scores(scores, allowed, layout)  # (L, N)
        self._psi = trie.suffix_sums(weights)[:, None]  # (U, 1)
        self._extra = expand_fired(fired, trie, layout) if fired is not None and len(fired.tokens) else {}
        self._source, self._first, forced = arcs_between(trie)
        target = np.repeat(np.arange(len(trie)), np.diff(self._first))
        self._move = trans.astype(np.float64)[trie.label[self._source], trie.label[target]]
        self._move[forced] = -np.inf

    def step(self, t: int) -> Step:
        gain = self._emissions[:, self.layout.step(t)][self.trie.label] + self._psi  # (U, n)
        if t in self._extra:
            nodes, columns, weights = self._extra[t]
            gain[nodes, columns] += weights
        if t == 0:
            gain[self.trie.n_labels :] = -np.inf  # one label cannot end with two
            nothing = np.zeros(0, np.intp)
            return Step(self.trie.label, gain, nothing, nothing, np.zeros(0))
        return Step(self.trie.label, gain, self._source, self._first, self._move)


def arcs_between(trie: PatternTrie) -> Tuple[Ints, Ints, Ints]:
    """All arcs u -> after(u, y), sorted by target. RETURNS source (E,), first (U + 1,), and arcs that are none.

    A node that no arc leads to (a single label all of whose pairs are nodes) gets one, listed in the third array (F,).
    """
    target = trie.after.reshape(-1).astype(np.intp)
    source = np.repeat(np.arange(len(trie)), trie.n_labels)
    counts = np.bincount(target, minlength=len(trie))
    unreached = np.flatnonzero(counts == 0)
    target = np.concatenate([target, unreached])
    source = np.concatenate([source, np.zeros(len(unreached), np.intp)])
    order = np.argsort(target, kind="stable")
    first = np.searchsorted(target[order], np.arange(len(trie) + 1))
    return source[order], first, first[unreached]


def check_finite(patterns: PatternScores) -> None:
    """RAISES ValueError [HS036]: a weight is NaN or infinite."""
    nodes, weights = np.arange(len(patterns.trie)), patterns.weights
    if patterns.fired is not None:
        nodes = np.concatenate([nodes, patterns.fired.nodes])
        weights = np.concatenate([weights, patterns.fired.weights])
    bad = np.flatnonzero(~np.isfinite(weights))
    if len(bad):
        raise ValueError(Errors.HS036.format(pattern=patterns.trie.string(int(nodes[bad[0]])), weight=weights[bad[0]]))


def decode_any_sign(
    scores: AnyFloats,
    trans: AnyFloats,
    patterns: PatternScores,
    lengths: AnyInts,
    *,
    allowed: Optional[Mask] = None,
) -> Paths:
    """Best label sequence of a chain with label patterns of any sign, for a batch of sequences.

    Maximises the objective of `decode_nonnegative`. Arguments as there; weights may be negative.
    RETURNS (Paths). Ties: the lowest node, decided right to left.
    RAISES ValueError [HS020-HS025]; [HS036]: a weight is NaN or infinite.

    Time O(N U L) for U nodes, memory O(U) a token, in blocks as in `viterbi`.
    """
    check_scores(scores, trans, allowed)
    layout = make_layout(lengths, len(scores))
    labels, best = np.zeros(len(scores), np.int32), np.zeros(len(layout.lengths))
    columns = max(1, STEP_CELLS // (len(patterns.trie) * patterns.trie.n_labels))
    for sequences, tokens in parts_of(layout.lengths, columns):
        part = make_layout(layout.lengths[sequences], len(tokens))
        inside, _ = patterns.among(tokens, len(scores))
        mask = None if allowed is None else allowed[tokens]
        found = best_paths(LongestMatch(scores[tokens], trans, inside, part, mask))
        labels[tokens[part.tokens]] = found.labels
        best[sequences[part.order]] = found.scores
    if len(best) and best.min() == -np.inf:
        raise NoPath(int(best.argmin()))
    return Paths(labels, best)


def any_sign_posterior(
    scores: AnyFloats,
    trans: AnyFloats,
    patterns: PatternScores,
    lengths: AnyInts,
    *,
    allowed: Optional[Mask] = None,
) -> Posterior:
    """log Z, marginals and expected counts, as `pattern_posterior`, for weights of any size and sign.

    Sums of exclusive states do not cancel, and logarithms do not underflow: this is what to use where
    `pattern_posterior` refuses, at O(U L) instead of O(U + L^2) a token.
    """
    check_scores(scores, trans, allowed)
    layout = make_layout(lengths, len(scores))
    trie, fired = patterns.trie, patterns.fired
    total = Posterior(
        np.zeros(len(layout.lengths)),
        np.zeros(scores.shape),
        np.zeros(trans.shape),
        np.zeros(len(trie)),
        np.zeros(0 if fired is None else len(fired.tokens)),
    )
    columns = max(1, STEP_CELLS // (len(trie) * trie.n_labels))
    for sequences, tokens in parts_of(layout.lengths, columns, SUM_CELLS // len(trie)):
        part = make_layout(layout.lengths[sequences], len(tokens))
        inside, entries = patterns.among(tokens, len(scores))
        mask = None if allowed is None else allowed[tokens]
        lattice = LongestMatch(scores[tokens], trans, inside, part, mask)
        found = posterior(lattice, with_edge_scores=True)
        total.log_z[sequences[part.order]] = found.log_z
        longest = np.concatenate(found.states, axis=1) if found.states else np.zeros((len(trie), 0))  # (U, n) packed
        matched = push_down(trie, longest)
        total.marginals[tokens[part.tokens]] = matched[: trie.n_labels].T
        total.node_counts[:] += matched.sum(axis=1)
        if inside.fired is not None:
            place = np.empty(len(part.tokens), np.intp)
            place[part.tokens] = np.arange(len(part.tokens))
            total.fired_counts[entries] = matched[inside.fired.nodes, place[inside.fired.tokens]]
        for t in range(1, len(found.arcs)):
            step = lattice.step(t)
            pairs = trie.label[step.source] * trie.n_labels + np.repeat(step.label, np.diff(step.first))
            moved = np.bincount(pairs, weights=found.arcs[t].sum(axis=1), minlength=trans.size)
            total.transitions[:] += moved.reshape(trans.shape)
    total.node_counts[: trie.n_labels] = 0.0
    if len(total.log_z) and total.log_z.min() == -np.inf:
        raise NoPath(int(total.log_z.argmin()))
    return total


def push_down(trie: PatternTrie, longest: Floats) -> Floats:
    """From p(u is the longest match) to p(u is matched): a match of v is a match of all its suffixes. (U, n)."""
    matched: Floats = longest.copy()
    for level in reversed(trie.levels[1:]):
        targets, starts = np.unique(trie.fail[level], return_index=True)  # levels are sorted by fail
        matched[targets] += np.add.reduceat(matched[level], starts, axis=0)
    return matched
