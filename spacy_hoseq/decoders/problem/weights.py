"""What scores every text in the same way: pairs of labels, and label patterns wherever they
occur."""

from functools import cached_property
from typing import Any, Callable, Dict, Optional, Tuple, TypeVar, cast

import numpy as np

from ...arrays import AnyFloats, Floats, Mask
from .trie import PatternTrie

Prepared = TypeVar("Prepared")


class Weights:
    """The weights of a model, and what decoders have made of them.

    trans (L, L): first index is the earlier token; -inf forbids a transition.
    trie: all label patterns, those that fire at positions included; None = there are none.
    node_weights (U,) float64: weight of each node's string wherever it occurs; 0 for mere prefixes
    and single labels.

    Make them once and decode many batches with them: tables such as the limits of pruning are made
    when first needed, and kept. The arrays must not change afterwards; other weights are another
    object. Threads may share it. A pickle holds the weights alone.
    """

    def __init__(
        self,
        trans: AnyFloats,
        trie: Optional[PatternTrie] = None,
        node_weights: Optional[Floats] = None,
    ) -> None:
        self.trans = trans
        self._trie = trie
        self._node_weights = node_weights
        self._prepared: Dict[Callable[[Weights], object], object] = {}
        self._permitting: Optional[Tuple[Mask, Weights]] = None
        self._earlier: Dict[Callable[[Weights], object], object] = {}

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
        """Whether a label pattern has a negative weight wherever it occurs."""
        return self.has_patterns and bool(self.node_weights.min(initial=0.0) < 0)

    @cached_property
    def precise_trans(self) -> Floats:
        """trans (L, L) in double precision."""
        return np.ascontiguousarray(self.trans, np.float64)

    @cached_property
    def permit_all(self) -> bool:
        """Whether no transition is forbidden."""
        return bool(np.isfinite(self.trans).all())

    def prepared(self, make: Callable[["Weights"], Prepared]) -> Prepared:
        """What `make` makes of these weights, made once. make: a class or function of a module, not
        a closure."""
        if make not in self._prepared:
            self._prepared.setdefault(make, make(self))  # of two threads that make it, one wins
        return cast(Prepared, self._prepared[make])

    def follow(self, earlier: "Weights") -> "Weights":
        """Itself. earlier: weights that differ little, as those before an update: what was prepared
        for them can be adjusted."""
        self._earlier = dict(earlier._prepared)
        return self

    def before(self, make: Callable[["Weights"], Prepared]) -> Optional[Prepared]:
        """What `make` has made of the weights that these follow, if it has."""
        return cast(Optional[Prepared], self._earlier.pop(make, None))

    def permitting(self, pairs: Mask) -> "Weights":
        """The same with transitions between some pairs of labels only. pairs (L, L) bool: the last
        one asked for is remembered by identity, with what is prepared for it."""
        known = self._permitting
        if known is None or known[0] is not pairs:
            trans = np.where(pairs, self.trans, -np.inf)
            known = self._permitting = pairs, Weights(trans, self._trie, self._node_weights)
        return known[1]

    def scaled(self, factor: float) -> "Weights":
        """Other weights: all of these times a factor > 0."""
        trans = self.trans * np.asarray(factor, self.trans.dtype)
        return Weights(
            trans, self._trie, None if self._node_weights is None else self._node_weights * factor
        )

    def __reduce__(self) -> Any:
        return Weights, (self.trans, self._trie, self._node_weights)
