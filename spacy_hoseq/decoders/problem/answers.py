"""What is asked of p(y | x), and what whoever answers has to know.

Marginals are made sparse: the labels that are probable at each token, with their probabilities.

    entries    (t, y) with p(y_t = y | x) >= threshold
    pairs      of entries at neighbouring tokens, with p(y_{t-1} = a, y_t = y | x) >= threshold

A pair is never more probable than either of its labels, so all pairs above the threshold are
between entries. On a trained tagger there is little more than one entry a token, and everything
that is made of marginals costs as little.
"""

from typing import Callable, NamedTuple, Optional, Protocol

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Labels, Mask
from ...errors import Errors
from .layout import check_segments, ranges
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


class Asked(NamedTuple):
    """What of p(y | x) will be wanted beside the best labels: it decides how the batch is summed.

    nodes: the marginals of all labels. continues (L, L) bool: segments of the best labelling, with
    these pairs of labels across which one goes on. probable: labels and pairs with at least this
    probability.

    It is a hint: what was not asked for is answered all the same, by sums of its own.
    """

    nodes: bool = False
    continues: Optional[Mask] = None
    probable: Optional[float] = None

    @property
    def wants_labels_alone(self) -> bool:
        return not self.nodes and self.continues is None and self.probable is None


LABELS_ALONE = Asked()


class Sums(NamedTuple):
    """What a walk adds up. log_z (S,), -inf where there is no path. counts: E[f] of all features,
    or Cov(f, c) with a cost c, in float64."""

    log_z: Floats
    counts: PotentialsGradient


class Factors(NamedTuple):
    """What the probabilities of segments are made of: start (C,): that the first token has its
    label. go_on (M,): the same of all tokens end to end, each given those of the segment before it;
    1 at first ones. stop (C,): that the segment does not go on, given all of it."""

    start: Floats
    go_on: Floats
    stop: Floats

    def product(self, sizes: AnyInts) -> Floats:
        """p(segment) = start * go_on * ... * go_on * stop. sizes (C,). RETURNS (C,)."""
        if not len(sizes):
            return np.zeros(0)
        return np.asarray(
            self.start * np.multiply.reduceat(self.go_on, np.cumsum(sizes) - sizes) * self.stop
        )

    def of_segments(self, first: AnyInts, sizes: AnyInts) -> "Factors":
        """Those of some segments (C,) of a labelling, of one that has them token by token (N,)."""
        go_on = self.go_on[ranges(first, sizes)]
        go_on[np.cumsum(sizes) - sizes] = 1.0
        return Factors(self.start[first], go_on, self.stop[first + sizes - 1])


class Marginals(Protocol):
    """What both `Posterior` and `Answers` know of the distribution p(y | x) = exp(score(x, y)) /
    Z(x) of a batch.

    lengths (S,). log_z (S,) float64: log sum_y exp(score(x, y)). nodes (N, L) float64: p(y_t = y |
    x).
    expected: E[f | x] of all features, summed over the batch where a weight is shared: the gradient
    of sum(log_z) with respect to the potentials.
    """

    @property
    def lengths(self) -> AnyInts: ...

    @property
    def log_z(self) -> Floats: ...

    @property
    def nodes(self) -> Floats: ...

    @property
    def expected(self) -> PotentialsGradient: ...

    def pairs(self, arcs: LabelPairs) -> Floats:
        """p(y_{t-1} = a, y_t = b | x), 0 at the first token of a sequence. RETURNS (A,)."""
        ...

    def probable(self, least: float) -> ProbableLabels:
        """All labels, and pairs of labels, with at least this probability. RAISES ValueError
        [HS027]: `least` is not from 0 to below 1."""
        ...

    def conditional_entropies(self) -> Floats:
        """H(y_t | y_1..y_{t-1}, x) in nats; those of a sequence add up to H(y | x). RETURNS
        (N,)."""
        ...

    def sequence_entropies(self) -> Floats:
        """H(y | x) of each sequence in nats. RETURNS (S,)."""
        ...

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: Optional[LabelPairs] = None,
        d_arcs: Optional[AnyFloats] = None,
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
        ...


class Posterior(Marginals, Protocol):
    """p(y | x) of a batch, as sums over its labellings have found it."""

    def factors(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Optional[Mask]
    ) -> Factors:
        """Of segments that lie within sequences; as `segments`."""
        ...

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        continues: Optional[Mask] = None,
        least: float = 0.0,
    ) -> Floats:
        """The probability that some tokens have these labels, and that what they stand for ends
        there.

            p(y_first..y_last = labels, not continues[y_last, y_{last+1}] | x)

        first, sizes (C,): the tokens of each segment, within one sequence. labels (sum of sizes,):
        theirs, end to end. continues (L, L) bool: pairs of labels across which a segment would go
        on, such as B-NP, I-NP; None = none. least (float): probabilities below it may be 0.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one
        sequence.
        """
        check_segments(first, sizes, self.lengths)
        return self.factors(first, sizes, labels, continues).product(sizes)

    def probable(self, least: float) -> ProbableLabels:
        check_threshold(least)
        return probable_labels(self.nodes, self.lengths, self.pairs, least)


class Together(Protocol):
    """The best labels of a chain, and what was asked for beside them, from one walk. None: it was
    not asked for."""

    @property
    def labels(self) -> Labels: ...

    @property
    def nodes(self) -> Optional[Floats]: ...

    def factors(self, continues: Mask) -> Optional[Factors]:
        """Of the labels, token by token: p(y_t), p(y_t | y_{t-1}) (1 at first tokens), p(it does
        not go on)."""
        ...

    def probable(self, least: float) -> Optional[ProbableLabels]: ...

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        continues: Optional[Mask],
        least: float,
    ) -> Optional[Floats]:
        """As `Posterior.segments`, of segments that lie within sequences."""
        ...


class Answers(Marginals, Protocol):
    """All that can be asked of p(y | x) of a batch. Nothing is computed before it is asked for, and
    then once: the best labels take no sums.

    best (N,) int32: y* = argmax_y score(x, y), as `decode_exact` finds it. is_chain: no feature
    looks at more than two neighbouring labels, so that p(y_t | y_1..y_{t-1}, x) = p(y_t | y_{t-1},
    x). nodes may be in single precision if they were asked for beforehand.
    """

    @property
    def is_chain(self) -> bool: ...

    @property
    def best(self) -> Labels: ...

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: Optional[AnyInts] = None,
        continues: Optional[Mask] = None,
        least: float = 0.0,
    ) -> Floats:
        """As `Posterior.segments`; labels: None = those of the best labelling."""
        ...

    def entropies(self) -> Floats:
        """H(y_t | x) of each token in nats. RETURNS (N,)."""
        p = self.nodes
        return np.asarray(np.maximum(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1), 0.0))


def check_gradient(d_nodes: AnyFloats, shape: "tuple[int, ...]") -> None:
    """RAISES ValueError [HS024]."""
    if d_nodes.shape != shape:
        raise ValueError(Errors.HS024.format(name="d_nodes", got=d_nodes.shape, expected=shape))
