"""Everything a batch is decoded from, and the gradient of a loss with respect to it."""

from typing import Iterator, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, Floats, Floats32, Ints, Mask
from ...errors import Errors
from ..pruning.limits import Limits
from .configurations import Configurations
from .layout import ranges
from .trie import PatternScores


class OneSequence(NamedTuple):
    """One sequence of a batch. scores (T, L), trans (L, L), allowed (T, L) bool or None; features as in `Potentials`.

    entries: which of the batch's fired patterns, and which of its configurations, these are.
    """

    scores: Floats32
    trans: AnyFloats
    patterns: Optional[PatternScores]
    configurations: Optional[Configurations]
    allowed: Optional[Mask]
    entries: Tuple[Ints, Ints]


class Potentials(NamedTuple):
    """The terms of score(x, y) for all sequences of a batch.

    scores (N, L) float32: emissions. trans (L, L): first index is the earlier token. lengths (S,) int.
    patterns: higher-order features of single labels, None for a plain chain. configurations: those with label sets and
    gaps, None if there are none. edge_scores (N, L, L): what the text says of pairs of labels, the one before each
    token and the one at it, on top of trans; None if nothing. limits: what pruning has found out about trans and the
    weights of the patterns in other batches; None where weights change. It is used only with the very arrays it
    belongs to. allowed (N, L): labels permitted at each token; None = all.
    """

    scores: Floats32
    trans: AnyFloats
    lengths: NDArray[np.int32]
    patterns: Optional[PatternScores] = None
    configurations: Optional[Configurations] = None
    edge_scores: Optional[AnyFloats] = None
    limits: Optional[Limits] = None
    allowed: Optional[Mask] = None

    def refuse_configurations(self, decoder: str) -> None:
        """For decoders that cannot use them. RAISES ValueError [HS039]: there are general configurations; as
        `refuse_edge_scores`."""
        self.refuse_edge_scores(decoder)
        if self.configurations is not None and len(self.configurations.first):
            raise ValueError(Errors.HS039.format(decoder=decoder))

    def refuse_edge_scores(self, decoder: str) -> None:
        """RAISES ValueError [HS099]: pairs of labels have scores that depend on the text."""
        if self.edge_scores is not None:
            raise ValueError(Errors.HS099.format(decoder=decoder))

    def tokens_of(self, sequence: int) -> slice:
        """Where one sequence lies among the tokens."""
        start = int(self.lengths[:sequence].sum())
        return slice(start, start + int(self.lengths[sequence]))

    def one(self, sequence: int, allowed: Optional[Mask] = None) -> OneSequence:
        """One sequence, for inference that is not batched. allowed (N, L): of the batch."""
        at = self.tokens_of(sequence)
        patterns, configurations = self.patterns, self.configurations
        fired_entries = spans = np.zeros(0, np.intp)
        if patterns is not None and patterns.fired is not None:
            inside = (patterns.fired.tokens >= at.start) & (patterns.fired.tokens < at.stop)
            fired, fired_entries = patterns.fired.where(inside), np.flatnonzero(inside)
            fired = fired._replace(tokens=fired.tokens - at.start)
            patterns = patterns._replace(fired=fired)
        if configurations is not None:
            spans = np.flatnonzero((configurations.first >= at.start) & (configurations.first < at.stop))
            configurations = configurations.chosen(spans, at.start)
        mask = None if allowed is None else allowed[at]
        return OneSequence(self.scores[at], self.trans, patterns, configurations, mask, (fired_entries, spans))

    def sequences(self, allowed: Optional[Mask] = None) -> Iterator[OneSequence]:
        """All sequences, one by one. RAISES as `refuse_edge_scores`."""
        self.refuse_edge_scores("one sequence at a time")
        for i in range(len(self.lengths)):
            yield self.one(i, allowed)

    def chain_of(self, sequences: Ints) -> "Tuple[Potentials, Ints, Ints]":
        """Some sequences, without configurations. RETURNS them, their tokens, and which fired patterns these are."""
        sizes = self.lengths[sequences].astype(np.intp)
        tokens = ranges((np.cumsum(self.lengths) - self.lengths)[sequences].astype(np.intp), sizes)
        patterns, entries = self.patterns, np.zeros(0, np.intp)
        if patterns is not None:
            patterns, entries = patterns.among(tokens, len(self.scores))
        lengths = self.lengths[sequences]
        chain = Potentials(self.scores[tokens], self.trans, lengths, patterns, limits=self.limits)
        return chain, tokens, entries


class PotentialsGradient(NamedTuple):
    """Gradient of a loss with respect to `Potentials`, field by field.

    scores (N, L) float32, trans (L, L), node_weights (U,) of `patterns.weights`, fired_weights (M,) of
    `patterns.fired.weights`, configuration_weights (M,) of `configurations.weights`; these three are empty if there
    is no such part. edge_scores (N, L, L), or None.
    """

    scores: Floats32
    trans: Floats
    node_weights: Floats
    fired_weights: Floats
    configuration_weights: Floats = np.zeros(0)
    edge_scores: Optional[AnyFloats] = None

    def __sub__(self, other: "PotentialsGradient") -> "PotentialsGradient":
        return PotentialsGradient(
            self.scores - other.scores,
            self.trans - other.trans,
            self.node_weights - other.node_weights,
            self.fired_weights - other.fired_weights,
            self.configuration_weights - other.configuration_weights,
            None if self.edge_scores is None or other.edge_scores is None else self.edge_scores - other.edge_scores,
        )
