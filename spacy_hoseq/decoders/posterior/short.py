"""What `predictions.py` asks of a chain, for a short text: few calls of NumPy, since each takes as long as a dozen
numbers.

The way forward and the way back are walked together, with one product a token:

    alpha_t(y)   = e_t(y) sum_a alpha_{t-1}(a) w(a, y)       e = exp(scores - the largest at the token), w = exp(trans)
    message_t(y) = e_t(y) beta_t(y),  beta_t(a) = sum_y w(a, y) message_{t+1}(y)

Each is scaled now and then, on its own: probabilities are made of numbers of one token, or of two neighbours, and are
divided by their sum. No sum changes by more than the range of w in a step where nothing is forbidden; where something
is, no positive number may be below LEAST, so that none of the next step has vanished. What is rare is left to the walk
of batches. Tests run both ways.
"""

from math import log, prod
from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Labels, Mask
from ..chain import LEAST, ROOM, SMALL, best_path, finite_range, masked
from ..problem import Factors, Potentials, Tuning, Weights, largest
from ..pruning import Left, best_of_left
from .posterior_pruning import ROUNDING, SURE
from .sparse_marginals import ProbableLabels, reach


class Tables:
    """What a walk needs of weights (`weights.prepared(Tables)`). weights (L, L): w, the largest 1. both (2L, 2L): w,
    and below and beside it its transpose. turned (L, L): trans, the later label first. change: by how much a step
    changes the logarithm of a sum at most."""

    def __init__(self, weights: Weights) -> None:
        trans, n = weights.precise_trans, weights.n_labels
        self.turned = np.ascontiguousarray(trans.T)
        top = float(trans.max(initial=-np.inf))
        self.weights: Floats = np.exp(trans - (top if np.isfinite(top) else 0.0))
        self.both = np.zeros((2 * n, 2 * n))
        self.both[:n, :n], self.both[n:, n:] = self.weights, self.weights.T
        self.change = max(finite_range(trans), log(max(2, n)))


class ShortPosterior(NamedTuple):
    """emissions (N, L): as `masked`. alpha, message, into, beta, nodes (N, L): into_t = sum_a alpha_{t-1}(a) w(a, y),
    as it was before scaling."""

    potentials: Potentials
    emissions: Floats
    tables: Tables
    starts: List[int]
    alpha: Floats
    message: Floats
    into: Floats
    beta: Floats
    nodes: Floats

    def labels(self, tuning: Tuning) -> Labels:
        """The labels of `decode_exact` (N,), as `likely_labels` finds them. Here all marginals are known, so that a
        labelling that is hardly probable tells, too, which labels can be left out."""
        labels: Ints = self.nodes.argmax(axis=1)
        steps = self.steps(labels).tolist()
        for start, length in zip(self.starts, self.potentials.lengths.tolist(), strict=True):
            end = start + length
            p = prod(steps[start:end])
            if p < SURE and not self._decode_likely(labels, start, end, p, tuning):
                path = best_path(self.emissions[start:end].copy(), self.tables.turned)
                if path is not None:
                    labels[start:end] = path.labels
        result: Labels = labels.astype(np.int32)
        return result

    def _decode_likely(self, labels: Ints, start: int, end: int, p: float, tuning: Tuning) -> bool:
        """Write the labels of one sequence whose most probable ones have the probability p. RETURNS whether labels that
        are not likely could be left out, and few were left."""
        nodes = self.nodes[start:end]
        kept = nodes >= np.minimum(p or tuning.undecided, nodes.max(axis=1))[:, None] * (1 - ROUNDING)
        tokens, some_labels = kept.nonzero()
        if len(tokens) > tuning.short_likely * len(nodes):
            return False
        path = best_of_left(Left.of(tokens, some_labels, self.emissions[start:end]), self.potentials.weights)
        if path is None:
            return False
        labels[start:end] = path
        return p > 0 or prod(self.steps(labels)[start:end].tolist()) >= tuning.undecided

    def steps(self, labels: AnyInts) -> Floats:
        """p(y_t | y_{t-1}) of a labelling (N,), p(y_t) at first tokens. Labels are not impossible."""
        n_tokens, n_labels = self.nodes.shape
        cells = np.arange(0, n_tokens * n_labels, n_labels) + labels
        message, beta = self.message.take(cells), self.beta.take(cells)
        steps: Floats = np.empty(n_tokens)
        np.multiply(self.tables.weights[labels[:-1], labels[1:]], message[1:], out=steps[1:])
        steps[1:] /= np.maximum(beta[:-1], LEAST)
        steps[self.starts] = self.nodes.take(cells[self.starts])
        return steps

    def factors(self, labels: Labels, goes_on: Mask) -> Factors:
        """Of one labelling (N,), token by token, as `ChainPosterior.along`."""
        every = np.arange(len(labels))
        p, go_on = self.nodes[every, labels], self.steps(labels)
        go_on[self.starts] = 1.0
        stopping = np.where(goes_on, 0.0, self.tables.weights).take(labels[:-1], axis=0)
        stop = np.ones(len(labels))
        stop[:-1] = (stopping * self.message[1:]).sum(axis=1) / np.maximum(self.beta[every[:-1], labels[:-1]], LEAST)
        stop[~goes_on.any(axis=1).take(labels)] = 1.0
        stop[np.array(self.starts) - 1] = 1.0  # last tokens
        return Factors(p, go_on, stop)

    def probable(self, threshold: float) -> ProbableLabels:
        """As `probable_labels`."""
        tokens, labels = reach(self.nodes, threshold).nonzero()
        earlier, later = self._neighbours(tokens.tolist())
        before, here, of_earlier, of_later = tokens[earlier], tokens[later], labels[earlier], labels[later]
        pairs = self.alpha[before, of_earlier] * self.tables.weights[of_earlier, of_later]
        pairs *= self.message[here, of_later]
        pairs /= (self.into * self.message).sum(axis=1)[here]
        kept = reach(pairs, threshold)
        return ProbableLabels(tokens, labels, self.nodes[tokens, labels], earlier[kept], later[kept], pairs[kept])

    def _neighbours(self, tokens: List[int]) -> Tuple[Ints, Ints]:
        """As `neighbours`. tokens: of the entries."""
        earlier: List[int] = []
        later: List[int] = []
        firsts = set(self.starts)
        before: List[int] = []
        here: List[int] = []
        now = -1
        for entry, token in enumerate(tokens):
            if token != now:
                before, here, now = ([] if token in firsts else here), [], token
            earlier += before
            later += [entry] * len(before)
            here.append(entry)
        return np.array(earlier, np.intp), np.array(later, np.intp)


def short_posterior(potentials: Potentials, tuning: Tuning) -> Optional[ShortPosterior]:
    """Of a checked batch without features of more than two labels. RETURNS None if it is for `pieces.py` to sum: it is
    long, digits may be lost, or a sequence has no path."""
    (n_tokens, n_labels), lengths = potentials.scores.shape, potentials.lengths.tolist()
    is_short = n_tokens <= max(tuning.short_tokens, tuning.short_sequences * max(lengths, default=0))
    if not n_tokens or not is_short or n_tokens >= tuning.long_tokens or n_labels > tuning.short_labels:
        return None
    tables, permit_all = potentials.weights.prepared(Tables), potentials.weights.permit_all
    if tables.change > SMALL or not (permit_all or largest(potentials.scores) <= SMALL):
        return None
    emissions = masked(potentials.scores, potentials.allowed)
    e: Floats = np.exp(emissions - emissions.max(axis=1, keepdims=True))
    n_steps, starts, walks, start = int(ROOM / tables.change), [], [], 0
    for length in lengths:
        walks.append(_walked(e[start : start + length], tables.both, n_steps))
        starts.append(start)
        start += length
    alpha, message, into, beta = walks[0] if len(walks) == 1 else map(np.concatenate, zip(*walks, strict=True))
    nodes = alpha * beta
    sums = nodes.sum(axis=1, keepdims=True)
    if sums.min() < LEAST or not (permit_all or (_kept(alpha) and _kept(message))):
        return None
    nodes /= sums
    return ShortPosterior(potentials, emissions, tables, starts, alpha, message, into, beta, nodes)


def _walked(e: Floats, both: Floats, n_steps: int) -> Tuple[Floats, Floats, Floats, Floats]:
    """Both ways through one sequence. e (T, L). RETURNS alpha, message, into, beta."""
    n_labels = e.shape[1]
    sides = np.concatenate([e, e[::-1]], axis=1)
    moved, state = np.ones_like(sides), np.empty_like(sides)
    state[0] = sides[0]
    before, *rows = state
    for t, (into, of_token, row) in enumerate(zip(moved[1:], sides[1:], rows, strict=True), 1):
        np.dot(before, both, into)
        np.multiply(into, of_token, row)
        if t % n_steps == 0:
            halves = row.reshape(2, n_labels)
            halves /= np.maximum(halves.sum(axis=1, keepdims=True), LEAST)
        before = row
    back, moved_back = state[::-1], moved[::-1]
    return state[:, :n_labels], back[:, n_labels:], moved[:, :n_labels], moved_back[:, n_labels:]


def _kept(shares: Floats) -> bool:
    """Whether what is positive has its digits, now and after the next step."""
    return not ((shares > 0) & (shares < LEAST)).any()
