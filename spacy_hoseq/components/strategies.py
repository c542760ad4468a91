"""The strategies of bidirectional inference by name, and what they decide of a batch."""

from functools import cached_property
from typing import Optional, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Floats, Labels, Mask
from ..decoders.bidirectional.decompositions import (
    check_prune,
    classifiers_of,
    decode_decompositions,
)
from ..decoders.bidirectional.easiest_first import EasiestPath, decision_order, decode_easiest_first
from ..decoders.bidirectional.local import LocalScores
from ..errors import Errors
from ..features.sequences import sequence_lengths
from .reading import LabelsAlone, Reading

GREEDY = ("easiest_first", "easiest_last")


class Decisions(LabelsAlone):
    """What a greedy strategy decided, token by token.

    best (N,): labels by id. probabilities (N,): how probable each was when it was decided, given
    the neighbours that were decided before.
    """

    def __init__(self, path: EasiestPath, *, hardest: bool, name: str) -> None:
        super().__init__(path.labels, name, "labels are decided one by one")
        self.path = path
        self.hardest = hardest

    @cached_property
    def probabilities(self) -> Floats:
        return np.exp(self.path.log_probabilities)

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """When each word was decided (N,), 1 = first of its sentence."""
        return decision_order(self.path, hardest=self.hardest)


class DecidedReading(Reading):
    """What a bidirectional tagger made of some Docs. posterior: `Decisions`, or of strategies
    that are not greedy `LabelsAlone`."""

    def confidences(self) -> Floats:
        """As `Reading` has it: the probability of each decision, when it was made."""
        return self.posterior.probabilities


def check_strategy(strategy: str, order: int, prune: float, *, with_order: bool) -> None:
    """RAISES ValueError [HS027]: `prune`; [HS092]: no such strategy; [HS096]: it has no order of
    decisions."""
    check_prune(prune, strategy)
    classifiers_of(strategy, order, prune)
    if with_order and strategy not in GREEDY:
        raise ValueError(Errors.HS096.format(strategy=strategy))


def decided(
    local: LocalScores,
    docs: Sequence[Doc],
    strategy: str,
    order: int,
    *,
    prune: float,
    allowed: Optional[Mask],
    name: str,
) -> LabelsAlone:
    """The labels of docs without white space, and how they were found. name: of the component, for
    messages."""
    lengths = sequence_lengths(docs)
    if strategy in GREEDY:
        hardest = strategy == "easiest_last"
        path = decode_easiest_first(local, lengths, order, allowed=allowed, hardest=hardest)
        return Decisions(path, hardest=hardest, name=name)
    paths = decode_decompositions(local, lengths, order, strategy, prune=prune, allowed=allowed)
    return labels_of(paths.labels, strategy, name)


def nothing_decided(strategy: str, name: str) -> LabelsAlone:
    """Of docs that are all empty."""
    labels = np.zeros(0, np.int32)
    if strategy in GREEDY:
        return Decisions(
            EasiestPath(labels, np.zeros(0), np.zeros(0, np.intp)), hardest=False, name=name
        )
    return labels_of(labels, strategy, name)


def labels_of(labels: Labels, strategy: str, name: str) -> LabelsAlone:
    return LabelsAlone(labels, name, f'the strategy "{strategy}" has no probability of each label')
