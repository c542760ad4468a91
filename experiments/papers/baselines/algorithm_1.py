"""Algorithm 1 of Qian & Liu ("Sequence Labeling with Non-Negative Weighted Higher Order Features"),
as printed.

Here for comparison. It is NOT exact: a pattern that is a subsequence both of z^j and of z^j's
pre-sequence z^i is counted twice, since step 8 adds it to both; and the partial scores that step 26
compares lack it. The test tests/experiments/test_papers.py has a case with a wrong
score and one with wrong labels. Its time is quadratic in the patterns. `decode_exact` has what is exact
and linear.

Two readings of the print: step 1 compares i < j, so that of two patterns with the same end the
shorter must come first for step 4 to find it; and the second line of step 26 means y*[z_{s_i:t-1}]
+ z_t, as case (i) of the text says.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.util import registry

from spacy_hoseq.decoders.choice import Decoder
from spacy_hoseq.decoders.problem import NoPath, Paths, Potentials, path_score

from .instances import Instances, make_instances, refuse_others


class Partial(NamedTuple):
    """A partial label sequence: its score, its last label, and what came before."""

    score: float
    label: int
    before: "Partial | None"


@registry.misc("spacy_hoseq.algorithm_1_decoder.v1")
def algorithm_1_decoder() -> Decoder:
    return algorithm_1


def algorithm_1(potentials: Potentials) -> Paths:
    """The label sequences that Algorithm 1 finds, one sequence after the other.

    Aims to maximise the objective of `decode_nonnegative`. RETURNS (Paths): true scores of the
    labellings found, not those that the algorithm computes (`search` has them).
    RAISES ValueError [HS020-HS027], a negative weight; and general configurations, or scores of label pairs.

    Time O(M^2 + T L^2) for a sequence with M patterns written out at their positions.
    """
    refuse_others(potentials, "algorithm_1_decoder")
    fired = potentials.fired
    if potentials.weights.some_are_negative or (
        fired is not None and fired.weights.min(initial=0.0) < 0
    ):
        raise ValueError("Algorithm 1 needs pattern weights that are not negative.")
    parts = [np.zeros(0, np.int32)]
    for i, part in enumerate(potentials.check().one_by_one()):
        best = search(part.potentials)
        if best.score == -np.inf:
            raise NoPath(i)
        parts.append(_labels(best))
    labels = np.concatenate(parts)
    return Paths(labels, path_score(potentials, labels))


def search(one: Potentials) -> Partial:
    """Algorithm 1 for one sequence, checked. RETURNS the best y*[y_T] with the score that the
    algorithm gives it."""
    # long: Algorithm 1 as it is printed, step by step
    n_tokens, n_labels = one.scores.shape
    z = _Patterns(make_instances(one))
    emissions = one.scores.astype(np.float64)
    if one.allowed is not None:
        emissions = np.where(one.allowed, emissions, -np.inf)
    trans = one.weights.precise_trans

    def extended(partial: Partial, label: int, t: int, phi: float = 0.0) -> Partial:
        cost = trans[partial.label, label] + emissions[t, label]  # cost(x, y_{t-1:t})
        return Partial(float(partial.score + cost + phi), label, partial)

    best = [Partial(float(score), y, None) for y, score in enumerate(emissions[0])]  # y*[y_t]
    begun = {i: best[z.label(i, 0)] for i in z.starting(0)}  # y*[z^i_{s_i:t}], s_i <= t < t_i
    for t in range(1, n_tokens):
        now = []
        for y in range(n_labels):  # steps 11-12
            a = int(np.argmax([partial.score + trans[partial.label, y] for partial in best]))
            now.append(extended(best[a], y, t))
        for i in z.ending(t):  # steps 13-18
            candidate = extended(begun[i], z.label(i, t), t, z.phi[i])
            if now[candidate.label].score < candidate.score:
                now[candidate.label] = candidate
        later = {}
        for i in begun:  # steps 20-27
            if z.last[i] <= t:
                continue
            later[i] = extended(begun[i], z.label(i, t), t)
            q = [extended(begun[j], z.label(j, t), t, z.phi[j]) for j in z.pre[i] if z.last[j] == t]
            k = max(q, key=lambda partial: partial.score, default=later[i])
            if k.score > later[i].score:
                later[i] = k
        begun = later
        best = now
        begun.update({i: best[z.label(i, t)] for i in z.starting(t)})
    return max(best, key=lambda partial: partial.score)


class _Patterns:
    """Patterns z^i_{s_i:t_i} by number, with their pre-sequences P_i and scores phi_i (steps
    0-8)."""

    def __init__(self, instances: Instances) -> None:
        # by end; of the same end the shorter first
        order = np.lexsort((instances.sizes, instances.last))
        self.last = instances.last[order]
        self.first = self.last - instances.sizes[order] + 1
        self._labels = [
            instances.labels[start : start + size].tolist()
            for start, size in zip(instances.starts[order], instances.sizes[order], strict=True)
        ]
        n = len(order)
        n_tokens = int(self.last.max(initial=0)) + 1
        grid = np.full((n, n_tokens), -1)  # label of pattern i at token t
        for i, labels in enumerate(self._labels):
            grid[i, self.first[i] : self.last[i] + 1] = labels
        weights = instances.weights[order]
        self.phi = weights.copy()
        self.pre: list[list[int]] = []
        for j in range(n):  # steps 1-7, all i < j at once
            s = self.first[:j]
            t = self.last[:j]
            # wherever both are
            agree = ((grid[:j] == grid[j]) | (grid[:j] < 0) | (grid[j] < 0)).all(axis=1)
            pre = agree & (s < self.first[j]) & (self.first[j] < t) & (t < self.last[j])
            sub = agree & (self.first[j] <= s) & (t <= self.last[j])
            self.pre.append(np.flatnonzero(pre).tolist())
            self.phi[j] += weights[:j][sub].sum()  # step 8

    def label(self, i: int, t: int) -> int:
        """z^i_t."""
        return int(self._labels[i][t - self.first[i]])

    def starting(self, t: int) -> list[int]:
        numbers: list[int] = np.flatnonzero(self.first == t).tolist()
        return numbers

    def ending(self, t: int) -> list[int]:
        numbers: list[int] = np.flatnonzero(self.last == t).tolist()
        return numbers


def _labels(partial: Partial) -> NDArray[np.int32]:
    labels = []
    at: Partial | None = partial
    while at is not None:
        labels.append(at.label)
        at = at.before
    return np.array(labels[::-1], np.int32)
