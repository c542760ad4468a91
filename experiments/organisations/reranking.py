"""A log-linear reranker of lists of labellings (Collins 2002b; Collins & Koo 2005, section 3.2).

    score(y) = w_0 log p(y) + sum_i w_i f_i(y)

w maximises sum over lists of log p(best labellings | list) - penalty / 2 |w - (1, 0, .., 0)|^2, where the best
labellings of a list are those of highest F, and p(. | list) is proportional to exp(score).
"""

import bisect
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MANY_FEATURES = (*PENALTIES, 100.0, 300.0)  # where there are more features than lists
STEPS, STEP = 200, 0.3  # of AdaGrad over all lists at once
HELD = 5  # every fifth list tells which penalty is best
Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Entity = tuple[int, int, str]


class Candidate(NamedTuple):
    """entities: found by it. log_p: its log probability but for a constant. features: numbers of those that match it,
    with repetitions, in one or several arrays; an array that candidates share is counted once for all of them."""

    entities: set[Entity]
    log_p: float
    features: Sequence[Ints]


class Lists(NamedTuple):
    """All candidates end to end. starts (S,): first of each list. log_p (C,). rows, arrays (R,): a candidate and an
    array of features that it has. arrays_of, features (M,): an array and the number of a feature in it. counts (C, 3):
    entities that are right, found, gold. best (C,) bool: of the highest F in its list."""

    starts: Ints
    log_p: Floats
    rows: Ints
    arrays: Ints
    arrays_of: Ints
    features: Ints
    counts: Floats
    best: NDArray[np.bool_]

    @property
    def n_arrays(self) -> int:
        return 1 + int(self.arrays.max(initial=-1))

    def first_best(self, scores: Floats) -> Ints:
        """The candidate of highest score of each list, the first of equals. RETURNS (S,)."""
        top = np.flatnonzero(scores == self._spread(np.maximum.reduceat(scores, self.starts)))
        return top[np.unique(np.searchsorted(self.starts, top, side="right"), return_index=True)[1]]

    def shares(self, scores: Floats) -> Floats:
        """Probability of each candidate within its list (C,)."""
        weights = np.exp(scores - self._spread(np.maximum.reduceat(scores, self.starts)))
        return np.asarray(weights / self._spread(np.add.reduceat(weights, self.starts)))

    def f(self, scores: Floats) -> float:
        """F of the candidates that are chosen."""
        right, guess, gold = self.counts[self.first_best(scores)].sum(axis=0)
        return float(2 * right / max(1, guess + gold))

    def oracle(self) -> float:
        """F of the best candidates of all lists."""
        return self.f(self.best.astype(float))

    def _spread(self, of_lists: Floats) -> Floats:
        return np.repeat(of_lists, np.diff(np.append(self.starts, len(self.log_p))))


def probabilities(candidates: Sequence[Candidate], shares: Floats) -> dict[Entity, float]:
    """Of each entity that a candidate of one list has: the sum of the shares of those that have it.

        p(entity | list) = sum over candidates y with the entity of p(y | list)

    shares (len(candidates),): p(y | list).
    """
    result: dict[Entity, float] = {}
    for candidate, share in zip(candidates, shares.tolist(), strict=True):
        for entity in candidate.entities:
            result[entity] = result.get(entity, 0.0) + share
    return result


def expected(probable: dict[Entity, float], threshold: float) -> set[Entity]:
    """Entities that do not overlap and whose sum of (p - threshold) is largest: what `span_threshold` of a chunker
    takes. One that ends first is preferred among equal sums."""
    spans = sorted(
        (e for e, p in probable.items() if p > threshold), key=lambda e: (e[1], e[0], e[2])
    )
    ends = [0, *(end for _, end, _ in spans)]
    sums = [0.0]
    taken: list[set[Entity]] = [set()]
    for number, entity in enumerate(spans):
        before = bisect.bisect_right(ends, entity[0], hi=number + 1) - 1
        with_it = sums[before] + probable[entity] - threshold
        better = with_it > sums[-1]
        taken.append(taken[before] | {entity} if better else taken[-1])
        sums.append(with_it if better else sums[-1])
    return taken[-1]


def lists_of(
    candidates: Sequence[Sequence[Candidate]], gold: Sequence[set[Entity]], label: str
) -> Lists:
    """gold: the entities of each sentence. label (str): the type that counts."""
    every = [candidate for some in candidates for candidate in some]
    sizes = np.array([len(some) for some in candidates])
    starts = np.cumsum(sizes) - sizes
    paired = (
        (c.entities, right) for some, right in zip(candidates, gold, strict=True) for c in some
    )
    pairs = [(_of(guess, label), _of(right, label)) for guess, right in paired]
    counts = np.array([(len(a & b), len(a), len(b)) for a, b in pairs], float)
    total = counts[:, 1] + counts[:, 2]
    f = np.where(
        total > 0, 2 * counts[:, 0] / np.maximum(total, 1), 1.0
    )  # nothing to be found, and nothing is
    best = f >= np.repeat(np.maximum.reduceat(f, starts), sizes)
    rows = np.repeat(np.arange(len(every)), [len(candidate.features) for candidate in every])
    each = {id(array): array for candidate in every for array in candidate.features}
    places = {key: place for place, key in enumerate(each)}
    arrays = np.array(
        [places[id(array)] for candidate in every for array in candidate.features], np.intp
    )
    arrays_of = np.repeat(np.arange(len(each)), [len(array) for array in each.values()])
    features = np.concatenate([np.zeros(0, np.intp), *each.values()]).astype(np.intp)
    log_p = np.array([candidate.log_p for candidate in every])
    return Lists(starts, log_p, rows, arrays, arrays_of, features, counts, best)


def tuned(
    candidates: Sequence[Sequence[Candidate]],
    gold: Sequence[set[Entity]],
    label: str,
    n_features: int,
    penalties: Sequence[float] = PENALTIES,
) -> tuple[Floats, float]:
    """Weights (1 + n_features,), that of log p first, and the penalty that was best on every fifth list."""
    parts: list[Lists] = []
    for held in (False, True):
        which = [i for i in range(len(candidates)) if (i % HELD == 0) == held]
        parts.append(lists_of([candidates[i] for i in which], [gold[i] for i in which], label))
    train, held_out = parts
    f = [held_out.f(scored(held_out, fitted(train, n_features, penalty))) for penalty in penalties]
    best = penalties[int(np.argmax(f))]
    return fitted(lists_of(candidates, gold, label), n_features, best), best


def fitted(lists: Lists, n_features: int, penalty: float) -> Floats:
    start = np.zeros(1 + n_features)
    start[0] = 1.0
    weights, memory = start.copy(), np.full(1 + n_features, 1e-6)
    for _ in range(STEPS):
        gradient = _gradient(lists, weights) + penalty * (weights - start)
        memory += gradient**2
        weights = weights - STEP * gradient / np.sqrt(memory)
    return weights


def scored(lists: Lists, weights: Floats) -> Floats:
    """RETURNS (C,)."""
    of_arrays = np.bincount(lists.arrays_of, weights[1:][lists.features], minlength=lists.n_arrays)
    matched = np.bincount(lists.rows, of_arrays[lists.arrays], minlength=len(lists.log_p))
    return np.asarray(weights[0] * lists.log_p + matched)


def _gradient(lists: Lists, weights: Floats) -> Floats:
    """Of the negative log-likelihood: expected features less those expected among the best."""
    scores = scored(lists, weights)
    surplus = lists.shares(scores) - lists.shares(np.where(lists.best, scores, -np.inf))
    of_arrays = np.bincount(lists.arrays, surplus[lists.rows], minlength=lists.n_arrays)
    of_features = np.bincount(
        lists.features, of_arrays[lists.arrays_of], minlength=len(weights) - 1
    )
    return np.concatenate([[surplus @ lists.log_p], of_features])


def _of(entities: set[Entity], label: str) -> set[Entity]:
    return {entity for entity in entities if entity[2] == label}
