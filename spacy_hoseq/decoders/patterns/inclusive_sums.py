"""log Z, marginals and expected counts with higher-order label patterns, in time linear in the
nodes of their trie.

The distribution is that of Ye et al. (2009) and Qian et al. (2009, section 2); the recurrence is
that of Takhanov & Kolmogorov (2013) without their subtraction. With w_t(u) = the summed potentials
of all labellings of 1..t that end with node u, without the patterns that end at t, and Z_t(u) = the
same with them:

    w_t(u) = exp(scores[t, last label] + trans[last two labels]) Z_{t-1}(parent(u))    (single labels: summed over all)
    Z_t(u) = e^psi(u) w_t(u) + sum over v with u as a proper suffix of (e^psi(v) - e^psi(fail(v))) w_t(v)

since labellings whose longest match is x carry e^psi(x), and their share of w_t is w_t(x) less that
of the nodes that fail to x. No term is negative if all weights are >= 0; with others the sum is
exact as well, but digits cancel. Everything else is the derivative of log Z, by the chain rule
through these two lines, backwards in time.

The way back. The expectations are analytic functions of scores and weights. So their covariance
with a cost c, the derivative in its direction

    Cov(f, c) = d/dl E_l[f] at l = 0,      p_l(y | x) proportional to exp(score(x, y) + l c(y))

is the imaginary part of what the walk computes for scores + i STEP c, divided by STEP (Squire &
Trapp 1998; Azuma & Matsumoto 2011, equation 18 and after it). No difference is taken, so STEP can
be so small that its square vanishes, and the result is exact to rounding.

Checked against enumeration and finite differences in
tests/decoders/patterns/test_inclusive_sums.py.
"""

from typing import Dict, List, NamedTuple, Optional, Tuple, Type

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..chain import MAX_RANGE, finite_range, reached_labels, sum_by_rank, vanished
from ..problem import (
    Fired,
    Layout,
    Potentials,
    PotentialsGradient,
    Sums,
    Weights,
    added_up,
    expand_fired,
    largest,
    make_layout,
    packed_scores,
)
from .lattice_views import grouped

MAX_LOSS = 15.0  # negative weights make the sum cancel: e^15 costs 7 of the 16 digits at a token
CANCELLED = 1e-10  # of probabilities that sum to 1: more than rounding without cancellation
STEP = 1e-50  # imaginary; its square vanishes beside 1


def inclusive_sums(
    potentials: Potentials,
    costs: Optional[Potentials],
    walk: "Type[InclusiveWalk]",
    *,
    labels_alone: bool = False,
) -> Optional[Sums]:
    """E[f] of all features of some sequences, without configurations; with costs their covariances
    with c(y) = score(x, y) under `costs`, which differ in scores and in what fires. RETURNS None if
    digits are lost on the way: some transitions are forbidden, and a share vanishes that may count
    later, or negative weights cancel; and if a sequence has no path.

    labels_alone (bool): expected counts of labels are enough, where no weight is negative.
    walk: `PatternWalk`, or `MatrixWalk` where nothing fires. To be asked only where `keeps_digits`.
    Time O(N (L^2 + U)), memory O(N U), or as `matrix_walk.py`.
    """
    layout = make_layout(potentials.lengths, len(potentials.scores))
    emissions = packed_scores(potentials.scores, potentials.allowed, layout)
    if costs is None:
        labels_alone = labels_alone and not potentials.weights.some_are_negative
        both_ways = walk(emissions, potentials.weights, potentials.fired, layout)
        sums = both_ways.sums(labels_alone=labels_alone)
        if labels_alone:  # nothing can cancel
            return sums
        return sums if sums is not None and _sums_to(1.0, sums.counts, layout, CANCELLED) else None
    complex_emissions = emissions + 1j * STEP * packed_scores(costs.scores, None, layout)
    fired = potentials.fired
    if fired is not None and costs.fired is not None:
        fired = fired._replace(weights=fired.weights + 1j * STEP * costs.fired.weights)
    sums = walk(complex_emissions, potentials.weights, fired, layout).sums()
    if sums is None:
        return None
    counts = PotentialsGradient(*(np.asarray(part).imag / STEP for part in sums.counts[:4]))
    cost = largest(costs.scores) + (0.0 if costs.fired is None else largest(costs.fired.weights))
    least = CANCELLED * max(1.0, cost * float(layout.lengths.max(initial=0)))
    return Sums(sums.log_z.real, counts) if _sums_to(0.0, counts, layout, least) else None


def _sums_to(total: float, counts: PotentialsGradient, layout: Layout, tolerance: float) -> bool:
    """Whether labels of each token, and pairs of each two, sum to what they should: probabilities
    to 1, covariances to
    0. What the rounding of a step changes of log Z is just what the labels of that token miss;
    nested patterns with negative weights multiply what the steps before have lost."""
    n_pairs = len(layout.tokens) - len(layout.lengths)
    labels = np.abs(counts.scores.sum(axis=1) - total).max(initial=0.0)
    pairs = abs(counts.trans.sum() - total * n_pairs) / max(1, n_pairs)
    return bool(max(labels, pairs) < tolerance)


def keeps_digits(potentials: Potentials) -> bool:
    """Whether these weights let inclusive messages keep their digits: transitions and pattern
    weights at a token differ by less than MAX_RANGE, so that a share of a message cannot vanish and
    come back (as in `forward_backward.py`), and negative weights at a token do not add up to less
    than -MAX_LOSS, so that what is left of a sum has digits.

    Forbidden transitions are no part of the range; where there are some, the walk itself sees
    whether shares vanish.
    """
    weights = potentials.weights
    fired = potentials.fired
    gain = _largest_sum(weights, fired, 1)
    loss = _largest_sum(weights, fired, -1)
    # False for NaN
    return finite_range(weights.trans) + gain + loss < MAX_RANGE and loss < MAX_LOSS


class InclusiveWalk:
    """Both ways through one group of sequences. Arrays over nodes are node-major, (U, n) at a step;
    messages are scaled.

    emissions (L, N): packed scores. Every step is an analytic function of them and of the fired
    weights, so both may be complex, and then all results are.
    """

    def __init__(
        self, emissions: Floats, weights: Weights, fired: Optional[Fired], layout: Layout
    ) -> None:
        self.trie = weights.trie
        self.layout = layout
        self.fired = fired
        self.type = emissions.dtype
        trans = weights.precise_trans
        reached = reached_labels(emissions.real.T > -np.inf, trans, layout)
        self.reached = None if reached is None else reached.T
        if self.reached is not None:
            emissions = np.where(self.reached, emissions, -np.inf)
        self.shift = emissions.real.max(axis=0, initial=-np.inf)
        self.has_paths = bool(np.isfinite(self.shift).all())
        self.potentials = np.exp(emissions - np.where(np.isfinite(self.shift), self.shift, 0.0))
        top = float(np.max(trans, initial=-np.inf))
        self.top = top if np.isfinite(top) else 0.0

    def sums(self, *, labels_alone: bool = False) -> Optional[Sums]:
        """labels_alone (bool): other counts may be 0. RETURNS None if digits are lost, or if a sequence has no path."""
        forward: List[Message] = []
        for t in range(len(self.layout.size_at_t)):
            step = self._step(t, forward[-1].z if forward else None) if self.has_paths else None
            if step is None:
                return None
            forward.append(step)
        log_scale = np.zeros(0)
        if forward:
            log_scale = np.concatenate([np.log(message.scale.real) for message in forward])
        by_rank = sum_by_rank(log_scale + self.shift, self.layout)
        by_rank += self.top * (self.layout.lengths[self.layout.order] - 1)
        log_z = np.empty(len(by_rank))
        log_z[self.layout.order] = by_rank
        return Sums(log_z, self._backward(forward, labels_alone=labels_alone))

    def _step(self, t: int, before: Optional[Floats]) -> "Optional[Message]":
        """before: Z at the last step. RETURNS None if digits are lost."""
        raise NotImplementedError

    def _backward(self, forward: "List[Message]", *, labels_alone: bool) -> PotentialsGradient:
        raise NotImplementedError

    def _loses(self, t: int, singles: Floats, scale: Floats, reached: Mask) -> bool:
        """Whether digits of Z of single labels (L, n), which sums to scale (n,), are lost."""
        with np.errstate(invalid="ignore"):
            shares = (singles / scale).real
        reached = reached[:, self.layout.step(t)]
        return not scale.all() or vanished(singles.real, shares, reached)

    def _unpacked(self, marginals: Floats) -> Floats:
        """(L, N) packed -> (N, L)."""
        flat = np.empty(marginals.shape[::-1], self.type)
        flat[self.layout.tokens] = marginals.T
        return flat

    def _matched(self, longest: Floats) -> Floats:
        """How often each node is matched (U,), from how often it is the longest match: a match of v
        is a match of all its suffixes. 0 of single labels. Changes `longest`."""
        for nodes, _, targets, starts in reversed(self.trie.links):
            longest[targets] += np.add.reduceat(longest[nodes], starts)
        longest[: self.trie.n_labels] = 0.0
        return longest


class Message(NamedTuple):
    """z, w (U, n): Z_t scaled, and w_t. scale (n,): what Z_t was divided by."""

    z: Floats
    w: Floats
    scale: Floats


class PatternWalk(InclusiveWalk):
    """Over all nodes, with patterns that fire at given positions."""

    def __init__(
        self, emissions: Floats, weights: Weights, fired: Optional[Fired], layout: Layout
    ) -> None:
        super().__init__(emissions, weights, fired, layout)
        trie = weights.trie
        self.trans_weights: Floats = np.exp(weights.precise_trans - self.top)
        self.deep = slice(trie.n_labels, len(trie))
        self.label = trie.label[self.deep]
        self.parent = trie.parent[self.deep]
        self.move = self.trans_weights[trie.label[self.parent], self.label][:, None]  # (U - L, 1)
        self.psi = weights.psi
        self.extra: Dict[int, Tuple[Ints, Ints, Floats]] = {}
        self.entries: Dict[int, Tuple[Ints, Ints]] = {}
        if self.fired is not None and len(self.fired.tokens):
            self.extra = expand_fired(self.fired, trie, layout)
            self.entries = _entries_by_step(self.fired, layout)
        self.by_parent, self.parents, self.parent_starts = grouped(self.parent)
        self.by_label, self.labels, self.label_starts = grouped(trie.label)

    def _psi_at(self, t: int, n: int) -> Floats:
        """e^psi of all nodes, (U, n) or (U, 1)."""
        if t not in self.extra:
            return np.exp(self.psi)[:, None]
        psi = np.repeat(self.psi[:, None], n, axis=1).astype(self.type, copy=False)
        nodes, columns, weights = self.extra[t]
        psi[nodes, columns] += weights
        return np.exp(psi)

    def _step(self, t: int, before: Optional[Floats]) -> Optional[Message]:
        potentials = self.potentials[:, self.layout.step(t)]  # (L, n)
        n = potentials.shape[1]
        w = np.zeros((len(self.trie), n), self.type)
        if before is None:
            w[: self.trie.n_labels] = potentials
        else:
            w[: self.trie.n_labels] = (
                self.trans_weights.T @ before[: self.trie.n_labels, :n]
            ) * potentials
            w[self.deep] = before[self.parent, :n] * self.move * potentials[self.label]
        grown = self._psi_at(t, n)
        z = grown * w
        below = np.zeros_like(w)  # sum over the nodes that end with u
        for nodes, fail, targets, starts in reversed(self.trie.links):
            surplus = (grown[nodes] - grown[fail]) * w[nodes] + below[nodes]
            below[targets] += np.add.reduceat(surplus, starts, axis=0)
        z += below
        singles = z[: self.trie.n_labels]
        scale = singles.sum(axis=0)
        if self.reached is not None and self._loses(t, singles, scale, self.reached):
            return None
        return Message(z / scale, w, scale)

    def _backward(self, forward: List[Message], *, labels_alone: bool) -> PotentialsGradient:
        # long: one recursion from the last token to the first, the derivative of `_step`
        trie = self.trie
        layout = self.layout
        n_labels = trie.n_labels
        marginals = np.zeros((n_labels, len(layout.tokens)), self.type)
        moved = np.zeros((n_labels, n_labels), self.type)
        at_node = np.zeros(len(trie), self.type)
        matched = np.zeros(len(trie), self.type)
        fired_counts = np.zeros(0 if self.fired is None else len(self.fired.tokens), self.type)
        adjoint = np.zeros((len(trie), 0), self.type)
        for t in range(len(forward) - 1, -1, -1):
            z, w, scale = forward[t]
            n_on = adjoint.shape[1]
            n = z.shape[1]
            ended = np.zeros((len(trie), n - n_on), self.type)
            ended[:n_labels] = 1.0
            adjoint = np.concatenate([adjoint, ended], axis=1) / scale  # of Z_t before scaling
            adjoint[trie.levels[: t + 1][-1].stop :] = 0.0  # deeper nodes cannot have matched yet
            grown = self._psi_at(t, n)
            above = np.zeros_like(adjoint)  # sum over the proper suffixes of u
            d_w = grown * adjoint
            longest = w * adjoint  # times e^psi: probability that u is the longest match
            for nodes, fail, targets, starts in trie.links:
                above[nodes] = above[fail] + adjoint[fail]
                d_w[nodes] += (grown[nodes] - grown[fail]) * above[nodes]
                share = w[nodes] * above[nodes]
                longest[nodes] += share
                longest[targets] -= np.add.reduceat(share, starts, axis=0)
            longest *= grown
            matched += longest.sum(axis=1)
            self._count_fired(t, longest, fired_counts)
            product = w * d_w  # (U, n)
            by_label = np.add.reduceat(product[self.by_label], self.label_starts, axis=0)
            marginals[self.labels, layout.step(t)] = by_label
            if t == 0:
                break
            before = forward[t - 1][0][:, :n]
            potentials = self.potentials[:, layout.step(t)]
            message = potentials * d_w[:n_labels]  # (L, n)
            moved += before[:n_labels] @ message.T
            at_node += product.sum(axis=1)
            adjoint = np.zeros((len(trie), n), self.type)
            adjoint[:n_labels] = self.trans_weights @ message
            if len(self.parent):
                gained = (self.move * potentials[self.label] * d_w[self.deep])[self.by_parent]
                adjoint[self.parents] += np.add.reduceat(gained, self.parent_starts, axis=0)
        transitions = moved * self.trans_weights
        order, pairs, starts = grouped(trie.label[self.parent] * n_labels + self.label)
        if len(pairs):
            transitions.reshape(-1)[pairs] += np.add.reduceat(at_node[self.deep][order], starts)
        return PotentialsGradient(
            self._unpacked(marginals), transitions, self._matched(matched), fired_counts
        )

    def _count_fired(self, t: int, longest: Floats, fired_counts: Floats) -> None:
        """Probability of each fired entry whose last token is at step t: that its node is matched
        there."""
        if t not in self.extra or self.fired is None:
            return
        matched = longest.copy()
        for nodes, _, targets, starts in reversed(self.trie.links):
            matched[targets] += np.add.reduceat(matched[nodes], starts, axis=0)
        here, columns = self.entries[t]
        fired_counts[here] = matched[self.fired.nodes[here], columns]


def _entries_by_step(fired: Fired, layout: Layout) -> Dict[int, Tuple[Ints, Ints]]:
    """Step -> which fired entries end there, and in which columns."""
    place = np.empty(len(layout.tokens), np.intp)
    place[layout.tokens] = np.arange(len(layout.tokens))
    packed = place[fired.tokens]
    order = np.argsort(packed, kind="stable")
    steps = np.searchsorted(layout.offset, packed[order], side="right") - 1
    cuts = np.flatnonzero(np.diff(steps, prepend=-1))
    parts = zip(steps[cuts].tolist(), np.split(order, cuts[1:]), strict=True)
    return {step: (which, packed[which] - layout.offset[step]) for step, which in parts}


def _largest_sum(weights: Weights, fired: Optional[Fired], sign: int) -> float:
    """Bound on what patterns can add (sign 1) or take away (-1) at one token. RETURNS (float): >=
    0.

    Nodes that match together are one another's suffixes, so that no two of them have equally many
    suffixes themselves.
    """
    trie = weights.trie
    psi = float(trie.suffix_sums(np.maximum(sign * weights.node_weights, 0.0)).max(initial=0.0))
    if fired is None or not len(fired.tokens):
        return psi
    n_tokens = int(fired.tokens.max()) + 1
    keys, sums = added_up(
        fired.tokens * len(trie) + fired.nodes, fired.weights, n_tokens * len(trie)
    )
    tokens, nodes = np.divmod(keys, len(trie))
    most = np.zeros(n_tokens * trie.max_length)
    np.maximum.at(most, tokens * trie.max_length + trie.n_suffixes[nodes], sign * sums)
    return psi + float(most.reshape(n_tokens, -1).sum(axis=1).max())
