"""Everything a batch is decoded from, the weights that score every text alike, and the gradient of
a loss with respect to them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...caches import cached_property
from ...errors import Errors, wrong_value
from .fired import Configurations, Fired, check_configurations
from .layout import (
    check_edge_scores,
    check_emissions,
    check_lengths,
    check_transitions,
    parts_of,
    ranges,
)
from .results import NoPath
from .trie import PatternTrie, Prepares

Prepared = TypeVar("Prepared")


class Weights(Prepares):
    """The weights of a model, and what decoders have made of them.

    trans (L, L): first index is the earlier token; -inf forbids a transition.
    trie: all label patterns, those that fire at positions included; None = there are none.
    node_weights (U,) float64: weight of each node's string wherever it occurs; 0 for mere prefixes
    and single labels.

    Make them once and decode many batches with them: tables such as the bounds of pruning are made
    when first needed, and cached. The arrays must not change afterwards; other weights are another
    object. Threads may share it. A pickle holds the weights alone.
    """

    def __init__(
        self,
        trans: AnyFloats,
        trie: PatternTrie | None = None,
        node_weights: Floats | None = None,
    ) -> None:
        self.trans = trans
        self._trie = trie
        self._node_weights = node_weights
        self._prepared = {}
        self._permitting: tuple[Mask, Weights] | None = None
        self._earlier: dict[Callable[[Weights], object], object] = {}

    @property
    def n_labels(self) -> int:
        return len(self.trans)

    @property
    def has_patterns(self) -> bool:
        return self._trie is not None

    @cached_property
    def trie(self) -> PatternTrie:
        """All label patterns; without any its nodes are the single labels."""
        return PatternTrie([], self.n_labels) if self._trie is None else self._trie

    @cached_property
    def node_weights(self) -> Floats:
        """RETURNS (U,)."""
        return np.zeros(len(self.trie)) if self._node_weights is None else self._node_weights

    @cached_property
    def psi(self) -> Floats:
        """psi(u): what a match of node u earns, the weights of all its suffixes. RETURNS (U,)."""
        return self.trie.suffix_sums(self.node_weights)

    @cached_property
    def some_are_negative(self) -> bool:
        """A label pattern has a negative weight wherever it occurs."""
        return self.has_patterns and bool(self.node_weights.min(initial=0.0) < 0)

    @cached_property
    def precise_trans(self) -> Floats:
        """trans (L, L) in double precision."""
        return np.ascontiguousarray(self.trans, np.float64)

    @cached_property
    def permitted(self) -> float:
        """The share of transitions that are not forbidden."""
        return float(np.isfinite(self.trans).mean())

    @cached_property
    def permit_all(self) -> bool:
        """No transition is forbidden."""
        return bool(np.isfinite(self.trans).all())

    @cached_property
    def are_zero(self) -> bool:
        """Labels do not depend on their neighbours."""
        return not self.has_patterns and not self.trans.any()

    def follow(self, earlier: "Weights") -> "Weights":
        """Itself. earlier: weights that differ little, as those before an update: what was prepared
        for them can be adjusted."""
        self._earlier = dict(earlier._prepared)
        return self

    def before(self, make: Callable[["Weights"], Prepared]) -> Prepared | None:
        """The result of `make` for the weights that these follow, if there is one."""
        return cast(Prepared | None, self._earlier.pop(make, None))

    def permitting(self, pairs: Mask) -> "Weights":
        """The same with transitions between some pairs of labels only. pairs (L, L) bool: the last
        one asked for is remembered by identity, with what is prepared for it."""
        last = self._permitting
        if last is None or last[0] is not pairs:
            trans = np.where(pairs, self.trans, -np.inf)
            last = self._permitting = pairs, Weights(trans, self._trie, self._node_weights)
        return last[1]

    def scaled(self, factor: float) -> "Weights":
        """Other weights: all of these times a factor > 0."""
        trans = self.trans * np.asarray(factor, self.trans.dtype)
        return Weights(
            trans, self._trie, None if self._node_weights is None else self._node_weights * factor
        )

    def __reduce__(self) -> Any:
        return Weights, (self.trans, self._trie, self._node_weights)


class Potentials(NamedTuple):
    """The terms of score(x, y) for all sequences of a batch, and which labels are permitted: all
    that is decoded.

    scores (N, L) float32 or float64: emissions of all sequences end to end. weights: what scores
    every text alike, pairs of labels and label patterns. lengths (S,) int: tokens of each sequence.
    fired: label patterns at given positions, on top of those of `weights`; None = none.
    configurations: features with label sets and gaps; None = none.
    edge_scores (N, L, L): what the text says of pairs of labels, the one before each token and the
    one at it, on top of trans; None = nothing.
    allowed (N, L) bool: labels permitted at each token; None = all.
    """

    scores: AnyFloats
    weights: Weights
    lengths: AnyInts
    fired: Fired | None = None
    configurations: Configurations | None = None
    edge_scores: AnyFloats | None = None
    allowed: Mask | None = None

    @property
    def trans(self) -> AnyFloats:
        """(L, L), of the weights."""
        return self.weights.trans

    @property
    def has_configurations(self) -> bool:
        return self.configurations is not None and len(self.configurations.first) > 0

    @property
    def is_chain(self) -> bool:
        """No feature looks at more than two neighbouring labels: p(y_t | y_1..y_{t-1}, x) =
        p(y_t | y_{t-1}, x)."""
        return not self.weights.has_patterns and not self.has_configurations

    @property
    def is_plain(self) -> bool:
        """Exact pruning takes it: nothing but scores, transitions, and patterns whose weights are
        not negative."""
        if self.has_configurations or self.edge_scores is not None:
            return False
        least = 0.0 if self.fired is None else self.fired.weights.min(initial=0.0)
        return not self.weights.some_are_negative and bool(least >= 0)

    @property
    def numbers(self) -> "PotentialsGradient":
        """All scores and weights, field by field, as in a gradient."""
        weights = self.weights
        numbers = PotentialsGradient(
            self.scores, weights.precise_trans, edge_scores=self.edge_scores
        )
        if weights.has_patterns:
            numbers = numbers._replace(node_weights=weights.node_weights)
        if self.fired is not None:
            numbers = numbers._replace(fired_weights=self.fired.weights)
        if self.configurations is not None:
            numbers = numbers._replace(configuration_weights=self.configurations.weights)
        return numbers

    def permitting(self, labels: Mask | None) -> "Potentials":
        """With these labels at each token, of those that are permitted. labels (N, L); None = all
        of them."""
        if labels is None:
            return self
        return self._replace(allowed=labels if self.allowed is None else self.allowed & labels)

    def scaled(self, factor: float) -> "Potentials":
        """All scores and weights times a factor > 0: the order of labellings stays, p(y | x)
        becomes sharper or flatter."""
        numbers = self.numbers.map(lambda part: part * np.asarray(factor, part.dtype))
        fired = self.fired
        if fired is not None:
            fired = fired._replace(weights=numbers.fired_weights)
        configurations = self.configurations
        if configurations is not None:
            configurations = configurations._replace(weights=numbers.configuration_weights)
        return self._replace(
            scores=numbers.scores,
            weights=self.weights.scaled(factor),
            fired=fired,
            configurations=configurations,
            edge_scores=numbers.edge_scores,
        )

    def check(self) -> "Potentials":
        """RETURNS itself. RAISES ValueError [HS020, HS022, HS024, HS027, HS037]: no decoder
        can work with it."""
        check_emissions(self.scores, self.trans.shape, self.allowed)
        self.weights.prepared(check_weights)
        check_lengths(self.lengths, len(self.scores))
        if self.edge_scores is not None:
            check_edge_scores(self.edge_scores, self.scores.shape)
        if self.fired is not None:
            check_fired(self.weights, self.fired)
        if self.configurations is not None:
            check_configurations(self.configurations, self.lengths, self.scores.shape[1])
        return self

    def select(self, sequences: Ints) -> "Selection":
        """Some sequences (S',), in this order, as a batch of their own; one may be there twice. Time
        O(what they hold + M log M)."""
        sizes = self.lengths.astype(np.intp)
        if len(sequences) == len(sizes) and (sequences[:-1] < sequences[1:]).all():
            # all of them, in order
            numbers = self.numbers
            fired_entries = np.arange(len(numbers.fired_weights))
            configuration_entries = np.arange(len(numbers.configuration_weights))
            tokens = np.arange(len(self.scores))
            return Selection(self, sequences, tokens, fired_entries, configuration_entries)
        ends = np.cumsum(sizes)
        starts = (ends - sizes)[sequences]
        tokens = ranges(starts, sizes[sequences])
        moved_by = (
            np.cumsum(sizes[sequences]) - sizes[sequences] - starts
        )  # (S',): places of tokens
        fired = self.fired
        configurations = self.configurations
        fired_entries = configuration_entries = np.zeros(0, np.intp)
        if fired is not None:
            fired_entries, which = _entries_of(fired.tokens, ends, sequences)
            fired = fired.chosen(fired_entries, moved_by[which])
        if configurations is not None:
            configuration_entries, which = _entries_of(configurations.first, ends, sequences)
            configurations = configurations.chosen(configuration_entries, moved_by[which])
        potentials = self._replace(
            scores=self.scores[tokens],
            lengths=self.lengths[sequences],
            fired=fired,
            configurations=configurations,
            edge_scores=None if self.edge_scores is None else self.edge_scores[tokens],
            allowed=None if self.allowed is None else self.allowed[tokens],
        )
        return Selection(potentials, sequences, tokens, fired_entries, configuration_entries)

    def parts(self, max_sequences: int, max_tokens: int) -> "Iterator[Selection]":
        """The batch in parts of at most so many sequences and about so many tokens, those of like
        length together."""
        for sequences in parts_of(self.lengths, max_sequences, max_tokens):
            yield self.select(sequences)

    def one_by_one(self) -> "Iterator[Selection]":
        """Each sequence as a batch of its own, in order."""
        for i in range(len(self.lengths)):
            yield self.select(np.array([i]))


def _entries_of(tokens: Ints, ends: Ints, sequences: Ints) -> tuple[Ints, Ints]:
    """The entries (M',) at the tokens of some sequences, and in which of these each is. tokens
    (M,): of all entries. ends (S,): of all sequences."""
    sequence = np.searchsorted(ends, tokens, side="right")
    counts = np.bincount(sequence, minlength=len(ends))
    first = np.cumsum(counts) - counts
    entries = np.argsort(sequence, kind="stable")[ranges(first[sequences], counts[sequences])]
    return entries, np.repeat(np.arange(len(sequences)), counts[sequences])


class Selection(NamedTuple):
    """Some sequences of a batch as a batch of their own, and where they come from.

    sequences (S',), tokens (N',), fired (M',), configurations (M',): which of the whole batch's
    these are.
    """

    potentials: Potentials
    sequences: Ints
    tokens: Ints
    fired: Ints
    configurations: Ints

    @contextmanager
    def numbered(self) -> Iterator[Potentials]:
        """The potentials; messages name a sequence by its number in the whole batch."""
        try:
            yield self.potentials
        except NoPath as no_path:
            raise NoPath(int(self.sequences[no_path.sequence])) from None


def check_weights(weights: Weights) -> None:
    """RAISES ValueError [HS020]: a transition is NaN or earns an infinity; [HS020]: as
    `check_finite`."""
    check_transitions(weights.trans)
    if weights.has_patterns:
        check_finite(weights, np.arange(len(weights.trie)), weights.node_weights)


def check_fired(weights: Weights, fired: Fired) -> None:
    """RAISES ValueError [HS020]: as `check_finite`; [HS027]: a node that is no label pattern."""
    node = int(fired.nodes.min(initial=len(weights.trie)))
    if node < weights.n_labels:
        raise wrong_value(
            "fired node",
            node,
            f"nodes of patterns of two labels or more, {weights.n_labels} and above",
        )
    check_finite(weights, fired.nodes, fired.weights)


def check_finite(weights: Weights, nodes: Ints, node_weights: Floats) -> None:
    """RAISES ValueError [HS020]: a weight of a label pattern is NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(node_weights))
    if len(bad):
        name = f"weight of pattern {weights.trie.string(int(nodes[bad[0]]))}"
        raise ValueError(Errors.HS020.format(name=name, n=len(bad), size=len(node_weights)))


class PotentialsGradient(NamedTuple):
    """Gradient of a loss with respect to `Potentials`, field by field.

    scores (N, L), trans (L, L), node_weights (U,), fired_weights (M,) of `fired.weights`,
    configuration_weights (M,) of `configurations.weights`; these three are empty if there is no
    such part. edge_scores (N, L, L), or None.
    """

    scores: AnyFloats
    trans: Floats
    node_weights: Floats = np.zeros(0)
    fired_weights: Floats = np.zeros(0)
    configuration_weights: Floats = np.zeros(0)
    edge_scores: AnyFloats | None = None

    def with_scores_in(self, dtype: DTypeLike) -> "PotentialsGradient":
        """With scores in the type of those of the potentials; sums are made in float64."""
        return self._replace(scores=self.scores.astype(dtype))

    def map(
        self, function: Callable[..., AnyFloats], *others: "PotentialsGradient"
    ) -> "PotentialsGradient":
        """A function of each field, and of the same field of the others; None where one has none."""
        fields: list[Any] = []
        for parts in zip(self, *others, strict=True):
            is_missing = any(part is None for part in parts)
            fields.append(None if is_missing else function(*parts))
        return PotentialsGradient(*fields)

    def __sub__(self, other: "PotentialsGradient") -> "PotentialsGradient":
        return self.map(np.subtract, other)
