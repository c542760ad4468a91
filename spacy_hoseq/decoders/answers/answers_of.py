"""The front door to p(y | x): one function, one kind of answers, whatever algorithm finds them
(`kernels.py`)."""

from functools import cached_property
from typing import List, Optional

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Labels, Mask
from ..problem import (
    TUNING,
    Answers,
    Asked,
    LabelPairs,
    Posterior,
    Potentials,
    PotentialsGradient,
    ProbableLabels,
    Profile,
    Together,
    Tuning,
    check_segments,
    check_threshold,
    ranges,
)
from .kernels import LABELS, SUMS, TOGETHER, Request, first_result, required

BEST_LABELS = Asked()  # nothing else


def answers_of(
    potentials: Potentials, asked: Asked = BEST_LABELS, *, tuning: Tuning = TUNING
) -> Answers:
    """Labels, log Z, marginals, expected counts, segments, entropies and gradients of p(y | x) =
    exp(score(x, y)) / Z(x), for a batch; each when it is asked for.

    asked: what will be wanted beside the best labels, so that it is found together with them.
    RAISES ValueError [HS020-HS022, HS024, HS025, HS036, HS037]; [HS027]: the threshold. When labels
    or sums are asked
    for: [HS023]: a sequence has no path; [HS038]: as configurations; [HS097]: scores so large that
    float64 does not tell labellings apart.
    """
    potentials.check()
    if asked.probable is not None:
        check_threshold(asked.probable)
    return _Answers(Request(potentials, Profile.of(potentials), asked, tuning))


class _Answers(Answers):
    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def lengths(self) -> AnyInts:
        return self._request.potentials.lengths

    @property
    def is_chain(self) -> bool:
        return self._request.profile.is_chain

    @cached_property
    def _together(self) -> Optional[Together]:
        """Labels and what was asked for beside them, if one walk finds both."""
        return None if self._request.asked is BEST_LABELS else first_result(TOGETHER, self._request)

    @cached_property
    def _posterior(self) -> Posterior:
        """The sums of the whole batch, kept."""
        return required(SUMS, self._request)

    @cached_property
    def best(self) -> Labels:
        return best_labels(self._request) if self._together is None else self._together.labels

    @property
    def log_z(self) -> Floats:
        return self._posterior.log_z

    @cached_property
    def nodes(self) -> Floats:
        nodes = None if self._together is None else self._together.nodes
        return self._posterior.nodes if nodes is None else nodes

    @property
    def expected(self) -> PotentialsGradient:
        return self._posterior.expected

    def pairs(self, arcs: LabelPairs) -> Floats:
        return self._posterior.pairs(arcs)

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: Optional[AnyInts] = None,
        continues: Optional[Mask] = None,
    ) -> Floats:
        if labels is not None:
            return self._posterior.segments(first, sizes, labels, continues)
        factors = None
        if continues is not None and self._together is not None:
            factors = self._together.factors(continues)
        if factors is None:
            return self._posterior.segments(
                first, sizes, self.best[ranges(first, sizes)], continues
            )
        check_segments(first, sizes, self.lengths)
        return factors.of_segments(first, sizes).product(sizes)

    def probable(self, least: float) -> ProbableLabels:
        check_threshold(least)
        probable = None if self._together is None else self._together.probable(least)
        return self._posterior.probable(least) if probable is None else probable

    def conditional_entropies(self) -> Floats:
        return self._posterior.conditional_entropies()

    def sequence_entropies(self) -> Floats:
        return self._posterior.sequence_entropies()

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: Optional[LabelPairs] = None,
        d_arcs: Optional[AnyFloats] = None,
    ) -> PotentialsGradient:
        return self._posterior.backprop(d_nodes, arcs, d_arcs)


def best_labels(request: Request) -> Labels:
    """y* = argmax_y score(x, y) (N,): of each sequence by its own features and their signs, so that
    ties do not depend on others. RAISES ValueError [HS023, HS038]."""
    potentials = request.potentials
    groups = _groups(potentials)
    if len(groups) == 1 and potentials.configurations is None:
        return required(LABELS, request)
    labels = np.zeros(len(potentials.scores), np.int32)
    for sequences in groups:
        part = potentials.select(sequences)
        with part.numbered() as some:
            paying = _without_zeros(some)
            labels[part.tokens] = required(
                LABELS, request._replace(potentials=paying, profile=Profile.of(paying))
            )
    return labels


def _groups(potentials: Potentials) -> List[Ints]:
    """Sequences in which nothing negative fires, something does, configurations do; those that
    there are."""
    fired = potentials.fired
    configurations = potentials.configurations
    everywhere = potentials.weights.some_are_negative
    fires_negative = not everywhere and fired is not None and fired.weights.min(initial=0.0) < 0
    if configurations is None and not fires_negative:
        return [np.arange(len(potentials.lengths))]
    ends = np.cumsum(potentials.lengths)
    kind = np.zeros(len(ends), np.intp)
    if fired is not None and fires_negative:
        kind[np.searchsorted(ends, fired.tokens[fired.weights < 0], side="right")] = 1
    if configurations is not None:
        first = configurations.first[configurations.weights != 0]
        kind[np.searchsorted(ends, first, side="right")] = 2
    groups = [np.flatnonzero(kind == i) for i in range(3)]
    return [sequences for sequences in groups if len(sequences)]


def _without_zeros(potentials: Potentials) -> Potentials:
    """Without the configurations that pay nothing: their states would be made in vain."""
    configurations = potentials.configurations
    if configurations is None:
        return potentials
    paying = np.flatnonzero(configurations.weights)
    some = configurations.chosen(paying, np.zeros_like(paying)) if len(paying) else None
    return potentials._replace(configurations=some)
