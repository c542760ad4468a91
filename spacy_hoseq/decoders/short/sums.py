"""What `answers/in_parts.py` finds of a chain, for a short text: few calls of NumPy, since each
takes as long as a dozen numbers.

The way forward and the way back are walked together, with one product a token:

    alpha_t(y)   = e_t(y) sum_a alpha_{t-1}(a) w(a, y)       e = exp(scores - the largest at the token), w = exp(trans)
    message_t(y) = e_t(y) beta_t(y),  beta_t(a) = sum_y w(a, y) message_{t+1}(y)

Each is scaled now and then, on its own: probabilities are made of numbers of one token, or of two
neighbours, and are divided by their sum. No sum changes by more than the range of w in a step where
nothing is forbidden; where something is, no positive number may be below LEAST, so that none of the
next step has vanished. What is rare is left to the walk of batches. Tests run both ways.
"""

from functools import cached_property
from itertools import accumulate
from math import log, prod
from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Labels, Mask
from ..chain import LEAST, ROOM, SMALL, best_path, finite_range
from ..problem import (
    Factors,
    Potentials,
    ProbableLabels,
    Profile,
    Tuning,
    Weights,
    largest,
    masked,
    ranges,
    reach,
)
from ..pruning import SURE
from .labels import Remaining, best_of_remaining

ROUNDING = 1e-6  # of marginals: more than it can do


class WalkWeights:
    """What a walk needs of weights (`weights.prepared(WalkWeights)`). weights (L, L): w, the
    largest 1. both (2L, 2L): w, and below and beside it its transpose. turned (L, L): trans, the
    later label first. change: by how much a step changes the logarithm of a sum at most."""

    def __init__(self, weights: Weights) -> None:
        trans = weights.precise_trans
        n = weights.n_labels
        self.turned = np.ascontiguousarray(trans.T)
        top = float(trans.max(initial=-np.inf))
        self.weights: Floats = np.exp(trans - (top if np.isfinite(top) else 0.0))
        self.both = np.zeros((2 * n, 2 * n))
        self.both[:n, :n] = self.weights
        self.both[n:, n:] = self.weights.T
        self.change = max(finite_range(trans), log(max(2, n)))


class Walk(NamedTuple):
    """Both ways through a batch. alpha, message, into, beta (N, L): into_t = sum_a alpha_{t-1}(a)
    w(a, y), as it was before scaling."""

    alpha: Floats
    message: Floats
    into: Floats
    beta: Floats


class ShortSums:
    """emissions (N, L): as `masked`. nodes (N, L): marginals."""

    def __init__(
        self, potentials: Potentials, tuning: Tuning, emissions: Floats, walk: Walk, nodes: Floats
    ) -> None:
        self._potentials = potentials
        self._tuning = tuning
        self._emissions = emissions
        self._walk = walk
        self.nodes = nodes
        self._tables = potentials.weights.prepared(WalkWeights)
        self._starts = starts_of(potentials.lengths.tolist())

    @cached_property
    def labels(self) -> Labels:
        """As `likely_labels` finds them. Here all marginals are known, so that a labelling that is
        hardly probable tells, too, which labels can be left out."""
        labels: Ints = self.nodes.argmax(axis=1)
        steps = self._steps(labels).tolist()
        for start, length in zip(self._starts, self._potentials.lengths.tolist(), strict=True):
            end = start + length
            p = prod(steps[start:end])
            if p < SURE and not self._decode_likely(labels, start, end, p):
                path = best_path(self._emissions[start:end].copy(), self._tables.turned)
                if path is not None:
                    labels[start:end] = path.labels
        return labels.astype(np.int32)

    def _decode_likely(self, labels: Ints, start: int, end: int, p: float) -> bool:
        """Write the labels of one sequence whose most probable ones have the probability p. RETURNS
        whether labels that are not likely could be left out, and few were left."""
        nodes = self.nodes[start:end]
        tuning = self._tuning
        kept = nodes >= np.minimum(p or tuning.undecided, nodes.max(axis=1))[:, None] * (
            1 - ROUNDING
        )
        tokens, some_labels = kept.nonzero()
        if len(tokens) > tuning.short_likely * len(nodes):
            return False
        path = best_of_remaining(
            Remaining.of(tokens, some_labels, self._emissions[start:end]), self._potentials.weights
        )
        if path is None:
            return False
        labels[start:end] = path
        return p > 0 or prod(self._steps(labels)[start:end].tolist()) >= tuning.undecided

    def _steps(self, labels: AnyInts) -> Floats:
        """p(y_t | y_{t-1}) of a labelling (N,), p(y_t) at first tokens. Labels are not
        impossible."""
        tokens = np.arange(len(labels))
        steps = self._go_on(tokens, labels)
        steps[self._starts] = self.nodes[tokens, labels].take(self._starts)
        return steps

    def _go_on(self, tokens: Ints, labels: AnyInts) -> Floats:
        """p(y_t | y_{t-1}) of tokens (M,) with their labels, each given the one before it in the
        list. Tokens that do not follow each other have any number."""
        cells = tokens * self.nodes.shape[1] + labels
        steps: Floats = np.ones(len(cells))
        message = self._walk.message.take(cells[1:])
        np.multiply(self._tables.weights[labels[:-1], labels[1:]], message, out=steps[1:])
        steps[1:] /= np.maximum(self._walk.beta.take(cells[:-1]), LEAST)
        return steps

    def _stops(self, tokens: Ints, labels: AnyInts, continues: Mask) -> Floats:
        """p(not continues[y_t, y_{t+1}] | y_t = y), 1 at last tokens and for labels across which
        nothing goes on. tokens, labels (E,). RETURNS (E,)."""
        is_last = np.zeros(len(self.nodes), bool)
        is_last[np.array(self._starts) - 1] = True
        stopping = np.where(continues, 0.0, self._tables.weights).take(labels, axis=0)
        message = self._walk.message.take(tokens + 1, axis=0, mode="clip")
        stop = np.asarray((stopping * message).sum(axis=1))
        stop /= np.maximum(self._walk.beta[tokens, labels], LEAST)
        stop[is_last.take(tokens) | ~continues.any(axis=1).take(labels)] = 1.0
        return stop

    def factors(self, continues: Mask) -> Factors:
        labels = self.labels
        every = np.arange(len(labels))
        go_on = self._go_on(every, labels)
        go_on[self._starts] = 1.0
        return Factors(self.nodes[every, labels], go_on, self._stops(every, labels, continues))

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        continues: Optional[Mask],
        least: float,
    ) -> Floats:
        starts = np.cumsum(sizes) - sizes
        tokens = ranges(first, sizes)
        go_on = self._go_on(tokens, labels)
        go_on[starts] = 1.0
        stop = np.ones(len(sizes))
        if continues is not None:
            last = starts + sizes - 1
            stop = self._stops(tokens.take(last), labels.take(last), continues)
        return Factors(self.nodes[first, labels.take(starts)], go_on, stop).product(sizes)

    def probable(self, least: float) -> ProbableLabels:
        walk = self._walk
        tokens, labels = reach(self.nodes, least).nonzero()
        earlier, later = self._neighbours(tokens.tolist())
        before = tokens[earlier]
        here = tokens[later]
        of_earlier = labels[earlier]
        of_later = labels[later]
        pairs = walk.alpha[before, of_earlier] * self._tables.weights[of_earlier, of_later]
        pairs *= walk.message[here, of_later]
        pairs /= (walk.into * walk.message).sum(axis=1)[here]
        kept = reach(pairs, least)
        return ProbableLabels(
            tokens, labels, self.nodes[tokens, labels], earlier[kept], later[kept], pairs[kept]
        )

    def _neighbours(self, tokens: List[int]) -> Tuple[Ints, Ints]:
        """As `neighbours`. tokens: of the entries."""
        earlier: List[int] = []
        later: List[int] = []
        firsts = set(self._starts)
        before: List[int] = []
        here: List[int] = []
        now = -1
        for entry, token in enumerate(tokens):
            if token != now:
                before = here if token == now + 1 and token not in firsts else []
                here = []
                now = token
            earlier += before
            later += [entry] * len(before)
            here.append(entry)
        return np.array(earlier, np.intp), np.array(later, np.intp)


def starts_of(lengths: List[int]) -> List[int]:
    """The first token of each sequence."""
    return [0, *accumulate(lengths)][:-1]


def is_short_chain(profile: Profile, tuning: Tuning) -> bool:
    """Whether a chain of such a size takes less time in `short_sums` than part by part."""
    most = max(tuning.short_tokens, tuning.short_sequences * profile.longest)
    is_short = 0 < profile.n_tokens <= most and profile.n_tokens < tuning.long_tokens
    return is_short and profile.n_labels <= tuning.short_labels


def short_sums(potentials: Potentials, tuning: Tuning) -> Optional[ShortSums]:
    """Of a batch without features of more than two labels. RETURNS None if digits may be lost, or a
    sequence has no path."""
    tables = potentials.weights.prepared(WalkWeights)
    permits_all = potentials.weights.permit_all
    if tables.change > SMALL or not (permits_all or largest(potentials.scores) <= SMALL):
        return None
    emissions = masked(potentials.scores, potentials.allowed)
    e: Floats = np.exp(emissions - emissions.max(axis=1, keepdims=True))
    n_steps = int(ROOM / tables.change)
    lengths = potentials.lengths.tolist()
    walks = [
        _walked(e[start : start + length], tables.both, n_steps)
        for start, length in zip(starts_of(lengths), lengths, strict=True)
    ]
    walk = walks[0] if len(walks) == 1 else Walk(*map(np.concatenate, zip(*walks, strict=True)))
    nodes = walk.alpha * walk.beta
    sums = nodes.sum(axis=1, keepdims=True)
    if sums.min() < LEAST or not (permits_all or (_kept(walk.alpha) and _kept(walk.message))):
        return None
    nodes /= sums
    return ShortSums(potentials, tuning, emissions, walk, nodes)


def _walked(e: Floats, both: Floats, n_steps: int) -> Walk:
    """Both ways through one sequence. e (T, L)."""
    n_labels = e.shape[1]
    sides = np.concatenate([e, e[::-1]], axis=1)
    moved = np.ones_like(sides)
    state = np.empty_like(sides)
    state[0] = sides[0]
    before, *rows = state
    for t, (into, of_token, row) in enumerate(zip(moved[1:], sides[1:], rows, strict=True), 1):
        np.dot(before, both, into)
        np.multiply(into, of_token, row)
        if t % n_steps == 0:
            halves = row.reshape(2, n_labels)
            halves /= np.maximum(halves.sum(axis=1, keepdims=True), LEAST)
        before = row
    back = state[::-1]
    moved_back = moved[::-1]
    return Walk(
        state[:, :n_labels], back[:, n_labels:], moved[:, :n_labels], moved_back[:, n_labels:]
    )


def _kept(shares: Floats) -> bool:
    """Whether what is positive has its digits, now and after the next step."""
    return not ((shares > 0) & (shares < LEAST)).any()
