"""What every p(y | x) answers, whatever sums have found it."""

from typing import NamedTuple, Optional, Protocol

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors
from .layout import check_segments
from .potentials import PotentialsGradient


class Arcs(NamedTuple):
    """Pairs of labels at neighbouring tokens. tokens (A,): of the later label. earlier, later (A,): the labels."""

    tokens: Ints
    earlier: Ints
    later: Ints


class Sums(NamedTuple):
    """What a walk adds up. log_z (S,), -inf where there is no path. counts: E[f] of all features, or Cov(f, c) with a
    cost c, in float64."""

    log_z: Floats
    counts: PotentialsGradient


class Factors(NamedTuple):
    """What the probabilities of segments are made of: start (C,): that the first token has its label. go_on (M,): the
    same of all tokens end to end, each given those of the segment before it; 1 at first ones. stop (C,): that the
    segment does not go on, given all of it."""

    start: Floats
    go_on: Floats
    stop: Floats

    def product(self, sizes: AnyInts) -> Floats:
        """p(segment) = start * go_on * ... * go_on * stop. sizes (C,). RETURNS (C,)."""
        if not len(sizes):
            return np.zeros(0)
        return np.asarray(self.start * np.multiply.reduceat(self.go_on, np.cumsum(sizes) - sizes) * self.stop)


class Posterior(Protocol):
    """The distribution p(y | x) = exp(score(x, y)) / Z(x) of a batch, for whoever asks for some of its probabilities.

    lengths (S,). log_z (S,) float64: log sum_y exp(score(x, y)). nodes (N, L) float64: p(y_t = y | x).
    expected: E[f | x] of all features, summed over the batch where a weight is shared: the gradient of sum(log_z) with
    respect to the potentials.
    """

    @property
    def lengths(self) -> AnyInts: ...

    @property
    def log_z(self) -> Floats: ...

    @property
    def nodes(self) -> Floats: ...

    @property
    def expected(self) -> PotentialsGradient: ...

    def pairs(self, arcs: Arcs) -> Floats:
        """p(y_{t-1} = a, y_t = b | x), 0 at the first token of a sequence. RETURNS (A,)."""
        ...

    def factors(self, first: AnyInts, sizes: AnyInts, labels: AnyInts, goes_on: Optional[Mask]) -> Factors:
        """Of segments that lie within sequences; as `segments`."""
        ...

    def backprop(
        self, d_nodes: AnyFloats, arcs: Optional[Arcs] = None, d_arcs: Optional[AnyFloats] = None
    ) -> PotentialsGradient:
        """The gradient of a loss, given its gradient with respect to `nodes` (N, L), and to some `pairs` (A,).

        They make up a cost of each labelling, c(y) = sum_t d_nodes[t, y_t] + sum over the arcs on y of d_arcs, and for
        every parameter with feature f

            d loss / d theta = sum_i c_i d E[f_i] / d theta = Cov(f, c) = E[f c] - E[f] E[c]

        (Azuma & Matsumoto 2011, equations 17 and 18; their Algorithm 2 computes something else as it is printed, which
        a test shows). RETURNS (PotentialsGradient): scores in the type of d_nodes. RAISES ValueError [HS024]: the shape
        of d_nodes.
        """
        ...

    def segments(self, first: AnyInts, sizes: AnyInts, labels: AnyInts, goes_on: Optional[Mask] = None) -> Floats:
        """The probability that some tokens have these labels, and that what they stand for ends there.

            p(y_first..y_last = labels, not goes_on[y_last, y_{last+1}] | x)

        first, sizes (C,): the tokens of each segment, within one sequence. labels (sum of sizes,): theirs, end to end.
        goes_on (L, L) bool: pairs of labels across which a segment would go on, such as B-NP, I-NP; None = none.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one sequence.
        """
        check_segments(first, sizes, self.lengths)
        return self.factors(first, sizes, labels, goes_on).product(sizes)


def check_gradient(d_nodes: AnyFloats, shape: "tuple[int, ...]") -> None:
    """RAISES ValueError [HS024]."""
    if d_nodes.shape != shape:
        raise ValueError(Errors.HS024.format(name="d_nodes", got=d_nodes.shape, expected=shape))
