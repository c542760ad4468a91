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

Scores and weights of what fires may be complex everywhere here; `with_costs` makes them so.

Checked against enumeration and finite differences in
tests/decoders/patterns/test_inclusive_sums.py.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, Mask
from ..chain import MAX_RANGE, finite_range, reached_labels, sum_by_rank, vanished
from ..problem import (
    Fired,
    Groups,
    Layout,
    Potentials,
    PotentialsGradient,
    Sums,
    Weights,
    added_up,
    binned,
    expand_fired,
    make_layout,
    packed_scores,
)

STEP = 1e-50  # imaginary; its square vanishes beside 1


def with_costs(potentials: Potentials, scores: AnyFloats, last_fired: AnyFloats) -> Potentials:
    """Potentials whose imaginary parts are STEP times a cost: of labels (N, L), and of the patterns
    that fire last (n,)."""
    fired = potentials.fired
    if fired is not None and len(last_fired):
        costs = np.zeros(len(fired.tokens))
        costs[-len(last_fired) :] = last_fired
        fired = fired._replace(weights=fired.weights + 1j * STEP * costs)
    complex_scores = potentials.scores + 1j * STEP * scores.astype(np.float64)
    return potentials._replace(scores=complex_scores, fired=fired)


def inclusive_sums(potentials: Potentials, messages: "type[InclusiveMessages]") -> Sums | None:
    """E[f] of all features of some sequences, without configurations. RETURNS None if digits are
    lost on the way: some transitions are forbidden, and a share vanishes that may count later, or
    negative weights cancel; and if a sequence has no path.

    messages: `NodeMessages`, or `MatrixMessages` where nothing fires. Only for what `keeps_digits`.
    Time O(N (L^2 + U)), memory O(N U), or as `matrix_messages.py`.
    """
    layout = make_layout(potentials.lengths, len(potentials.scores))
    sums = messages(potentials, layout).sums()
    return sums if sums is not None and _sum_to_one(sums.counts, potentials) else None


def _sum_to_one(counts: PotentialsGradient, potentials: Potentials) -> bool:
    """Labels of each token, and pairs of each two, sum to 1; covariances to 0. What the rounding of
    a step changes of log Z is just what the labels of that token miss; nested patterns with
    negative weights multiply what the steps before have lost."""
    n_pairs = len(potentials.scores) - len(potentials.lengths)
    pairs = counts.trans.sum() - n_pairs
    errors = np.append(counts.scores.sum(axis=1) - 1.0, pairs / max(1, n_pairs))
    cost = float(np.abs(potentials.scores.imag).max(initial=0.0)) / STEP
    if potentials.fired is not None:
        cost += float(np.abs(potentials.fired.weights.imag).max(initial=0.0)) / STEP
    largest_cost = max(1.0, cost * float(potentials.lengths.max(initial=0)))
    lost = max(np.abs(errors.real).max(), np.abs(errors.imag).max() / STEP / largest_cost)
    return bool(lost < 1e-10)  # more is no rounding, but cancellation


def keeps_digits(potentials: Potentials) -> bool:
    """These weights let inclusive messages keep their digits: transitions and pattern weights at a
    token differ by less than MAX_RANGE, so that a share of a message cannot vanish and come back
    (as in `forward_backward.py`), and negative weights at a token do not add up to less than
    -15, so that what is left of a sum has digits: e^15 costs 7 of 16.

    Forbidden transitions are no part of the range; where there are some, the walk itself sees
    whether shares vanish.
    """
    weights = potentials.weights
    gain = _largest_sum(weights, potentials.fired, 1)
    loss = _largest_sum(weights, potentials.fired, -1)
    # False for NaN
    return finite_range(weights.trans) + gain + loss < MAX_RANGE and loss < 15.0


def _largest_sum(weights: Weights, fired: Fired | None, sign: int) -> float:
    """Bound on what patterns can add (sign 1) or take away (-1) at one token. RETURNS (float): >=
    0.

    Nodes that match together are one another's suffixes, so that no two of them have equally many
    suffixes themselves.
    """
    trie = weights.trie
    psi = float(trie.suffix_sums(np.maximum(sign * weights.node_weights, 0.0)).max(initial=0.0))
    if fired is None or not len(fired.tokens):
        return psi
    # (token, suffixes): of the nodes with as many suffixes only one can match
    keys, sums = added_up(fired.tokens * len(trie) + fired.nodes, fired.weights.real)
    tokens, nodes = np.divmod(keys, len(trie))
    most = np.zeros((int(tokens[-1]) + 1, trie.max_length))
    np.maximum.at(most, (tokens, trie.n_suffixes[nodes]), sign * sums)
    return psi + float(most.sum(axis=1).max())


class InclusiveMessages(ABC):
    """Both ways through one group of sequences. Arrays over nodes are node-major, (U, n) at a step;
    messages are scaled."""

    def __init__(self, potentials: Potentials, layout: Layout) -> None:
        weights = potentials.weights
        emissions = packed_scores(potentials.scores, potentials.allowed, layout)
        self.trie = weights.trie
        self.layout = layout
        trans = weights.precise_trans
        reached = reached_labels(emissions.real.T > -np.inf, trans, layout)
        self.reached: Mask | None = None
        if reached is not None:
            self.reached = reached.T
            emissions = np.where(self.reached, emissions, -np.inf)
        self.shift = emissions.real.max(axis=0, initial=-np.inf)
        self.has_paths = bool(np.isfinite(self.shift).all())
        self.potentials = np.exp(emissions - np.where(np.isfinite(self.shift), self.shift, 0.0))
        self.top = float(np.max(trans, initial=-np.inf))
        if not np.isfinite(self.top):  # no labels, or everything is forbidden
            self.top = 0.0

    def sums(self) -> Sums | None:
        """RETURNS None if digits are lost, or if a sequence has no path."""
        forward: list[Message] = []
        if not self.has_paths:
            return None
        before: Floats | None = None
        for t in range(len(self.layout.size_at_t)):
            step = self._step(t, before)
            if step is None:
                return None
            forward.append(step)
            before = step.z
        scales = [np.zeros(0), *(np.log(message.scale.real) for message in forward)]
        log_scale = np.concatenate(scales)
        by_rank = sum_by_rank(log_scale + self.shift, self.layout)
        by_rank += self.top * (self.layout.lengths[self.layout.order] - 1)
        log_z = np.empty(len(by_rank))
        log_z[self.layout.order] = by_rank
        return Sums(log_z, self._backward(forward))

    @abstractmethod
    def _step(self, t: int, before: Floats | None) -> "Message | None":
        """before: Z at the last step. RETURNS None if digits are lost."""

    @abstractmethod
    def _backward(self, forward: "list[Message]") -> PotentialsGradient: ...

    def _loses(self, t: int, singles: Floats, scale: Floats) -> bool:
        """Digits of Z of single labels (L, n), which sums to scale (n,), are lost."""
        if self.reached is None:
            return False
        with np.errstate(invalid="ignore"):
            shares = (singles / scale).real
        return not scale.all() or vanished(
            singles.real, shares, self.reached[:, self.layout.step(t)]
        )

    def _adjoint(self, t: int, after: Floats, singles: Ints, depth: Ints) -> Floats:
        """Adjoint of the messages of step t, from those of the sequences that go on (R, n'): 1 at the
        single labels of those that end there. depth (R,): of the rows. RETURNS (R, n)."""
        adjoint = np.zeros((len(depth), int(self.layout.size_at_t[t])), self.potentials.dtype)
        adjoint[:, : after.shape[1]] = after
        adjoint[singles, after.shape[1] :] = 1.0
        if t + 1 < self.trie.max_length:
            adjoint[depth > t + 1] = 0.0  # deeper nodes cannot have matched yet
        return adjoint

    def _counts(
        self, marginals: Floats, trans: Floats, longest: Floats, fired: Floats
    ) -> PotentialsGradient:
        """marginals (L, N): packed. longest (U,): how often each node is the longest match."""
        flat = np.ascontiguousarray(marginals[:, self.layout.place].T)
        matched = self.trie.matched(longest)
        matched[: self.trie.n_labels] = 0.0
        return PotentialsGradient(flat, trans, matched, fired)


class Message(NamedTuple):
    """z, w (U, n): Z_t scaled, and w_t. scale (n,): what Z_t was divided by."""

    z: Floats
    w: Floats
    scale: Floats


class NodeMessages(InclusiveMessages):
    """Over all nodes, with patterns that fire at given positions."""

    def __init__(self, potentials: Potentials, layout: Layout) -> None:
        super().__init__(potentials, layout)
        trie = self.trie
        self.trans_weights: Floats = np.exp(potentials.weights.precise_trans - self.top)
        self.deep = slice(trie.n_labels, len(trie))
        self.label = trie.label[self.deep]
        self.pairs = trie.label[trie.parent[self.deep]] * trie.n_labels + self.label
        self.move = self.trans_weights.take(self.pairs)[:, None]  # (U - L, 1)
        self.by_parent = Groups(trie.parent[self.deep])
        self.by_label = Groups(trie.label)
        self.psi = potentials.weights.psi
        nothing = np.zeros(0, np.intp)
        self.fired = potentials.fired or Fired(nothing, nothing, np.zeros(0))
        self.extra = expand_fired(self.fired, trie, layout)
        steps, self.columns = layout.steps_of(layout.place[self.fired.tokens])
        self.by_step = np.argsort(steps, kind="stable")
        self.bounds = np.searchsorted(steps[self.by_step], np.arange(len(layout.offset)))

    def _grown(self, t: int, n: int) -> Floats:
        """e^psi of all nodes, (U, n) or (U, 1)."""
        if t not in self.extra:
            return np.exp(self.psi)[:, None]
        nodes, columns, weights = self.extra[t]
        psi = np.repeat(self.psi[:, None], n, axis=1).astype(self.potentials.dtype)
        psi[nodes, columns] += weights
        return np.asarray(np.exp(psi))

    def _step(self, t: int, before: Floats | None) -> Message | None:
        potentials = self.potentials[:, self.layout.step(t)]  # (L, n)
        n_labels, n = potentials.shape
        w = np.zeros((len(self.trie), n), potentials.dtype)
        if before is None:
            w[:n_labels] = potentials
        else:
            before = before[:, :n]
            w[:n_labels] = (self.trans_weights.T @ before[:n_labels]) * potentials
            w[self.deep] = before[self.trie.parent[self.deep]] * self.move * potentials[self.label]
        grown = self._grown(t, n)
        z = grown * w  # (U, n), less what longer nodes add
        below = np.zeros_like(z)  # sum over the nodes that end with u
        for nodes, fail, targets, starts in reversed(self.trie.links):
            surplus = (grown[nodes] - grown[fail]) * w[nodes] + below[nodes]
            below[targets] += np.add.reduceat(surplus, starts, axis=0)
        z += below
        # every labelling ends with one label, so those of single labels sum to all
        singles = z[:n_labels]
        scale = singles.sum(axis=0)
        return None if self._loses(t, singles, scale) else Message(z / scale, w, scale)

    def _backward(self, forward: list[Message]) -> PotentialsGradient:
        """The derivative of all steps, from the last token to the first."""
        trie = self.trie
        n_labels = trie.n_labels
        dtype = self.potentials.dtype
        marginals = np.zeros((n_labels, len(self.layout.tokens)), dtype)
        trans = np.zeros((n_labels, n_labels), dtype)
        at_node = np.zeros(len(trie), dtype)  # how often each node is the one that w_t goes through
        longest = np.zeros(len(trie), dtype)
        fired = np.zeros(len(self.fired.tokens), dtype)
        adjoint = np.zeros((len(trie), 0), dtype)
        for t in range(len(forward) - 1, -1, -1):
            _, w, scale = forward[t]
            adjoint = self._adjoint(t, adjoint, np.arange(n_labels), trie.depth) / scale  # (U, n)
            d_w, p_longest = self._through_links(w, self._grown(t, w.shape[1]), adjoint)
            longest += p_longest.sum(axis=1)
            self._count_fired(t, p_longest, fired)
            product = w * d_w  # (U, n): what log Z owes to w_t of each node
            here = self.layout.step(t)
            marginals[self.by_label.keys, here] = self.by_label.added(product)
            if t == 0:
                break
            at_node += product.sum(axis=1)
            potentials = self.potentials[:, here]  # (L, n)
            before = forward[t - 1].z[:n_labels, : w.shape[1]]
            trans += before @ (potentials * d_w[:n_labels]).T
            adjoint = self._through_step(potentials, d_w)
        # pairs after single labels were counted without their weight, those of longer nodes with it
        trans *= self.trans_weights
        trans += binned(self.pairs, at_node[self.deep], trans.size).reshape(trans.shape)
        return self._counts(marginals, trans, longest, fired)

    def _count_fired(self, t: int, longest: Floats, counts: Floats) -> None:
        """Into counts (M,): how probable it is that what fires at a step matches. longest (U, n)."""
        entries = self.by_step[self.bounds[t] : self.bounds[t + 1]]
        if len(entries):
            at = self.fired.nodes[entries], self.columns[entries]
            counts[entries] = self.trie.matched(longest)[at]

    def _through_links(self, w: Floats, grown: Floats, adjoint: Floats) -> tuple[Floats, Floats]:
        """Through Z_t = e^psi w_t + what longer nodes add. grown: e^psi. adjoint (U, n): of Z_t.
        RETURNS that of w_t, and the probability that each node is the longest match, (U, n) each."""
        above = np.zeros_like(adjoint)  # sum over the proper suffixes of u
        d_w = grown * adjoint
        longest = w * adjoint  # times e^psi, below
        for nodes, fail, targets, starts in self.trie.links:
            above[nodes] = above[fail] + adjoint[fail]
            d_w[nodes] += (grown[nodes] - grown[fail]) * above[nodes]
            # a labelling whose longest match is a node is no longer one of what the node fails to
            share = w[nodes] * above[nodes]
            longest[nodes] += share
            longest[targets] -= np.add.reduceat(share, starts, axis=0)
        longest *= grown
        return d_w, longest

    def _through_step(self, potentials: Floats, d_w: Floats) -> Floats:
        """Through w_t = the potentials of one more label times Z_{t-1} of the parent. potentials
        (L, n). d_w (U, n): adjoint of w_t. RETURNS that of Z_{t-1}, (U, n)."""
        n_labels = len(potentials)
        adjoint = np.zeros_like(d_w)
        adjoint[:n_labels] = self.trans_weights @ (potentials * d_w[:n_labels])
        gained = self.move * potentials[self.label] * d_w[self.deep]
        adjoint[self.by_parent.keys] += self.by_parent.added(gained)
        return adjoint
