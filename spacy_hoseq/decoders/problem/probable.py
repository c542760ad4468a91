"""The labels that are probable at each token, with their probabilities: marginals made sparse.

    entries    (t, y) with p(y_t = y | x) >= threshold
    pairs      of entries at neighbouring tokens, with p(y_{t-1} = a, y_t = y | x) >= threshold

A pair is never more probable than either of its labels, so all pairs above the threshold are
between entries. On a trained tagger there is little more than one entry a token, and everything
that is made of marginals costs as little.
"""

from typing import Callable, NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors
from .layout import ranges


class LabelPairs(NamedTuple):
    """Pairs of labels at neighbouring tokens. tokens (A,): of the later label. earlier, later (A,):
    the labels."""

    tokens: Ints
    earlier: Ints
    later: Ints


class ProbableLabels(NamedTuple):
    """tokens, labels (E,), probabilities (E,): entries, by token, then by label. earlier, later
    (A,): the entries of each pair, by the later one. pairs (A,): its probability."""

    tokens: Ints
    labels: Ints
    probabilities: Floats
    earlier: Ints
    later: Ints
    pairs: Floats

    @property
    def arcs(self) -> LabelPairs:
        """The pairs by token and labels."""
        return LabelPairs(
            self.tokens[self.later], self.labels[self.earlier], self.labels[self.later]
        )


def probable_labels(
    nodes: Floats, lengths: AnyInts, pairs_of: Callable[[LabelPairs], Floats], threshold: float
) -> ProbableLabels:
    """Entries and pairs of a batch. nodes (N, L): marginals, and `pairs_of` those of pairs.
    threshold (float): 0 = all that are not impossible."""
    tokens, labels = np.nonzero(reach(nodes, threshold))
    earlier, later = neighbours(tokens, lengths)
    pairs = pairs_of(LabelPairs(tokens[later], labels[earlier], labels[later]))
    kept = reach(pairs, threshold)
    return ProbableLabels(
        tokens, labels, nodes[tokens, labels], earlier[kept], later[kept], pairs[kept]
    )


def certain_labels(labels: AnyInts, lengths: AnyInts) -> ProbableLabels:
    """One labelling, with probability 1. labels (N,): -1 = none at this token."""
    tokens = np.flatnonzero(labels >= 0)
    earlier, later = neighbours(tokens, lengths)
    return ProbableLabels(
        tokens,
        labels[tokens].astype(np.intp),
        np.ones(len(tokens)),
        earlier,
        later,
        np.ones(len(later)),
    )


def check_threshold(threshold: float) -> None:
    """RAISES ValueError [HS027]: not from 0 to below 1."""
    if not 0 <= threshold < 1:
        raise ValueError(
            Errors.HS027.format(
                name="threshold", decoder="marginals", value=threshold, expected="0 to below 1"
            )
        )


def reach(probabilities: AnyFloats, threshold: float) -> Mask:
    """Compared in single precision, in which they are kept on Docs."""
    reached = probabilities.astype(np.float32) >= np.float32(threshold)
    return np.asarray(reached if threshold else reached & (probabilities > 0), bool)


def least_reaching(threshold: float) -> float:
    """What is less does not `reach` the threshold; some that is not less does not, either."""
    return float(np.float32(threshold)) * (1 - 1e-6) if threshold else float(np.nextafter(0.0, 1.0))


def neighbours(tokens: Ints, lengths: AnyInts) -> "tuple[Ints, Ints]":
    """All pairs of entries at neighbouring tokens of one sequence. tokens (E,): of the entries."""
    n_tokens = int(np.sum(lengths))
    counts = np.bincount(tokens, minlength=n_tokens)
    counts_before = np.zeros(n_tokens, np.intp)
    starts_before = np.zeros(n_tokens, np.intp)
    counts_before[1:] = counts[:-1]
    starts_before[1:] = (np.cumsum(counts) - counts)[:-1]
    counts_before[(np.cumsum(lengths) - lengths)] = 0
    sizes = counts_before[tokens]
    return ranges(starts_before[tokens], sizes), np.repeat(np.arange(len(tokens)), sizes)
