"""log Z, marginals and expected counts with higher-order label patterns, in time linear in the nodes of their trie.

The distribution is that of Ye et al. (2009) and Qian et al. (2009, section 2); the recurrence is that of Takhanov &
Kolmogorov (2013) without their subtraction. With w_t(u) = the summed potentials of all labellings of 1..t that end
with node u, without the patterns that end at t, and Z_t(u) = the same with them:

    w_t(u) = exp(scores[t, last label] + trans[last two labels]) Z_{t-1}(parent(u))    (single labels: summed over all)
    Z_t(u) = e^psi(u) w_t(u) + sum over v with u as a proper suffix of (e^psi(v) - e^psi(fail(v))) w_t(v)

since labellings whose longest match is x carry e^psi(x), and their share of w_t is w_t(x) less that of the nodes that
fail to x. No term is negative if all weights are >= 0; with others the sum is exact as well, but digits cancel.
Everything else is the derivative of log Z, by the chain rule through these two lines, backwards in time.

Checked against enumeration and finite differences in tests/decoders/higher_order/test_pattern_posterior.py.
"""

from typing import Dict, List, Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors
from ..chain.forward_backward import MAX_RANGE, finite_range, reached_labels, sum_by_rank, vanished
from ..problem.firing import added_up, expand_fired
from ..problem.layout import Layout, check_scores, make_layout, packed_scores, parts_of
from ..problem.results import LostDigits, NoPath, Posterior
from ..problem.trie import Fired, PatternScores

MAX_LOSS = 15.0  # negative weights make the sum cancel: e^15 costs 7 of the 16 digits
CELLS = 4_000_000  # lattice cells of one group of sequences; a single longer sequence takes what it needs


def pattern_posterior(
    scores: AnyFloats,
    trans: AnyFloats,
    patterns: PatternScores,
    lengths: AnyInts,
    *,
    allowed: Optional[Mask] = None,
) -> Posterior:
    """log Z, marginals and expected counts of a chain with label patterns, for a batch of sequences.

    p(y | x) = exp(objective of `decode_nonnegative`) / Z(x), over the allowed label sequences. Weights of any sign.

    RETURNS (Posterior): the gradient of sum(log_z) with respect to `scores`, `trans`, `patterns.weights` and
        `patterns.fired.weights` is `marginals`, `transitions`, `node_counts` and `fired_counts`.
    RAISES ValueError [HS020-HS025]; [HS028]: transitions and pattern weights at a token differ by more than MAX_RANGE,
        or negative weights at a token add up to less than -MAX_LOSS; [HS097]: some transitions are forbidden, and a
        probability vanishes that may count later (or no sequence of labels is left).

    Time O(N (L^2 + U)), memory O(T U) for the longest sequence, O(CELLS) for shorter ones.
    """
    check_scores(scores, trans, allowed)
    layout = make_layout(lengths, len(scores))
    check_stable(trans, patterns)
    fired = patterns.fired
    total = Posterior(
        np.zeros(len(layout.lengths)),
        np.zeros(scores.shape),
        np.zeros(trans.shape),
        np.zeros(len(patterns.trie)),
        np.zeros(0 if fired is None else len(fired.tokens)),
    )
    for sequences, tokens in parts_of(layout.lengths, len(layout.lengths), CELLS // len(patterns.trie)):
        inside, entries = patterns.among(tokens, len(scores))
        mask = None if allowed is None else allowed[tokens]
        group = make_layout(layout.lengths[sequences], len(tokens))
        found = PatternWalk(packed_scores(scores[tokens], mask, group), trans, inside, group).posterior()
        total.log_z[sequences] = found.log_z
        total.marginals[tokens] = found.marginals
        total.transitions[:] += found.transitions
        total.node_counts[:] += found.node_counts
        total.fired_counts[entries] = found.fired_counts
    if len(total.log_z) and total.log_z.min() == -np.inf:
        raise NoPath(int(total.log_z.argmin()))
    return total


def check_stable(trans: AnyFloats, patterns: PatternScores) -> None:
    """RAISES ValueError [HS028]: weights with which sums over the trie would lose their digits."""
    if not is_stable(trans, patterns):
        got = dict(zip(("trans", "gain", "loss"), _spread(trans, patterns), strict=True))
        raise ValueError(Errors.HS028.format(limit=MAX_RANGE, least=-MAX_LOSS, **got))


def is_stable(trans: AnyFloats, patterns: PatternScores) -> bool:
    """Whether `pattern_posterior` keeps its digits with these weights; if not, use `any_sign_posterior`."""
    trans_range, gain, loss = _spread(trans, patterns)
    return trans_range + gain - loss < MAX_RANGE and -loss < MAX_LOSS  # False for NaN


def _spread(trans: AnyFloats, patterns: PatternScores) -> Tuple[float, float, float]:
    """How far transitions that are not forbidden differ, and the most that patterns can add and take away (<= 0) at a
    token."""
    return finite_range(trans), _largest_sum(patterns, 1), -_largest_sum(patterns, -1)


class PatternWalk:
    """One group of sequences. All arrays over nodes are node-major, (U, n) at a step; messages are scaled.

    emissions (L, N): packed scores. Every step is an analytic function of them and of the fired weights, so both may be
    complex (pattern_marginals.py), and then all results are.
    """

    def __init__(self, emissions: Floats, trans: AnyFloats, patterns: PatternScores, layout: Layout) -> None:
        self.trie, self.layout, self.fired = patterns.trie, layout, patterns.fired
        trie = self.trie
        reached = reached_labels(emissions.real.T > -np.inf, trans, layout)
        self.reached, self.range = None if reached is None else reached.T, finite_range(trans)
        if self.reached is not None:
            emissions = np.where(self.reached, emissions, -np.inf)
        self.shift = emissions.real.max(axis=0, initial=-np.inf)
        if not np.isfinite(self.shift).all():
            raise LostDigits(self.range)
        self.potentials = np.exp(emissions - self.shift)
        self.type = emissions.dtype
        top = float(np.max(trans, initial=-np.inf))
        self.top = top if np.isfinite(top) else 0.0
        self.trans_weights: Floats = np.exp(trans.astype(np.float64) - self.top)
        self.deep = slice(trie.n_labels, len(trie))
        self.label, self.parent = trie.label[self.deep], trie.parent[self.deep]
        self.move = self.trans_weights[trie.label[self.parent], self.label][:, None]  # (U - L, 1)
        self.psi = trie.suffix_sums(patterns.weights)
        has_fired = self.fired is not None and len(self.fired.tokens) > 0
        self.extra = expand_fired(self.fired, trie, layout) if has_fired and self.fired is not None else {}
        self.entries = _entries_by_step(self.fired, layout) if has_fired and self.fired is not None else {}
        self.by_parent, self.parents, self.parent_starts = _grouped(self.parent)
        self.by_label, self.labels, self.label_starts = _grouped(trie.label)

    def posterior(self) -> Posterior:
        forward: List[Tuple[Floats, Floats, Floats]] = []  # (Z scaled, w, scale) of each step
        for t in range(len(self.layout.size_at_t)):
            forward.append(self._step(t, forward[-1][0] if forward else None))
        log_scale = np.concatenate([np.log(scale.real) for _, _, scale in forward]) if forward else np.zeros(0)
        by_rank = sum_by_rank(log_scale + self.shift, self.layout)
        by_rank += self.top * (self.layout.lengths[self.layout.order] - 1)
        log_z = np.empty(len(by_rank))
        log_z[self.layout.order] = by_rank
        return self._backward(forward, log_z)

    def _psi_at(self, t: int, n: int) -> Floats:
        """e^psi of all nodes, (U, n) or (U, 1)."""
        if t not in self.extra:
            return np.exp(self.psi)[:, None]
        psi = np.repeat(self.psi[:, None], n, axis=1).astype(self.type, copy=False)
        nodes, columns, weights = self.extra[t]
        psi[nodes, columns] += weights
        return np.exp(psi)

    def _step(self, t: int, before: Optional[Floats]) -> Tuple[Floats, Floats, Floats]:
        potentials = self.potentials[:, self.layout.step(t)]  # (L, n)
        n = potentials.shape[1]
        w = np.zeros((len(self.trie), n), self.type)
        if before is None:
            w[: self.trie.n_labels] = potentials
        else:
            w[: self.trie.n_labels] = (self.trans_weights.T @ before[: self.trie.n_labels, :n]) * potentials
            w[self.deep] = before[self.parent, :n] * self.move * potentials[self.label]
        grown = self._psi_at(t, n)
        z = grown * w
        below = np.zeros_like(w)  # sum over the nodes that end with u
        for nodes, fail, targets, starts in reversed(self.trie.links):
            surplus = (grown[nodes] - grown[fail]) * w[nodes] + below[nodes]
            below[targets] += np.add.reduceat(surplus, starts, axis=0)
        z += below
        scale = z[: self.trie.n_labels].sum(axis=0)
        with np.errstate(invalid="ignore"):
            scaled = z / scale
        if self.reached is not None:
            singles, reached = slice(0, self.trie.n_labels), self.reached[:, self.layout.step(t)]
            if not scale.all() or vanished(z[singles].real, scaled[singles].real, reached):
                raise LostDigits(self.range)
        return scaled, w, scale

    def _backward(self, forward: List[Tuple[Floats, Floats, Floats]], log_z: Floats) -> Posterior:
        trie, layout = self.trie, self.layout
        n_labels = trie.n_labels
        marginals = np.zeros((n_labels, len(layout.tokens)), self.type)
        moved = np.zeros((n_labels, n_labels), self.type)
        at_node, matched = np.zeros(len(trie), self.type), np.zeros(len(trie), self.type)
        fired_counts = np.zeros(0 if self.fired is None else len(self.fired.tokens), self.type)
        adjoint = np.zeros((len(trie), 0), self.type)
        for t in range(len(forward) - 1, -1, -1):
            z, w, scale = forward[t]
            n_on, n = adjoint.shape[1], z.shape[1]
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
        order, pairs, starts = _grouped(trie.label[self.parent] * n_labels + self.label)
        if len(pairs):
            transitions.reshape(-1)[pairs] += np.add.reduceat(at_node[self.deep][order], starts)
        for nodes, _, targets, starts in reversed(trie.links):  # a match of v is a match of all its suffixes
            matched[targets] += np.add.reduceat(matched[nodes], starts)
        matched[:n_labels] = 0.0
        flat = np.empty((len(layout.tokens), n_labels), self.type)
        flat[layout.tokens] = marginals.T
        return Posterior(log_z, flat, transitions, matched, fired_counts)

    def _count_fired(self, t: int, longest: Floats, fired_counts: Floats) -> None:
        """Probability of each fired entry whose last token is at step t: that its node is matched there."""
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


def _grouped(keys: Ints) -> Tuple[Ints, Ints, Ints]:
    """Order that groups equal keys, the distinct keys, the start of each group."""
    order = np.argsort(keys, kind="stable")
    distinct, starts = np.unique(keys[order], return_index=True)
    return order, distinct, starts


def _largest_sum(patterns: PatternScores, sign: int) -> float:
    """Bound on what patterns can add (sign 1) or take away (-1) at one token. RETURNS (float): >= 0.

    Nodes that match together are one another's suffixes, so that no two of them have equally many suffixes themselves.
    """
    trie, _, fired = patterns
    psi = float(trie.suffix_sums(np.maximum(sign * patterns.weights, 0.0)).max(initial=0.0))
    if fired is None or not len(fired.tokens):
        return psi
    n_tokens = int(fired.tokens.max()) + 1
    keys, sums = added_up(fired.tokens * len(trie) + fired.nodes, fired.weights.real, n_tokens * len(trie))
    tokens, nodes = np.divmod(keys, len(trie))
    most = np.zeros(n_tokens * trie.max_length)
    np.maximum.at(most, tokens * trie.max_length + trie.n_suffixes[nodes], sign * sums)
    return psi + float(most.reshape(n_tokens, -1).sum(axis=1).max())
