"""Answers of a batch whose labels and sums are found apart, each when it is asked for."""

from functools import cached_property
from typing import Optional

from ...arrays import AnyFloats, AnyInts, Floats, Labels, Mask
from ..exact import checked_labels
from ..problem import Answers, Arcs, Posterior, Potentials, PotentialsGradient, ProbableLabels, Tuning, ranges
from .profile import Profile
from .sums import checked_posterior


class SummedAnswers(Answers):
    """potentials: checked. Kernels that find labels and probabilities together override what they know."""

    def __init__(self, potentials: Potentials, profile: Profile, tuning: Tuning) -> None:
        self._potentials = potentials
        self._profile = profile
        self._tuning = tuning

    @property
    def lengths(self) -> AnyInts:
        return self._potentials.lengths

    @property
    def is_chain(self) -> bool:
        return self._profile.is_chain

    @cached_property
    def best(self) -> Labels:
        return checked_labels(self._potentials, self._tuning)

    @cached_property
    def _posterior(self) -> Posterior:
        """The sums of the whole batch, kept."""
        return checked_posterior(self._potentials, self._tuning)

    @property
    def log_z(self) -> Floats:
        return self._posterior.log_z

    @cached_property
    def nodes(self) -> Floats:
        return self._posterior.nodes

    @property
    def expected(self) -> PotentialsGradient:
        return self._posterior.expected

    def pairs(self, arcs: Arcs) -> Floats:
        return self._posterior.pairs(arcs)

    def segments(
        self, first: AnyInts, sizes: AnyInts, labels: Optional[AnyInts] = None, continues: Optional[Mask] = None
    ) -> Floats:
        of_segments = self.best[ranges(first, sizes)] if labels is None else labels
        return self._posterior.segments(first, sizes, of_segments, continues)

    def probable(self, least: float) -> ProbableLabels:
        return self._posterior.probable(least)

    def conditional_entropies(self) -> Floats:
        return self._posterior.conditional_entropies()

    def sequence_entropies(self) -> Floats:
        return self._posterior.sequence_entropies()

    def backprop(
        self, d_nodes: AnyFloats, arcs: Optional[Arcs] = None, d_arcs: Optional[AnyFloats] = None
    ) -> PotentialsGradient:
        return self._posterior.backprop(d_nodes, arcs, d_arcs)
