"""The structured head: emission scores + transitions + label patterns = the potentials of a batch.

Of the higher-order features: which are in use, which fire in a batch, and the way back to their
weights.
"""

from functools import partial
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Ints, Keys
from ..decoders.problem import (
    MAX_STATES,
    Configurations,
    Fired,
    PatternTrie,
    Potentials,
    PotentialsGradient,
    Weights,
    check_pattern,
)
from ..errors import Errors
from ..features.sequences import WordDocs, words_of
from ..kept import Kept
from ..learning.parameter import Parameter
from ..patterns.sources import (
    ConfigurationFeatures,
    PatternFeatures,
    PatternSource,
    asked,
    check_features,
    check_source,
)
from .label_parts import PartsOf, label_parts
from .listening.listener import replace_listener
from .named_features import Feature
from .scorer import (
    Backprop,
    FlatScores,
    Scorer,
    TrainingTexts,
    flat_scores,
    initialize,
    no_backprop,
    scorer_of,
)
from .weights.shim import WeightsShim, weights_of


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
        self._finished: Kept[Optional[InUse]] = Kept()
        self._prepared: Kept[Weights] = Kept()
        self._learning: Optional[Weights] = None

    def in_use(
        self, definition: Dict[str, Any], n_labels: int, weights: AnyFloats, *, is_train: bool
    ) -> Optional[InUse]:
        """definition: of all features, as saved. weights (W,): theirs; finished ones unless
        `is_train`. RETURNS None if there are none."""
        every = self._all.of((definition,), lambda: _with_trie(definition, n_labels))
        if is_train:
            return InUse(*every, _node_weights(*every, weights)) if len(weights) else None
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


def _without_zeros(
    features: PatternFeatures, trie: PatternTrie, weights: AnyFloats
) -> Optional[InUse]:
    """Features with a weight, to predict with; None if the layer has none."""
    if not len(weights):
        return None
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


NO_FEATURES = FiredFeatures(None, None, None, np.zeros(0, np.intp), np.zeros(0, np.intp))


def features_of(
    docs: List[Doc], source: PatternSource, in_use: InUse, weights: Floats, max_states: int
) -> FiredFeatures:
    """Weights of the patterns that fire at positions, and of configurations at their spans."""
    features, trie, _ = in_use
    fired_by_rules = source.fire(docs) if source.n_rules else None
    result = NO_FEATURES._replace(in_use=in_use)
    if features.patterns and fired_by_rules is not None and (features.rule_of >= 0).any():
        which, tokens = features.expand(fired_by_rules)
        fired = Fired(tokens, trie.node_of[which], weights[features.weight_of[which]])
        result = result._replace(fired=fired, fired_features=which)
    if features.configurations is not None and fired_by_rules is not None:
        spans, first, sizes, slots = features.configurations.expand(fired_by_rules)
        if len(spans):
            span_weights = weights[features.configurations.weight_of[spans]]
            fitting = Configurations(
                first, sizes, slots, features.configurations.sets, span_weights, max_states
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


TaggerModel = Model[List[Doc], Any]  # gives Potentials; its backprop takes a PotentialsGradient


def HigherOrderTagger(
    emissions: Model[List[Doc], List[Floats2d]],
    patterns: Optional[PatternSource] = None,
    nonnegative: bool = True,
    max_states: int = MAX_STATES,
    transitions: Optional[Model[List[Doc], List[Floats2d]]] = None,
    label_pairs: bool = True,
    parts: Optional[PartsOf] = None,
) -> TaggerModel:
    """Potentials of higher-order sequence labelling: emissions, transitions and label patterns.

    emissions: one score per label and token: sparse linear, neural, a sum of both, your own.
    patterns: where higher-order features come from; None = first order.
    nonnegative (bool): keep weights of patterns >= 0, which makes exact decoding linear in the
        nodes of their trie; False = any sign, decoded by longest matches in U L steps a
        token.
    max_states (int): limit on the states of a token that configurations (label sets, gaps) may
        need.
    transitions: scores of label pairs that depend on the text, one per pair and token (L * L
        columns, the earlier label first), added to those of `label_pairs`; None = none. Not
        together with patterns.
    label_pairs (bool): one weight for each pair of neighbouring labels; False = none, so that
        without patterns and transitions every token is labelled on its own.
    parts: parts of labels that share weights (`label_parts.py`), in emissions and in pairs of
        labels; None = each label has weights of its own.
    RAISES ValueError [HS035]: `patterns` is no pattern source; [HS056]: `max_states` below 1;
        [HS099]: both patterns and transitions.
    """
    if patterns is not None and transitions is not None:
        raise ValueError(Errors.HS099.format(decoder="label patterns"))
    if patterns is not None:
        check_source(patterns)
    if max_states < 1:
        raise ValueError(Errors.HS056.format(max_states=max_states))
    if parts is not None:
        emissions = label_parts(emissions, parts)
    model: TaggerModel = Model(
        "higher_order_tagger",
        forward,
        init=initialize,
        layers=[emissions] if transitions is None else [emissions, transitions],
        dims={"nO": None},
        attrs={
            "scorer": HeadScorer,
            "source": patterns,
            "structure": Structure(nonnegative, max_states, label_pairs),
            "replace_listener": replace_listener,
        },
        shims=[WeightsShim("higher_order_tagger", partial(_problem, patterns))],
    )
    for node in emissions.walk():
        if node.has_ref("tok2vec"):
            model.set_ref(
                "tok2vec", node.get_ref("tok2vec")
            )  # where spaCy looks for it, as in pretraining
    return model


class HeadScorer(Scorer):
    """Of `HigherOrderTagger`: the scores of labels are those of its emissions."""

    @property
    def emissions(self) -> Scorer:
        return scorer_of(self.model.layers[0])

    @property
    def source(self) -> Optional[PatternSource]:
        """Where label patterns come from."""
        return self.model.attrs["source"]

    @property
    def structure(self) -> Structure:
        return self.model.attrs["structure"]

    def scores(self, docs: List[Doc], *, is_train: bool) -> FlatScores:
        return self.emissions.scores(docs, is_train=is_train)

    def features_at(self, docs: List[Doc], words: Sequence[int]) -> Iterator[Feature]:
        return self.emissions.features_at(docs, words)

    def names(self, docs: List[Doc], keys: Keys) -> Dict[int, str]:
        return self.emissions.names(docs, keys)

    def columns_of(self, label: int) -> List[int]:
        return self.emissions.columns_of(label)

    @property
    def sees_sentences_alone(self) -> bool:
        is_alone = len(self.model.layers) == 1 and self.source is None
        return is_alone and self.emissions.sees_sentences_alone

    def define(self, texts: TrainingTexts) -> None:
        """Ask the source for its patterns, if there is one; else nothing is read. RAISES as
        `check_features`."""
        self.shim.extra = {}
        source = self.source
        if source is None:
            return
        gold = list(texts.gold)
        if hasattr(source, "see"):
            for docs in texts.docs():
                source.see(docs)
        features = source.define(texts.labels, gold)
        check_features(features, texts.labels, gold)
        self.shim.extra = {"patterns": features.to_arrays(), "n_rules": source.n_rules}
        if (digest := asked(source, "digest")) is not None:
            self.shim.extra["rules"] = digest

    def initialize(self, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
        """Zero weights for the emissions, the transitions and the patterns found by `define`
        before."""
        self.model.layers[0].initialize(X, Y)
        if Y is None:
            return
        n_labels = Y[0].shape[1]
        self.model.set_dim("nO", n_labels)
        for layer in self.model.layers[1:]:
            pairs = [cast(Floats2d, np.zeros((len(y), n_labels**2), np.float32)) for y in Y]
            layer.initialize(X, pairs)
        self.shim.set(Parameter("trans", np.zeros((n_labels, n_labels))))
        if "patterns" in self.shim.extra:
            zeros = np.zeros(PatternFeatures.from_arrays(self.shim.extra["patterns"]).n_weights)
            self.shim.set(Parameter("patterns", zeros, nonnegative=self.structure.nonnegative))

    def prepare(self) -> None:
        if "trans" not in self.shim.parameters:
            return
        trans = transitions_of(self.model, is_train=False)
        in_use = None
        if self.source is not None and "patterns" in self.shim.extra:
            weights = self.shim.values("patterns", is_train=False)
            in_use = self.structure.in_use(
                self.shim.extra["patterns"], len(trans), weights, is_train=False
            )
        self.structure.prepared(trans, in_use)

    def forget_words(self) -> None:
        """What rules remember of them."""
        asked(self.source, "forget_words")


def forward(
    model: TaggerModel, docs: List[Doc], is_train: bool
) -> Tuple[Any, Callable[[PotentialsGradient], List[Doc]]]:
    """Of the words of the docs: white space is no part of a sequence."""
    docs = words_of(docs)
    shim = weights_of(model)
    trans = transitions_of(model, is_train=is_train)
    emissions = flat_scores(model.layers[0], docs, is_train, len(trans))
    scores = _in_floats(emissions.scores)
    structure: Structure = model.attrs["structure"]
    higher_order = NO_FEATURES
    if model.attrs["source"] is not None and "patterns" in shim.extra:
        weights = shim.values("patterns", is_train=is_train)
        in_use = structure.in_use(shim.extra["patterns"], len(trans), weights, is_train=is_train)
        if in_use is not None:
            source = model.attrs["source"]
            higher_order = features_of(docs, source, in_use, weights, structure.max_states)
    edge_scores, backprop_pairs = _edge_scores(model, docs, len(trans), is_train=is_train)
    prepared = (structure.learning if is_train else structure.prepared)(trans, higher_order.in_use)
    fired = higher_order.fired
    configurations = higher_order.configurations
    potentials = Potentials(scores, prepared, emissions.lengths, fired, configurations, edge_scores)

    def backprop(gradient: PotentialsGradient) -> List[Doc]:
        n_rows = len(trans) if structure.label_pairs else 0
        shim.add_gradient("trans", (np.arange(n_rows), gradient.trans[:n_rows]))
        scorer_of(model.layers[0]).transitions_gradient(gradient.trans)
        if "patterns" in shim.parameters:
            shim.add_gradient("patterns", weight_gradient(higher_order, gradient))
        if gradient.edge_scores is not None and edge_scores is not None:
            backprop_pairs(gradient.edge_scores.astype(edge_scores.dtype, copy=False))
        emissions.backprop(gradient.scores.astype(scores.dtype, copy=False))
        return docs

    return potentials, backprop


def _edge_scores(
    model: TaggerModel, docs: WordDocs, n_labels: int, *, is_train: bool
) -> Tuple[Optional[AnyFloats], Backprop]:
    """What the text says of pairs of labels (N, L, L), None if there is no layer of them; and the way
    back."""
    if len(model.layers) == 1:
        return None, no_backprop
    pairs = flat_scores(model.layers[1], docs, is_train, n_labels**2, "transitions")

    def backprop(gradient: AnyFloats) -> object:
        return pairs.backprop(gradient.reshape(pairs.scores.shape))

    return _in_floats(pairs.scores).reshape(-1, n_labels, n_labels), backprop


def transitions_of(model: TaggerModel, *, is_train: bool) -> AnyFloats:
    """Weights of label pairs, and of pairs of their parts. RETURNS (L, L): if finished, the same
    array as long as they are the same; else one of its own, since listeners read potentials after
    the weights have changed."""
    own = weights_of(model).values("trans", is_train=is_train)
    trans: AnyFloats = scorer_of(model.layers[0]).transitions(own, is_train=is_train)
    return trans.copy() if is_train and trans is own else trans


def _problem(source: Optional[PatternSource], shim: WeightsShim) -> str:
    """What is wrong with loaded weights: patterns must name labels of the transition table, weights
    that exist, and rules of the config's source."""
    shape = shim.parameters["trans"].shape if "trans" in shim.parameters else (0, 0)
    if len(shape) != 2 or shape[0] != shape[1]:
        return f"transitions must be a square table, got {shape}"
    if "patterns" not in shim.extra or not shape[0]:
        return ""
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    if source is None:
        return "patterns, but the config has no source of them"
    n_rules = shim.extra.get(
        "n_rules", max(source.n_rules, features.n_rules)
    )  # not in files of format 2
    if source.n_rules != n_rules:
        return f"patterns of {n_rules} rules, but the config has {source.n_rules}"
    digest = asked(source, "digest")
    if shim.extra.get("rules", digest) != digest:  # (earlier versions wrote none)
        return "patterns of other rules than those of the config, or in another order"
    for pattern in features.patterns:
        check_pattern(pattern, shape[0])
    sizes = {len(features.patterns), len(features.weight_of), len(features.rule_of)}
    parameter = shim.parameters["patterns"]
    fits = (
        len(sizes) == 1
        and parameter.shape == (features.n_weights,)
        and (features.weight_of >= 0).all()
    )
    if not fits or not configurations_fit(features.configurations, shape[0]):
        return "pattern definitions and pattern weights do not fit together"
    return (
        "a pattern weight is negative"
        if parameter.nonnegative and (parameter.values < 0).any()
        else ""
    )


def _in_floats(scores: AnyFloats) -> AnyFloats:
    """Half precision as single."""
    return scores if scores.dtype == np.float64 else scores.astype(np.float32, copy=False)
