"""The structured head: emission scores + transitions + label patterns = the potentials of a batch.

`HigherOrder` says which higher-order features fire in a batch, and brings gradients back to their
weights.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Ints
from ..caches import IdentityCache
from ..decoders.problem import (
    Configurations,
    Fired,
    PatternTrie,
    Potentials,
    PotentialsGradient,
    Weights,
)
from ..errors import Errors
from ..features.sequences import WordDocs, words_of
from ..learning.parameter import Parameter
from ..patterns.sources import PatternFeatures, PatternSource, check_source
from .label_parts import PartsOf, label_parts
from .listener import replace_listener
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
from .sparse_linear import SparseScorer
from .sums import LabelParts
from .weights import WeightsShim


class FiredFeatures(NamedTuple):
    """Higher-order features that fire in a batch. patterns: at positions. configurations: at spans.
    features (M,): numbers of those of `patterns`, then of those of `configurations`."""

    patterns: Fired | None = None
    configurations: Configurations | None = None
    features: Ints = np.zeros(0, np.intp)


class HigherOrder:
    """Higher-order features, and their weights.

    trie: of the label patterns. node_of (F,): the node of each label pattern. values (W,): the
    weights. node_weights (U,): of the nodes of the trie, those of patterns that fire everywhere.
    """

    def __init__(self, features: PatternFeatures, trie: PatternTrie, values: Floats) -> None:
        self.features = features
        self.trie = trie
        self.values = values
        self.node_of = np.zeros(len(features.patterns), np.intp)
        self.node_of[~features.is_span] = trie.node_of
        everywhere = features.everywhere
        weights = values[features.weight_of[everywhere]]
        nodes = self.node_of[everywhere]
        self.node_weights = np.bincount(nodes, weights, len(trie)).astype(np.float64)
        self.node_weights.setflags(write=False)  # decoders cache what they make of it

    def fire(self, docs: list[Doc], source: PatternSource) -> FiredFeatures:
        """The features whose rules match in some docs."""
        features = self.features
        if not (features.rule_of >= 0).any():
            return FiredFeatures()
        rules = source.fire(docs)
        numbers, matches = features.expand(rules)  # (M,) features, and the match of each
        weights = self.values[features.weight_of[numbers]]
        # a match with a size is a span of labels, even where its pattern has no gaps
        is_span = features.is_span[numbers] | (rules.sizes[matches] > 0)
        at = np.flatnonzero(~is_span)
        patterns = None
        if len(at):
            patterns = Fired(rules.tokens[matches[at]], self.node_of[numbers[at]], weights[at])
        spans = np.flatnonzero(is_span)
        configurations = None
        if len(spans):
            configurations = features.configurations(
                rules, numbers[spans], matches[spans], weights[spans]
            )
        return FiredFeatures(patterns, configurations, numbers[np.concatenate([at, spans])])

    def gradient(self, fired: Ints, gradient: PotentialsGradient) -> tuple[Ints, Floats]:
        """From nodes, positions and spans back to weights. fired: numbers of features. RETURNS
        weights touched, and their gradient."""
        everywhere = self.features.everywhere
        d_features = np.concatenate(
            [
                gradient.node_weights[self.node_of[everywhere]],
                gradient.fired_weights,
                gradient.configuration_weights,
            ]
        )
        # features may share a weight: their gradients add up
        weight_of = self.features.weight_of[np.concatenate([everywhere, fired])]
        total = np.bincount(weight_of, d_features).astype(np.float64)
        touched = np.flatnonzero(total)
        return touched, total[touched]


class Structure:
    """Settings of the config, and caches of what is made of definitions and weights.

    nonnegative (bool): for initialization; then a property of the weights, saved with them.
    label_pairs (bool): learn weights of label pairs. defined: all features, as long as the saved
    definition is the same object. finished: of finished weights, as long as they are the same
    arrays. learning: of the last update, until the next prediction.
    """

    def __init__(self, nonnegative: bool, label_pairs: bool) -> None:
        self.nonnegative = nonnegative
        self.label_pairs = label_pairs
        self.defined: IdentityCache[tuple[PatternFeatures, PatternTrie]] = IdentityCache()
        self.finished: IdentityCache[tuple[HigherOrder | None, Weights]] = IdentityCache()
        self.learning: Weights | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "learning": None}


def _trie_of(features: PatternFeatures, n_labels: int) -> PatternTrie:
    """The trie of the label patterns among the features."""
    alone = features.chosen(np.flatnonzero(~features.is_span))
    return PatternTrie(alone.patterns, n_labels)


TaggerModel = Model[list[Doc], Any]  # gives Potentials; its backprop takes a PotentialsGradient


def HigherOrderTagger(
    emissions: Model[list[Doc], list[Floats2d]],
    patterns: PatternSource | None = None,
    nonnegative: bool = True,
    transitions: Model[list[Doc], list[Floats2d]] | None = None,
    label_pairs: bool = True,
    parts: PartsOf | None = None,
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
        shims=[WeightsShim("higher_order_tagger")],
    )
    for node in emissions.walk():
        if node.has_ref("tok2vec"):  # where spaCy looks for it, as in pretraining
            model.set_ref("tok2vec", node.get_ref("tok2vec"))
    return model


class HeadScorer(Scorer):
    """The scorer of `HigherOrderTagger`. Scores of labels are those of its emissions."""

    @property
    def emissions(self) -> Scorer:
        return scorer_of(self.model.layers[0])

    @property
    def source(self) -> PatternSource | None:
        """Where label patterns come from."""
        return self.model.attrs["source"]

    @property
    def structure(self) -> Structure:
        return self.model.attrs["structure"]

    @property
    def alone(self) -> SparseScorer | None:
        """The emissions, if they are sums of features and nothing else decides about a word; labels
        of other words do not."""
        if len(self.model.layers) != 1 or self.source or self.structure.label_pairs:
            return None
        emissions = self.emissions
        return emissions if isinstance(emissions, SparseScorer) else None

    @property
    def parts(self) -> LabelParts | None:
        return self.emissions.parts

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        return self.emissions.scores(docs, is_train=is_train)

    @property
    def sees_sentences_alone(self) -> bool:
        return self.source is None and super().sees_sentences_alone

    def define(self, texts: TrainingTexts) -> None:
        """Find label patterns with the source, if there is one."""
        self.shim.extra = {}
        if self.source is None:
            return
        for docs in texts.docs():
            self.source.see(docs)
        features = self.source.define(texts.labels, list(texts.gold)).to_arrays()
        rules = {"n_rules": self.source.n_rules, "rules": self.source.digest()}
        self.shim.extra = {"patterns": features, **rules}

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Set the weights of emissions, transitions and the patterns found by `define` to zero."""
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
        # (labels that do not depend on each other are mostly found without potentials)
        if "trans" in self.shim.parameters and self.alone is None:
            self.weights(is_train=False)

    def weights(self, *, is_train: bool) -> tuple[HigherOrder | None, Weights]:
        """Higher-order features, None if there are none, and the weights with which decoders score
        every text. RAISES ValueError [HS051]: patterns of other rules."""
        structure = self.structure
        trans = self.shim.values("trans", is_train=is_train)
        pairs = None
        if self.parts is not None:
            pairs = self.emissions.shim.values("pairs", is_train=is_train)
        values = None
        definition = self.shim.extra.get("patterns")
        if definition:
            values = self.shim.values("patterns", is_train=is_train)
        earlier = structure.learning
        structure.learning = None
        if not is_train:
            make = partial(self._made, trans, pairs, values)
            return structure.finished.of((trans, pairs, definition, values), make)
        structure.finished.forget()  # for many labels these tables dominate memory
        # a copy: listeners still read these transitions when those that learn have changed
        patterns, weights = self._made(trans.copy(), pairs, values, all_fire=True)
        # bounds of the decoder move little in an update, and are carried over
        if earlier is not None and len(earlier.trans) == len(weights.trans):
            weights.follow(earlier)
        structure.learning = weights
        return patterns, weights

    def _made(
        self,
        trans: AnyFloats,
        pairs: AnyFloats | None,
        values: Floats | None,
        *,
        all_fire: bool = False,
    ) -> tuple[HigherOrder | None, Weights]:
        """trans (L, L), pairs (P, P), values (W,). all_fire (bool): also features of weight 0, which
        change no score but may have a gradient."""
        if pairs is not None and self.parts is not None:
            trans = trans + self.parts.pairs(pairs)
        if values is None:
            return None, Weights(trans)
        features, trie = self._defined(len(trans))
        if not (all_fire or values.all()):
            features = features.chosen(np.flatnonzero(values[features.weight_of]))
            trie = _trie_of(features, len(trans))
        patterns = HigherOrder(features, trie, values)
        if not len(trie.node_of):
            return patterns, Weights(trans)
        return patterns, Weights(trans, trie, patterns.node_weights)

    def _defined(self, n_labels: int) -> tuple[PatternFeatures, PatternTrie]:
        """All features, as saved, and the trie of their label patterns."""
        extra = self.shim.extra

        def make() -> tuple[PatternFeatures, PatternTrie]:
            source = self.source
            rules = extra["n_rules"], extra["rules"]
            # a rule is saved by its number only: the source must still have the same ones
            if source is None or (source.n_rules, source.digest()) != rules:
                got = "patterns of other rules"
                raise ValueError(
                    Errors.HS051.format(name=self.shim.name, got=got, expected="its own")
                )
            features = PatternFeatures.from_arrays(extra["patterns"])
            return features, _trie_of(features, n_labels)

        return self.structure.defined.of((extra["patterns"],), make)


def forward(
    model: TaggerModel, docs: list[Doc], is_train: bool
) -> tuple[Any, Callable[[PotentialsGradient], list[Doc]]]:
    """Potentials of the words of the docs: white space is no part of a sequence."""
    docs = words_of(docs)
    head = HeadScorer(model)
    patterns, weights = head.weights(is_train=is_train)
    n_labels = len(weights.trans)
    emissions = flat_scores(model.layers[0], docs, is_train, n_labels)
    scores = _in_floats(emissions.scores)
    fired = FiredFeatures()
    if patterns is not None:
        fired = patterns.fire(docs, cast(PatternSource, head.source))
    edge_scores, backprop_edges = _edge_scores(model, docs, n_labels, is_train=is_train)
    potentials = Potentials(
        scores, weights, emissions.lengths, fired.patterns, fired.configurations, edge_scores
    )

    def backprop(gradient: PotentialsGradient) -> list[Doc]:
        # rows without a gradient are not changed: without `label_pairs` none are
        n_rows = n_labels if head.structure.label_pairs else 0
        head.shim.add_gradient("trans", (np.arange(n_rows), gradient.trans[:n_rows]))
        if head.parts is not None:
            d_pairs = head.parts.pairs_back(gradient.trans)
            head.emissions.shim.add_gradient("pairs", d_pairs)
        if patterns is not None:
            head.shim.add_gradient("patterns", patterns.gradient(fired.features, gradient))
        if gradient.edge_scores is not None and edge_scores is not None:
            backprop_edges(gradient.edge_scores.astype(edge_scores.dtype, copy=False))
        emissions.backprop(gradient.scores.astype(scores.dtype, copy=False))
        return docs

    return potentials, backprop


def _edge_scores(
    model: TaggerModel, docs: WordDocs, n_labels: int, *, is_train: bool
) -> tuple[AnyFloats | None, Backprop]:
    """Scores of pairs of labels (N, L, L) from the text, None if there is no layer of them; and the
    way back."""
    if len(model.layers) == 1:
        return None, no_backprop
    pairs = flat_scores(model.layers[1], docs, is_train, n_labels**2, "transitions")

    def backprop(gradient: AnyFloats) -> object:
        return pairs.backprop(gradient.reshape(pairs.scores.shape))

    return _in_floats(pairs.scores).reshape(-1, n_labels, n_labels), backprop


def _in_floats(scores: AnyFloats) -> AnyFloats:
    """Half precision as single: decoders add up many scores."""
    return scores if scores.dtype == np.float64 else scores.astype(np.float32, copy=False)
