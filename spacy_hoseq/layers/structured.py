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

from ..arrays import AnyFloats, Floats, Ints
from ..decoders.problem import (
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
from ..patterns.sources import PatternFeatures, PatternSource, check_source
from .label_parts import PartsOf, label_parts
from .listener import replace_listener
from .scorer import (
    Backprop,
    Feature,
    FlatScores,
    Scorer,
    TrainingTexts,
    flat_scores,
    initialize,
    no_backprop,
    scorer_of,
)
from .shim import WeightsShim, weights_of

NONE = np.zeros(0, np.intp)


class InUse(NamedTuple):
    """Higher-order features with their weights. trie: of the label patterns. node_of (F,): the node of
    each label pattern. weights (W,). node_weights (U,): of the nodes of the trie, those of patterns
    that fire everywhere."""

    features: PatternFeatures
    trie: PatternTrie
    node_of: Ints
    weights: Floats
    node_weights: Floats

    @classmethod
    def of(cls, features: PatternFeatures, trie: PatternTrie, weights: Floats) -> "InUse":
        """RETURNS features with weights."""
        node_of = np.zeros(len(features.patterns), np.intp)
        node_of[~features.is_span] = trie.node_of
        everywhere = features.everywhere
        of_patterns = weights[features.weight_of[everywhere]]
        summed = np.bincount(node_of[everywhere], of_patterns, minlength=len(trie))
        node_weights = summed.astype(np.float64)
        node_weights.setflags(write=False)  # what is made of it is kept
        return cls(features, trie, node_of, weights, node_weights)


class FiredFeatures(NamedTuple):
    """Higher-order features that fire in a batch, and the definition of each (its number in
    `PatternFeatures`)."""

    fired: Optional[Fired] = None
    configurations: Optional[Configurations] = None
    patterns: Ints = NONE
    spans: Ints = NONE

    @classmethod
    def of(cls, docs: List[Doc], source: PatternSource, in_use: InUse) -> "FiredFeatures":
        """RETURNS the patterns that fire at positions, and configurations at their spans."""
        features = in_use.features
        if not source.n_rules or not (features.rule_of >= 0).any():
            return cls()
        rules = source.fire(docs)
        which, matches = features.expand(rules)
        weights = in_use.weights[features.weight_of[which]]
        is_span = features.is_span[which] | (rules.sizes[matches] > 0)
        patterns = which[~is_span]
        spans = which[is_span]
        fired = configurations = None
        if len(patterns):
            tokens = rules.tokens[matches[~is_span]]
            fired = Fired(tokens, in_use.node_of[patterns], weights[~is_span])
        if len(spans):
            configurations = features.configurations(
                rules, spans, matches[is_span], weights[is_span]
            )
        return cls(fired, configurations, patterns, spans)

    def weight_gradient(self, in_use: InUse, gradient: PotentialsGradient) -> Tuple[Ints, Floats]:
        """From nodes, positions and spans back to weights; tied features add up. RETURNS weights
        touched, gradient."""
        features = in_use.features
        everywhere = features.everywhere
        weight_of = features.weight_of[np.concatenate([everywhere, self.patterns, self.spans])]
        of_nodes = gradient.node_weights[in_use.node_of[everywhere]]
        parts = [of_nodes, gradient.fired_weights, gradient.configuration_weights]
        summed = np.bincount(weight_of, np.concatenate(parts), minlength=features.n_weights)
        total = summed.astype(np.float64)  # (of none they are whole numbers)
        touched = np.flatnonzero(total)
        return touched, total[touched]


class Structure:
    """Settings of the config, and what is made of definitions and weights when first needed.

    `nonnegative` is used in initialization, and after that a property of the weights, which is
    saved with them; `label_pairs` in learning. What is made from finished weights is kept as long
    as they are the same arrays.
    """

    def __init__(self, nonnegative: bool, label_pairs: bool) -> None:
        self.nonnegative = nonnegative
        self.label_pairs = label_pairs
        self._defined: Kept[Tuple[PatternFeatures, PatternTrie]] = Kept()
        self._finished: Kept[Tuple[Optional[InUse], Weights]] = Kept()
        self._learning: Optional[Weights] = None

    def finished(
        self, trans: AnyFloats, definition: Optional[Dict[str, Any]], weights: Optional[Floats]
    ) -> Tuple[Optional[InUse], Weights]:
        """Weights that predict. trans (L, L), weights (W,): finished. definition: of all features,
        as saved. Label patterns of weight 0 change no score: a second trie does without them."""

        def make() -> Tuple[Optional[InUse], Weights]:
            if definition is None or weights is None:
                return None, Weights(trans)
            features, trie = self._all(definition, len(trans))
            if not weights.all():
                features = features.chosen(np.flatnonzero(weights[features.weight_of]))
                trie = _trie_of(features, trie.n_labels)
            return _prepared(trans, InUse.of(features, trie, weights))

        self._learning = None  # (of many labels these tables are most of all memory)
        return self._finished.of((trans, definition, weights), make)

    def learning(
        self, trans: AnyFloats, definition: Optional[Dict[str, Any]], weights: Optional[Floats]
    ) -> Tuple[Optional[InUse], Weights]:
        """The same while weights are learnt, which follow those of the update before."""
        self._finished.forget()
        in_use = None
        if definition is not None and weights is not None:
            in_use = InUse.of(*self._all(definition, len(trans)), weights)
        _, prepared = _prepared(trans, in_use)
        earlier = self._learning
        if earlier is not None and len(earlier.trans) == len(trans):
            prepared.follow(earlier)
        self._learning = prepared
        return in_use, prepared

    def _all(
        self, definition: Dict[str, Any], n_labels: int
    ) -> Tuple[PatternFeatures, PatternTrie]:
        def make() -> Tuple[PatternFeatures, PatternTrie]:
            features = PatternFeatures.from_arrays(definition)
            return features, _trie_of(features, n_labels)

        return self._defined.of((definition,), make)

    def __getstate__(self) -> Dict[str, object]:
        return {**self.__dict__, "_learning": None}


def _trie_of(features: PatternFeatures, n_labels: int) -> PatternTrie:
    """Of the label patterns."""
    alone = features.chosen(np.flatnonzero(~features.is_span))
    return PatternTrie(alone.patterns, n_labels)


def _prepared(trans: AnyFloats, in_use: Optional[InUse]) -> Tuple[Optional[InUse], Weights]:
    """Weights that decoders score every text with."""
    if in_use is None or not len(in_use.trie.node_of):
        return in_use, Weights(trans)
    return in_use, Weights(trans, in_use.trie, in_use.node_weights)


TaggerModel = Model[List[Doc], Any]  # gives Potentials; its backprop takes a PotentialsGradient


def HigherOrderTagger(
    emissions: Model[List[Doc], List[Floats2d]],
    patterns: Optional[PatternSource] = None,
    nonnegative: bool = True,
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
    transitions: scores of label pairs that depend on the text, one per pair and token (L * L
        columns, the earlier label first), added to those of `label_pairs`; None = none. Not
        together with patterns.
    label_pairs (bool): one weight for each pair of neighbouring labels; False = none, so that
        without patterns and transitions every token is labelled on its own.
    parts: parts of labels that share weights (`label_parts.py`), in emissions and in pairs of
        labels; None = each label has weights of its own.
    RAISES ValueError [HS027]: `patterns` is no pattern source; [HS099]: both patterns and
        transitions.
    """
    if patterns is not None and transitions is not None:
        raise ValueError(Errors.HS099.format(decoder="label patterns"))
    if patterns is not None:
        check_source(patterns)
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
            "structure": Structure(nonnegative, label_pairs),
            "replace_listener": replace_listener,
        },
        shims=[WeightsShim("higher_order_tagger", partial(_problem, patterns))],
    )
    for node in emissions.walk():
        if node.has_ref("tok2vec"):  # where spaCy looks for it, as in pretraining
            model.set_ref("tok2vec", node.get_ref("tok2vec"))
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

    def columns_of(self, label: int) -> List[int]:
        return self.emissions.columns_of(label)

    @property
    def sees_sentences_alone(self) -> bool:
        return self.source is None and super().sees_sentences_alone

    def define(self, texts: TrainingTexts) -> None:
        """Ask the source for its patterns, if there is one; else nothing is read."""
        self.shim.extra = {}
        source = self.source
        if source is None:
            return
        gold = list(texts.gold)
        for docs in texts.docs():
            source.see(docs)
        features = source.define(texts.labels, gold)
        n_rules, rules = _rules_of(source)
        self.shim.extra = {"patterns": features.to_arrays(), "n_rules": n_rules, "rules": rules}

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
        if "trans" in self.shim.parameters:
            self.weights(is_train=False)

    def weights(self, *, is_train: bool) -> Tuple[Optional[InUse], Weights]:
        """Higher-order features, None if there are none, and what decoders score every text
        with."""
        trans = transitions_of(self.model, is_train=is_train)
        definition = self.shim.extra.get("patterns")
        weights = self.shim.values("patterns", is_train=is_train) if definition else None
        if is_train:
            return self.structure.learning(trans, definition, weights)
        return self.structure.finished(trans, definition, weights)


def forward(
    model: TaggerModel, docs: List[Doc], is_train: bool
) -> Tuple[Any, Callable[[PotentialsGradient], List[Doc]]]:
    """Of the words of the docs: white space is no part of a sequence."""
    docs = words_of(docs)
    head = HeadScorer(model)
    shim = head.shim
    in_use, weights = head.weights(is_train=is_train)
    n_labels = len(weights.trans)
    emissions = flat_scores(model.layers[0], docs, is_train, n_labels)
    scores = _in_floats(emissions.scores)
    fired = FiredFeatures()
    if in_use is not None and head.source is not None:
        fired = FiredFeatures.of(docs, head.source, in_use)
    edge_scores, backprop_pairs = _edge_scores(model, docs, n_labels, is_train=is_train)
    potentials = Potentials(scores, weights, emissions.lengths, *fired[:2], edge_scores)

    def backprop(gradient: PotentialsGradient) -> List[Doc]:
        n_rows = n_labels if head.structure.label_pairs else 0
        shim.add_gradient("trans", (np.arange(n_rows), gradient.trans[:n_rows]))
        head.emissions.transitions_gradient(gradient.trans)
        if in_use is not None:
            back = fired.weight_gradient(in_use, gradient)
            shim.add_gradient("patterns", back)
        if gradient.edge_scores is not None and edge_scores is not None:
            backprop_pairs(gradient.edge_scores.astype(edge_scores.dtype, copy=False))
        emissions.backprop(gradient.scores.astype(scores.dtype, copy=False))
        return docs

    return potentials, backprop


def _edge_scores(
    model: TaggerModel, docs: WordDocs, n_labels: int, *, is_train: bool
) -> Tuple[Optional[AnyFloats], Backprop]:
    """Scores of pairs of labels (N, L, L) from the text, None if there is no layer of them; and the
    way back."""
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
    """Problem of loaded weights: patterns must be of the rules of the config's source."""
    shape = shim.parameters["trans"].shape if "trans" in shim.parameters else (0, 0)
    if len(shape) != 2 or shape[0] != shape[1]:
        return f"transitions must be a square table, got {shape}"
    if "patterns" not in shim.extra or not shape[0]:
        return ""
    if source is None:
        return "patterns, but the config has no source of them"
    if (shim.extra["n_rules"], shim.extra["rules"]) != _rules_of(source):
        return "patterns of other rules than those of the config, or in another order"
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    for pattern in features.patterns:
        check_pattern(pattern, shape[0] + len(features.sets))
    if shim.parameters["patterns"].shape != (features.n_weights,):
        return "pattern definitions and pattern weights do not fit together"
    return ""


def _rules_of(source: PatternSource) -> Tuple[int, Any]:
    """Key that tells rules from those of another config: their number, and their digest if there is
    one."""
    return source.n_rules, source.digest()


def _in_floats(scores: AnyFloats) -> AnyFloats:
    """Half precision as single."""
    return scores if scores.dtype == np.float64 else scores.astype(np.float32, copy=False)
