"""The higher-order features of a model: which are in use, which fire in a batch, and the way back to their weights."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from spacy.tokens import Doc

from ..arrays import AnyFloats, Floats, Ints
from ..decoders.problem.configurations import Configurations
from ..decoders.problem.potentials import PotentialsGradient
from ..decoders.problem.trie import Fired, PatternScores, PatternTrie
from ..decoders.pruning.limits import Limits
from ..patterns.sources import ConfigurationFeatures, PatternFeatures, PatternSource


class InUse(NamedTuple):
    """Features, the trie of their label patterns, and its nodes' weights of patterns that fire everywhere (U,)."""

    features: PatternFeatures
    trie: PatternTrie
    node_weights: Floats


class Structure:
    """Settings of the config, and what is made of definitions and weights when first needed.

    Label patterns of weight 0 change no score: all must be there to learn, and none to predict, where a second trie
    does without them. Not saved: a loaded model makes its own. `max_states` is that of the config it is loaded with;
    `nonnegative` is used in initialization, and after that a property of the weights, which is saved with them;
    `label_pairs` in learning. What is made from finished weights is kept as long as they are: such arrays are
    read-only, and new weights are a new array, so that it is enough to compare which array it is.
    """

    def __init__(self, nonnegative: bool, max_states: int, label_pairs: bool) -> None:
        self.nonnegative, self.max_states, self.label_pairs = nonnegative, max_states, label_pairs
        self._forget()

    def _forget(self) -> None:
        self._of: Any = None
        self._all: Optional[Tuple[PatternFeatures, PatternTrie]] = None
        self._weights: Any = None
        self._finished: Optional[InUse] = None
        self._limits: Optional[Limits] = None

    def in_use(self, definition: Dict[str, Any], n_labels: int, weights: AnyFloats, *, is_train: bool) -> InUse:
        """definition: of all features, as saved. weights (W,): theirs; finished ones unless `is_train`."""
        every = self._all  # (other threads may be making them, too)
        if every is None or self._of is not definition:
            features = PatternFeatures.from_arrays(definition)
            every = features, PatternTrie(features.patterns, n_labels)
            self._all, self._of, self._finished = every, definition, None
        if is_train:
            return InUse(*every, _node_weights(*every, weights))
        finished = self._finished
        if finished is None or self._weights is not weights:
            features = every[0].without(weights == 0)
            trie = PatternTrie(features.patterns, n_labels)
            node_weights = _node_weights(features, trie, weights)
            node_weights.setflags(write=False)
            finished = InUse(features, trie, node_weights)
            self._finished, self._weights = finished, weights
        return finished

    def limits(self, trans: AnyFloats, patterns: Optional[PatternScores]) -> Limits:
        """What pruning knows of finished weights: the same record as long as they are the same."""
        limits = self._limits
        if limits is None or not limits.belong_to(trans, patterns):
            limits = self._limits = Limits(trans, patterns)
        return limits

    def __getstate__(self) -> Dict[str, Any]:
        return {"nonnegative": self.nonnegative, "max_states": self.max_states, "label_pairs": self.label_pairs}

    def __setstate__(self, settings: Dict[str, Any]) -> None:  # a worker process makes its own
        self.__dict__.update(settings)
        self._forget()


def _node_weights(features: PatternFeatures, trie: PatternTrie, weights: AnyFloats) -> Floats:
    everywhere = features.rule_of < 0
    own = weights[features.weight_of[everywhere]]
    return np.bincount(trie.node_of[everywhere], own, minlength=len(trie)).astype(np.float64)


class Found(NamedTuple):
    """Higher-order features of a batch, and the definition of each fired one (its number in `PatternFeatures`)."""

    in_use: Optional[InUse]
    patterns: Optional[PatternScores]
    configurations: Optional[Configurations]
    fired_features: Ints
    span_features: Ints


def no_features() -> Found:
    return Found(None, None, None, np.zeros(0, np.intp), np.zeros(0, np.intp))


def features_of(docs: List[Doc], source: PatternSource, in_use: InUse, weights: Floats, max_states: int) -> Found:
    """Weights of the patterns at the trie's nodes and positions, and of configurations at their spans."""
    features, trie, node_weights = in_use
    if not features.n_weights:
        return no_features()
    fired_by_rules = source.fire(docs) if source.n_rules else None
    found = no_features()._replace(in_use=in_use)
    if features.patterns:
        fired = None
        if fired_by_rules is not None and (features.rule_of >= 0).any():
            which, tokens = features.expand(fired_by_rules)
            fired = Fired(tokens, trie.node_of[which], weights[features.weight_of[which]])
            found = found._replace(fired_features=which)
        found = found._replace(patterns=PatternScores(trie, node_weights, fired))
    if features.configurations is not None and fired_by_rules is not None:
        spans, first, sizes, slots = features.configurations.expand(fired_by_rules)
        if len(spans):
            earned = weights[features.configurations.weight_of[spans]]
            fitting = Configurations(first, sizes, slots, features.configurations.sets, earned, max_states)
            found = found._replace(configurations=fitting, span_features=spans)
    return found


def weight_gradient(found: Found, gradient: PotentialsGradient) -> Tuple[Ints, Floats]:
    """From nodes, positions and spans back to weights; tied features add up. RETURNS weights touched, gradient."""
    if found.in_use is None:
        return np.zeros(0, np.intp), np.zeros(0)
    features, trie, _ = found.in_use
    total = np.zeros(features.n_weights)
    if found.patterns is not None:
        everywhere = np.flatnonzero(features.rule_of < 0)
        at_nodes = gradient.node_weights[trie.node_of[everywhere]]
        total += np.bincount(features.weight_of[everywhere], at_nodes, minlength=len(total))
        total += np.bincount(features.weight_of[found.fired_features], gradient.fired_weights, minlength=len(total))
    if found.configurations is not None and features.configurations is not None:
        touched_weights = features.configurations.weight_of[found.span_features]
        total += np.bincount(touched_weights, gradient.configuration_weights, minlength=len(total))
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
