"""The definitions and nothing else: every labelling is scored, everything is read off that one table.

Nothing here calls the package. Qian & Liu, "Problem Definition":

    score(x, y) = sum_t sum_i w_i b_i(x, t) I(y_s..t = z_i)

Emission scores are patterns of one label that fire at t, transitions are patterns of two that fire everywhere. General
configurations (Qian et al. 2009, section 2) have a set of labels for each token: I(y_s in Z_s, ..., y_t in Z_t).
"""

import itertools
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cases import Case

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


@cache
def all_labellings(n_tokens: int, n_labels: int) -> Labels:
    """(L ** T, T)"""
    every = list(itertools.product(range(n_labels), repeat=n_tokens))
    return np.array(every, np.int64).reshape(n_labels**n_tokens, n_tokens)


def score_of(case: Case, labellings: Labels) -> Floats:
    """score(x, y) of each labelling (M, T) of a case of ONE sequence; -inf where the mask forbids it."""
    assert len(case.lengths) == 1
    total = np.zeros(len(labellings))
    for t in range(labellings.shape[1]):
        here = labellings[:, t]
        total += case.scores[t].astype(np.float64)[here]
        if t > 0:
            total += case.trans[labellings[:, t - 1], here]
            if case.edge_scores is not None:
                total += case.edge_scores[t].astype(np.float64)[labellings[:, t - 1], here]
        if case.allowed is not None:
            total[~case.allowed[t][here]] = -np.inf
        for pattern, weight in case.patterns:
            total += weight * _ends_with(labellings, t, pattern)
    for t, pattern, weight in case.fired:
        total += weight * _ends_with(labellings, t, pattern)
    for first, sets, weight in case.configurations:
        total += weight * lies_in(labellings, first, sets)
    return total


def lies_in(labellings: Labels, first: int, sets: tuple[frozenset[int], ...]) -> NDArray[np.bool_]:
    """Whether the labels from token `first` on lie in the sets. RETURNS (M,)."""
    found = np.ones(len(labellings), bool)
    for labels, here in zip(sets, labellings.T[first : first + len(sets)], strict=True):
        found &= np.isin(here, list(labels))
    return found


def score_of_one(case: Case, labels: NDArray[np.integer]) -> float:
    return float(score_of(case, np.asarray(labels, np.int64)[None, :])[0])


def _ends_with(labellings: Labels, t: int, pattern: tuple[int, ...]) -> NDArray[np.bool_]:
    start = t - len(pattern) + 1
    if start < 0:
        return np.zeros(len(labellings), bool)
    return (labellings[:, start : t + 1] == pattern).all(axis=1)


class JointTable(NamedTuple):
    """labellings (M, T), scores (M,): all there are for one sequence."""

    labellings: Labels
    scores: Floats
    n_labels: int

    @property
    def best(self) -> float:
        return float(self.scores.max())

    @property
    def best_labels(self) -> Labels:
        return self.labellings[self.scores.argmax()]

    @property
    def is_unique(self) -> bool:
        """The best labelling wins by more than rounding."""
        return len(self.scores) == 1 or bool(np.diff(np.sort(self.scores)[-2:])[0] > 1e-6)

    def k_best(self, k: int) -> tuple[Labels, Floats]:
        order = np.argsort(-self.scores, kind="stable")
        order = order[np.isfinite(self.scores[order])][:k]
        return self.labellings[order], self.scores[order]

    @property
    def log_z(self) -> float:
        return self.best + float(np.log(np.exp(self.scores - self.best).sum()))

    @property
    def marginals(self) -> Floats:
        """(T, L)"""
        p = np.exp(self.scores - self.log_z)
        every = range(self.n_labels)
        return np.array([[p[here == y].sum() for y in every] for here in self.labellings.T])

    @property
    def transitions(self) -> Floats:
        """(L, L) expected number of each pair of neighbours, first index = earlier token."""
        p = np.exp(self.scores - self.log_z)
        expected = np.zeros((self.n_labels, self.n_labels))
        for earlier, later in zip(self.labellings.T[:-1], self.labellings.T[1:], strict=True):
            np.add.at(expected, (earlier, later), p)
        return expected

    def expected_count(self, string: tuple[int, ...], tokens: Iterable[int] | None = None) -> float:
        """Expected number of times that the labels end with the string, at any token or at the given ones."""
        p = np.exp(self.scores - self.log_z)
        ends = range(self.labellings.shape[1]) if tokens is None else tokens
        return float(sum(p[_ends_with(self.labellings, t, string)].sum() for t in ends))

    def expected_match(self, first: int, sets: tuple[frozenset[int], ...]) -> float:
        """Probability that the labels from token `first` on lie in the sets."""
        p = np.exp(self.scores - self.log_z)
        return float(p[lies_in(self.labellings, first, sets)].sum())


def is_feasible(case: Case) -> bool:
    """Every sequence has a permitted labelling."""
    return all(joint_table(single).best > -np.inf for single in case.singles())


def joint_table(case: Case) -> JointTable:
    labellings = all_labellings(len(case.scores), case.n_labels)
    return JointTable(labellings, score_of(case, labellings), case.n_labels)


def central_differences(
    function: Callable[[Floats], float], at: Floats, step: float = 1e-5
) -> Floats:
    """d function / d at, entry by entry."""
    gradient = np.zeros(at.shape)
    for index in np.ndindex(*at.shape):
        moved = np.array(at, np.float64)
        moved[index] = at[index] + step
        above = function(moved)
        moved[index] = at[index] - step
        gradient[index] = (above - function(moved)) / (2 * step)
    return gradient


def relative_error(got: Floats, expected: Floats) -> float:
    """Largest difference, in units of the largest value; values all below 0.1 are compared in units of 0.1."""
    return float(np.abs(got - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 0.1))
