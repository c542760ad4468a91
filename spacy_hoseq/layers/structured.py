"""The structured head: emission scores + transitions + label patterns = the potentials of a
batch."""

from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..arrays import AnyFloats, Keys
from ..decoders.problem import MAX_STATES, Potentials, PotentialsGradient, check_pattern
from ..errors import Errors
from ..features.sequences import words_of
from ..learning.parameter import Parameter
from ..patterns.sources import PatternFeatures, PatternSource, check_features, check_source
from .label_parts import PartsOf, label_parts
from .listening.listener import replace_listener
from .named_features import Feature
from .pattern_features import (
    Structure,
    configurations_fit,
    features_of,
    no_features,
    weight_gradient,
)
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
    """Potentials of higher-order sequence labelling. What computes the emissions, and from what, is
    not its concern.

    emissions: one score per label and token: sparse linear, neural, a sum of both, your own.
    patterns: where higher-order features come from; None = first order.
    nonnegative (bool): keep weights of patterns >= 0, which makes exact decoding linear in the
        nodes of their trie; False = any sign, decoded by longest matches at the cost of U L a
        token.
    max_states (int): limit on the states of a token that configurations (label sets, gaps) may
        need.
    transitions: what the text says of pairs of labels, one score per pair and token (L * L columns,
        the earlier label first), on top of those that are the same everywhere; None = nothing. Not
        together with patterns.
    label_pairs (bool): one weight for each pair of neighbouring labels; False = none, so that
        without patterns and transitions every token is labelled on its own.
    parts: what labels are made of (`label_parts.py`): emissions are of these, and so are weights
        for pairs, beside those of `label_pairs`; None = each label stands for itself.
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

    def define(self, texts: TrainingTexts) -> None:
        """Ask the source for its patterns, if there is one; else nothing is read. RAISES as
        `check_features`."""
        shim = weights_of(self.model)
        shim.extra = {}
        source = self.source
        if source is None:
            return
        gold = list(texts.gold)
        if hasattr(source, "see"):
            for docs in texts.docs():
                source.see(docs)
        features = source.define(texts.labels, gold)
        check_features(features, texts.labels, gold)
        shim.extra = {"patterns": features.to_arrays(), "n_rules": source.n_rules}

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
        shim = weights_of(self.model)
        shim.set(Parameter("trans", np.zeros((n_labels, n_labels))))
        if "patterns" in shim.extra:
            features = PatternFeatures.from_arrays(shim.extra["patterns"])
            zeros = np.zeros(features.n_weights)
            shim.set(Parameter("patterns", zeros, nonnegative=self.structure.nonnegative))

    def prepare(self) -> None:
        shim = weights_of(self.model)
        if "trans" not in shim.parameters:
            return
        trans = transitions_of(self.model, is_train=False)
        in_use = None
        if self.source is not None and "patterns" in shim.extra:
            weights = shim.values("patterns", is_train=False)
            in_use = self.structure.in_use(
                shim.extra["patterns"], len(trans), weights, is_train=False
            )
            in_use = in_use if in_use.features.n_weights else None
        self.structure.prepared(trans, in_use)

    def forget_words(self) -> None:
        """What rules remember of them."""
        forget = getattr(self.source, "forget_words", None)
        if forget is not None:
            forget()


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
    higher_order = no_features()
    if model.attrs["source"] is not None and "patterns" in shim.extra:
        weights = shim.values("patterns", is_train=is_train)
        in_use = structure.in_use(shim.extra["patterns"], len(trans), weights, is_train=is_train)
        higher_order = features_of(
            docs, model.attrs["source"], in_use, weights, structure.max_states
        )
    edge_scores: Optional[AnyFloats] = None
    backprop_pairs: Backprop = no_backprop
    for layer in model.layers[1:]:
        pairs = flat_scores(layer, docs, is_train, len(trans) ** 2, "transitions")
        edge_scores = _in_floats(pairs.scores).reshape(len(scores), len(trans), len(trans))
        backprop_pairs = pairs.backprop
    prepared = (structure.learning if is_train else structure.prepared)(trans, higher_order.in_use)
    fired = higher_order.fired
    configurations = higher_order.configurations
    potentials = Potentials(scores, prepared, emissions.lengths, fired, configurations, edge_scores)

    def backprop(gradient: PotentialsGradient) -> List[Doc]:
        pairs = len(trans) if structure.label_pairs else 0
        shim.add_gradient("trans", (np.arange(pairs), gradient.trans[:pairs]))
        scorer_of(model.layers[0]).transitions_gradient(gradient.trans)
        if "patterns" in shim.parameters:
            shim.add_gradient("patterns", weight_gradient(higher_order, gradient))
        if gradient.edge_scores is not None and edge_scores is not None:
            d_pairs = gradient.edge_scores.reshape(len(scores), len(trans) ** 2)
            backprop_pairs(d_pairs.astype(edge_scores.dtype, copy=False))
        emissions.backprop(gradient.scores.astype(scores.dtype, copy=False))
        return docs

    return potentials, backprop


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
