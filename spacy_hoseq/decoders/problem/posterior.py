"""p(y | x) of a batch: what can be computed of it, and probable labels with their probabilities.

Marginals are made sparse: the labels that are probable at each token.

    entries    (t, y) with p(y_t = y | x) >= threshold
    pairs      of entries at neighbouring tokens, with p(y_{t-1} = a, y_t = y | x) >= threshold

A pair is never more probable than either of its labels, so all pairs above the threshold are
between entries. On a trained tagger there is little more than one entry a token, and everything
that is made of marginals costs as little.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors, wrong_value
from .layout import check_segments, ranges, sums_of_sequences
from .potentials import PotentialsGradient


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
        raise wrong_value("threshold", threshold, "0 to below 1")


def is_probable(probabilities: AnyFloats, threshold: float) -> Mask:
    """Compared in single precision, in which they are stored on Docs."""
    reached = probabilities.astype(np.float32) >= np.float32(threshold)
    return np.asarray(reached if threshold else reached & (probabilities > 0), bool)


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


class Sums(NamedTuple):
    """log_z (S,), -inf where there is no path. counts: E[f] of all features, or Cov(f, c) with a
    cost c, in float64."""

    log_z: Floats
    counts: PotentialsGradient


class Posterior(ABC):
    """The distribution p(y | x) = exp(score(x, y)) / Z(x) of a batch.

    lengths (S,). log_z (S,) float64: log sum_y exp(score(x, y)). nodes (N, L) float64: p(y_t = y |
    x). expected: E[f | x] of all features, summed over the batch where a weight is shared: the
    gradient of sum(log_z) with respect to the potentials.
    """

    lengths: AnyInts
    log_z: Floats

    @property
    @abstractmethod
    def nodes(self) -> Floats: ...

    @property
    @abstractmethod
    def expected(self) -> PotentialsGradient: ...

    @abstractmethod
    def pairs(self, arcs: LabelPairs) -> Floats:
        """p(y_{t-1} = a, y_t = b | x), 0 at the first token of a sequence. RETURNS (A,)."""

    def segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Mask | None = None
    ) -> Floats:
        """The probability that some tokens have these labels, and that what they stand for ends
        there.

            p(y_first..y_last = labels, not continues[y_last, y_{last+1}] | x)

        first, sizes (C,): the tokens of each segment, within one sequence. labels (sum of sizes,):
        theirs, end to end. continues (L, L) bool: pairs of labels across which a segment would go
        on, such as B-NP, I-NP; None = none. RETURNS (C,). RAISES ValueError [HS027]: a segment that
        is empty, or not within one sequence.
        """
        check_segments(first, sizes, self.lengths)
        return self._segments(first, sizes, labels, continues)

    def probable(self, least: float) -> ProbableLabels:
        """All labels, and pairs of labels, with at least this probability. RAISES ValueError
        [HS027]: `least` is not from 0 to below 1."""
        check_threshold(least)
        tokens, labels = np.nonzero(is_probable(self.nodes, least))
        earlier, later = neighbours(tokens, self.lengths)
        pairs = self.pairs(LabelPairs(tokens[later], labels[earlier], labels[later]))
        stays = is_probable(pairs, least)
        p = self.nodes[tokens, labels]
        return ProbableLabels(tokens, labels, p, earlier[stays], later[stays], pairs[stays])

    def entropies(self) -> Floats:
        """H(y_t | x) of each token in nats. RETURNS (N,)."""
        p = self.nodes
        return np.asarray(np.maximum(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1), 0.0))

    @abstractmethod
    def conditional_entropies(self) -> Floats:
        """H(y_t | y_1..y_{t-1}, x) in nats; those of a sequence add up to H(y | x). RETURNS
        (N,)."""

    def sequence_entropies(self) -> Floats:
        """H(y | x) of each sequence in nats. RETURNS (S,)."""
        return sums_of_sequences(self.conditional_entropies(), self.lengths)

    @abstractmethod
    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: LabelPairs | None = None,
        d_arcs: AnyFloats | None = None,
    ) -> PotentialsGradient:
        """The gradient of a loss, given its gradient with respect to `nodes` (N, L), and to some
        `pairs` (A,).

        They make up a cost of each labelling, c(y) = sum_t d_nodes[t, y_t] + sum over the arcs on y
        of d_arcs, and for every parameter with feature f

            d loss / d theta = sum_i c_i d E[f_i] / d theta = Cov(f, c) = E[f c] - E[f] E[c]

        (Azuma & Matsumoto 2011, equations 17 and 18; their Algorithm 2 computes something else as
        it is printed, which a test shows). RETURNS (PotentialsGradient): scores in the type of
        d_nodes. RAISES ValueError [HS024]: the shape of d_nodes.
        """

    @abstractmethod
    def _segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Mask | None
    ) -> Floats:
        """As `segments`, of segments that lie within sequences."""


def check_gradient(d_nodes: AnyFloats, shape: "tuple[int, ...]") -> None:
    """RAISES ValueError [HS024]."""
    if d_nodes.shape != shape:
        raise ValueError(Errors.HS024.format(name="d_nodes", got=d_nodes.shape, expected=shape))
