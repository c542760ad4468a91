"""The higher-order features of a model: which are in use, which fire in a batch, and the way back
to their weights."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from spacy.tokens import Doc

from ..arrays import AnyFloats, Floats, Ints
from ..decoders.problem import Configurations, Fired, PatternTrie, PotentialsGradient, Weights
from ..kept import Kept
from ..patterns.sources import ConfigurationFeatures, PatternFeatures, PatternSource


class InUse(NamedTuple):
    """Features, the trie of their label patterns, and its nodes' weights of patterns that fire
    everywhere (U,)."""

    features: PatternFeatures
    trie: PatternTrie
    node_weights: Floats


class Structure:
    """Settings of the config, and what is made of definitions and weights when first needed.

    Label patterns of weight 0 change no score: all must be there to learn, and none to predict,
    where a second trie does without them. Not saved: a loaded model makes its own. `max_states` is
    that of the config it is loaded with; `nonnegative` is used in initialization, and after that a
    property of the weights, which is saved with them; `label_pairs` in learning. What is made from
    finished weights is kept as long as they are: such arrays are read-only, and new weights are a
    new array, so that it is enough to compare which array it is.
    """

    def __init__(self, nonnegative: bool, max_states: int, label_pairs: bool) -> None:
        self.nonnegative = nonnegative
        self.max_states = max_states
        self.label_pairs = label_pairs
        self._all: Kept[Tuple[PatternFeatures, PatternTrie]] = Kept()
        self._finished: Kept[InUse] = Kept()
        self._prepared: Kept[Weights] = Kept()
        self._learning: Optional[Weights] = None

    def in_use(
        self, definition: Dict[str, Any], n_labels: int, weights: AnyFloats, *, is_train: bool
    ) -> InUse:
        """definition: of all features, as saved. weights (W,): theirs; finished ones unless
        `is_train`."""
        every = self._all.of((definition,), lambda: _with_trie(definition, n_labels))
        if is_train:
            return InUse(*every, _node_weights(*every, weights))
        return self._finished.of((every, weights), lambda: _without_zeros(*every, weights))

    def prepared(self, trans: AnyFloats, in_use: Optional[InUse]) -> Weights:
        """Finished weights: the same object, with all that decoders have made of them, as long as
        they are the same."""
        self._learning = None  # (of many labels these tables are most of all memory)
        return self._prepared.of((trans, in_use), lambda: weights_in_use(trans, in_use))

    def learning(self, trans: AnyFloats, in_use: Optional[InUse]) -> Weights:
        """Weights while they are learnt, which follow those of the update before."""
        self._prepared.forget()
        weights = weights_in_use(trans, in_use)
        earlier = self._learning
        if earlier is not None and len(earlier.trans) == len(trans):
            weights.follow(earlier)
        self._learning = weights
        return weights

    def __getstate__(self) -> Dict[str, object]:
        return {**self.__dict__, "_learning": None}


def _with_trie(definition: Dict[str, object], n_labels: int) -> Tuple[PatternFeatures, PatternTrie]:
    features = PatternFeatures.from_arrays(definition)
    return features, PatternTrie(features.patterns, n_labels)


def _without_zeros(features: PatternFeatures, trie: PatternTrie, weights: AnyFloats) -> InUse:
    """Features with a weight, to predict with."""
    if not weights.all():
        features = features.without(weights == 0)
        trie = PatternTrie(features.patterns, trie.n_labels)
    node_weights = _node_weights(features, trie, weights)
    node_weights.setflags(write=False)
    return InUse(features, trie, node_weights)


def _node_weights(features: PatternFeatures, trie: PatternTrie, weights: AnyFloats) -> Floats:
    everywhere = features.rule_of < 0
    of_patterns = weights[features.weight_of[everywhere]]
    return np.bincount(trie.node_of[everywhere], of_patterns, minlength=len(trie)).astype(
        np.float64
    )


def weights_in_use(trans: AnyFloats, in_use: Optional[InUse]) -> Weights:
    """What decoders score every text with."""
    if in_use is None or not in_use.features.patterns:
        return Weights(trans)
    return Weights(trans, in_use.trie, in_use.node_weights)


class FiredFeatures(NamedTuple):
    """Higher-order features that fire in a batch, and the definition of each (its number in
    `PatternFeatures`).

    in_use: all features, None if there are none."""

    in_use: Optional[InUse]
    fired: Optional[Fired]
    configurations: Optional[Configurations]
    fired_features: Ints
    span_features: Ints


def no_features() -> FiredFeatures:
    return FiredFeatures(None, None, None, np.zeros(0, np.intp), np.zeros(0, np.intp))


def features_of(
    docs: List[Doc], source: PatternSource, in_use: InUse, weights: Floats, max_states: int
) -> FiredFeatures:
    """Weights of the patterns that fire at positions, and of configurations at their spans."""
    features, trie, _ = in_use
    if not features.n_weights:
        return no_features()
    fired_by_rules = source.fire(docs) if source.n_rules else None
    result = no_features()._replace(in_use=in_use)
    if features.patterns and fired_by_rules is not None and (features.rule_of >= 0).any():
        which, tokens = features.expand(fired_by_rules)
        fired = Fired(tokens, trie.node_of[which], weights[features.weight_of[which]])
        result = result._replace(fired=fired, fired_features=which)
    if features.configurations is not None and fired_by_rules is not None:
        spans, first, sizes, slots = features.configurations.expand(fired_by_rules)
        if len(spans):
            earned = weights[features.configurations.weight_of[spans]]
            fitting = Configurations(
                first, sizes, slots, features.configurations.sets, earned, max_states
            )
            result = result._replace(configurations=fitting, span_features=spans)
    return result


def weight_gradient(fired: FiredFeatures, gradient: PotentialsGradient) -> Tuple[Ints, Floats]:
    """From nodes, positions and spans back to weights; tied features add up. RETURNS weights
    touched, gradient."""
    if fired.in_use is None:
        return np.zeros(0, np.intp), np.zeros(0)
    features, trie, _ = fired.in_use
    total = np.zeros(features.n_weights)
    if features.patterns:
        everywhere = np.flatnonzero(features.rule_of < 0)
        at_nodes = gradient.node_weights[trie.node_of[everywhere]]
        total += np.bincount(features.weight_of[everywhere], at_nodes, minlength=len(total))
        total += np.bincount(
            features.weight_of[fired.fired_features], gradient.fired_weights, minlength=len(total)
        )
    if fired.configurations is not None and features.configurations is not None:
        of_spans = features.configurations.weight_of[fired.span_features]
        total += np.bincount(of_spans, gradient.configuration_weights, minlength=len(total))
    touched = np.flatnonzero(total)
    return touched, total[touched]


def configurations_fit(features: Optional[ConfigurationFeatures], n_labels: int) -> bool:
    """Whether the parts of definitions just loaded fit together."""
    if features is None:
        return True
    sets, slots, n_slots, weight_of, rule_of = features
    sizes = {len(n_slots), len(weight_of), len(rule_of)}
    return (
        len(sizes) == 1
        and sets.ndim == 2
        and sets.shape[1] == n_labels
        and int(n_slots.sum()) == len(slots)
        and bool((n_slots >= 0).all())
        and bool((weight_of >= 0).all() and (slots >= 0).all() and (slots < len(sets)).all())
    )
