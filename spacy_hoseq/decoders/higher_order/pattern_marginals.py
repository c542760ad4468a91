"""Marginals of a chain with label patterns, and backpropagation through them.

    mu_t(y) = p(y_t = y | x)        nu_t(s) = p(y_1..y_t ends with the labels s | x)

A string s at a token is a pattern that fires there with weight 0: added to the trie, its expected count is nu_t(s).
So pairs of labels, and whole segments, need no algorithm of their own.

A loss of these probabilities has gradients d_mu and d_nu with respect to them. They make up a cost c(y) of each
labelling, the sum of those that are true of it, and for every parameter with feature f

    d loss / d theta = Cov(f, c) = d/dl E_l[f] at l = 0,      p_l(y | x) proportional to exp(score(x, y) + l c(y))

(Azuma & Matsumoto 2011, equation 18 and after it). The expectations that `pattern_posterior` computes are analytic
functions of scores and weights, so their derivative in the direction c is the imaginary part of what it computes for
scores + i STEP d_mu and weights + i STEP d_nu, divided by STEP (Squire & Trapp 1998). No difference is taken, so STEP
can be so small that its square vanishes beside 1, and the result is exact to rounding: the same walk, in complex
numbers, with all patterns in it. Tests compare with enumeration and with finite differences.
"""

from contextlib import suppress
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..chain.chain_marginals import Arcs, check_gradient
from ..problem.layout import check_scores, check_segments, make_layout, packed_scores, parts_of
from ..problem.results import LostDigits, Posterior
from ..problem.trie import Fired, Pattern, PatternScores, PatternTrie
from .longest_match import any_sign_posterior
from .pattern_posterior import CELLS, PatternWalk, check_stable, is_stable, pattern_posterior

STEP = 1e-50


class PatternGradient(NamedTuple):
    """Gradient of a loss with respect to scores (N, L), trans (L, L), the weights of the trie's nodes (U,), which is 0
    for single labels, and those of fired entries (M,)."""

    scores: Floats
    trans: Floats
    nodes: Floats
    fired: Floats


class PatternMarginals:
    """Arguments as in `pattern_posterior`. Everything takes its time and memory; the gradient in complex numbers. Where
    that would lose its digits, longest matches are summed instead; then there is no way back. log_z (S,). nodes (N, L):
    mu."""

    def __init__(
        self,
        scores: AnyFloats,
        trans: AnyFloats,
        patterns: PatternScores,
        lengths: AnyInts,
        *,
        allowed: Optional[Mask] = None,
    ) -> None:
        self._scores, self._trans, self._patterns, self._allowed = scores, trans, patterns, allowed
        self._lengths = np.asarray(lengths)
        found = self._posterior(patterns)
        self.log_z, self.nodes = found.log_z, found.marginals

    def arcs(self, arcs: Arcs) -> Floats:
        """nu of some pairs of labels, 0 at the first token of a sequence. RETURNS (A,)."""
        return self._strings(arcs.tokens, list(zip(arcs.earlier.tolist(), arcs.later.tolist(), strict=True)))

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        goes_on: Optional[Mask] = None,
    ) -> Floats:
        """As `ChainMarginals.segments`: p(s) less that of s followed by a label with which the segment goes on."""
        sequence = check_segments(first, sizes, self._lengths)
        ends = np.cumsum(self._lengths)
        bounds = np.cumsum(sizes) - sizes
        strings = [tuple(labels[a : a + n].tolist()) for a, n in zip(bounds.tolist(), sizes.tolist(), strict=True)]
        tokens: List[int] = []
        wanted: List[Pattern] = []
        signs: List[float] = []
        which: List[int] = []
        for i, string in enumerate(strings):
            final = int(first[i] + sizes[i]) - 1
            followed = goes_on is not None and final + 1 < ends[sequence[i]]
            longer = np.flatnonzero(goes_on[string[-1]]).tolist() if followed and goes_on is not None else []
            wanted += [string, *((*string, label) for label in longer)]
            tokens += [final, *([final + 1] * len(longer))]
            signs += [1.0, *([-1.0] * len(longer))]
            which += [i] * (1 + len(longer))
        found = self._strings(np.array(tokens, np.intp), wanted)
        return np.asarray(np.bincount(which, found * signs, minlength=len(first)), np.float64)

    def backprop(
        self, d_nodes: AnyFloats, arcs: Optional[Arcs] = None, d_arcs: Optional[AnyFloats] = None
    ) -> PatternGradient:
        """The gradient of a loss, given its gradient with respect to `nodes` (N, L), and to those of some arcs (A,).
        RAISES ValueError [HS024]: the shape of d_nodes."""
        check_gradient(d_nodes, self._scores.shape)
        patterns, places = self._patterns, np.arange(len(self._patterns.trie))
        n_fired = 0 if patterns.fired is None else len(patterns.fired.tokens)
        if arcs is not None and d_arcs is not None and len(d_arcs):
            pairs = list(zip(arcs.earlier.tolist(), arcs.later.tolist(), strict=True))
            patterns, places = with_strings(patterns, arcs.tokens, pairs, 1j * STEP * d_arcs.astype(np.float64))
        found = _direction(self._scores, self._trans, patterns, self._lengths, d_nodes, self._allowed)
        return found._replace(nodes=found.nodes[places], fired=found.fired[:n_fired])

    def _strings(self, tokens: Ints, strings: Sequence[Pattern]) -> Floats:
        """nu of strings of any length, each ending at its token. RETURNS (n,)."""
        single = np.array([len(string) == 1 for string in strings], bool)
        result: Floats = np.zeros(len(strings))
        result[single] = self.nodes[tokens[single], [string[0] for string in strings if len(string) == 1]]
        if single.all():
            return result
        longer = [string for string in strings if len(string) > 1]
        patterns, _ = with_strings(self._patterns, tokens[~single], longer, np.zeros(len(longer)))
        result[~single] = self._posterior(patterns).fired_counts[-len(longer) :]
        return result

    def _posterior(self, patterns: PatternScores) -> Posterior:
        if is_stable(self._trans, patterns):
            with suppress(LostDigits):
                return pattern_posterior(self._scores, self._trans, patterns, self._lengths, allowed=self._allowed)
        return any_sign_posterior(self._scores, self._trans, patterns, self._lengths, allowed=self._allowed)


def with_strings(
    patterns: PatternScores, tokens: Ints, strings: Sequence[Pattern], weights: NDArray[np.inexact]
) -> Tuple[PatternScores, Ints]:
    """Patterns with some more that fire, each ending at its token, after those that fire already.

    RETURNS them, and the node of each node of the trie before (U,).
    """
    trie, n_labels = patterns.trie, patterns.trie.n_labels
    known = [trie.string(node) for node in range(n_labels, len(trie))]
    distinct = list(dict.fromkeys(strings))
    longer = PatternTrie([*known, *distinct], n_labels)
    places = np.concatenate([np.arange(n_labels), longer.node_of[: len(known)]])
    node_weights = np.zeros(len(longer))
    node_weights[places] = patterns.weights
    node_of = dict(zip(distinct, longer.node_of[len(known) :].tolist(), strict=True))
    before = patterns.fired or Fired(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))
    fired = Fired(
        np.concatenate([before.tokens, tokens]),
        np.concatenate([places[before.nodes], np.array([node_of[string] for string in strings], np.intp)]),
        np.concatenate([before.weights, weights]),
    )
    return PatternScores(longer, node_weights, fired), places


def _direction(
    scores: AnyFloats,
    trans: AnyFloats,
    patterns: PatternScores,
    lengths: AnyInts,
    d_nodes: AnyFloats,
    allowed: Optional[Mask],
) -> PatternGradient:
    """Derivatives of all expectations in the direction d_nodes of the scores, and that of the imaginary weights."""
    check_scores(scores, trans, allowed)
    check_stable(trans, patterns)
    layout = make_layout(lengths, len(scores))
    gradient = PatternGradient(
        np.zeros(scores.shape),
        np.zeros(trans.shape),
        np.zeros(len(patterns.trie)),
        np.zeros(0 if patterns.fired is None else len(patterns.fired.tokens)),
    )
    for sequences, tokens in parts_of(layout.lengths, len(layout.lengths), CELLS // len(patterns.trie)):
        inside, entries = patterns.among(tokens, len(scores))
        group = make_layout(layout.lengths[sequences], len(tokens))
        emissions = packed_scores(scores[tokens], None if allowed is None else allowed[tokens], group).astype(complex)
        emissions += 1j * STEP * d_nodes[tokens][group.tokens].T.astype(np.float64)  # in float32 STEP would be 0
        found = PatternWalk(emissions, trans, inside, group).posterior()
        gradient.scores[tokens] = found.marginals.imag / STEP
        gradient.trans[:] += found.transitions.imag / STEP
        gradient.nodes[:] += found.node_counts.imag / STEP
        gradient.fired[entries] = found.fired_counts.imag / STEP
    return gradient
