"""The structured head: emission scores + transitions + label patterns = the potentials of a batch."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model, Ops
from thinc.types import Floats2d

from ..decoders.potentials import Potentials, PotentialsGradient
from ..decoders.trie import Fired, PatternScores, PatternTrie
from ..errors import Errors
from ..features.sequences import sequence_lengths
from ..learning.parameter import Parameter
from ..patterns.sources import PatternFeatures, PatternSource, check_source
from .weights import WeightsShim, weights_of

TaggerModel = Model[List[Doc], Any]  # gives Potentials; its backprop takes a PotentialsGradient


def HigherOrderTagger(
    emissions: Model[List[Doc], List[Floats2d]], patterns: Optional[PatternSource] = None
) -> TaggerModel:
    """Potentials of higher-order sequence labelling. What computes the emissions, and from what, is not its concern.

    emissions: one score per label and token: sparse linear, neural, a sum of both, your own.
    patterns: where higher-order features come from; None = first order.
    RAISES ValueError [HS035]: `patterns` is no pattern source.
    """
    if patterns is not None:
        check_source(patterns)
    model: TaggerModel = Model(
        "higher_order_tagger",
        forward,
        init=init,
        layers=[emissions],
        dims={"nO": None},
        attrs={"source": patterns, "structure": _Structure()},
        shims=[WeightsShim("higher_order_tagger", _problem)],
    )
    for node in emissions.walk():
        if node.has_ref("tok2vec"):
            model.set_ref("tok2vec", node.get_ref("tok2vec"))  # where spaCy looks for it, as in pretraining
    return model


class _Structure:
    """The trie that belongs to the pattern definitions in use. Made when first needed, not saved."""

    def __init__(self) -> None:
        self._of: Any = None
        self.features: Optional[PatternFeatures] = None
        self.trie: Optional[PatternTrie] = None

    def use(self, definition: Dict[str, Any], n_labels: int) -> None:
        if self._of is not definition:
            self.features = PatternFeatures.from_arrays(definition)
            self.trie = PatternTrie(self.features.patterns, n_labels)
            self._of = definition


def init(model: TaggerModel, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
    """Zero weights for the emissions, the transitions and the patterns defined by `define_patterns` before."""
    model.layers[0].initialize(X, Y)
    if Y is None:
        return
    n_labels = Y[0].shape[1]
    model.set_dim("nO", n_labels)
    shim = weights_of(model)
    shim.set(Parameter("trans", np.zeros((n_labels, n_labels))))
    features = PatternFeatures.from_arrays(shim.extra["patterns"]) if "patterns" in shim.extra else None
    if features is not None:
        shim.set(Parameter("patterns", np.zeros(features.n_weights), nonnegative=True))


def define_patterns(model: TaggerModel, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> None:
    """Ask the source for its patterns. sequences: gold label ids, -1 where unknown."""
    source: Optional[PatternSource] = model.attrs["source"]
    shim = weights_of(model)
    shim.extra = {} if source is None else {"patterns": source.define(labels, sequences).to_arrays()}


def forward(
    model: TaggerModel, docs: List[Doc], is_train: bool
) -> Tuple[Any, Callable[[PotentialsGradient], List[Doc]]]:
    shim = weights_of(model)
    trans = shim.values("trans", is_train=is_train)
    emissions, backprop_emissions = model.layers[0](docs, is_train)
    scores = _concatenate(emissions, model.layers[0].ops, len(trans))
    fired_features, patterns = _pattern_scores(model, docs, is_train)
    potentials = Potentials(scores, trans, sequence_lengths(docs), patterns)

    def backprop(gradient: PotentialsGradient) -> List[Doc]:
        shim.add_gradient("trans", np.arange(len(trans)), gradient.trans)
        if patterns is not None:
            structure = model.attrs["structure"]
            shim.add_gradient("patterns", *_pattern_gradient(structure, fired_features, gradient))
        ends = np.cumsum([len(e) for e in emissions])[:-1]
        ops = model.layers[0].ops
        d_emissions = [ops.asarray2f(cast(Floats2d, part)) for part in np.split(gradient.scores, ends)]
        result: List[Doc] = backprop_emissions(d_emissions)
        return result

    return potentials, backprop


def _problem(shim: WeightsShim) -> str:
    """What is wrong with loaded weights: patterns must name labels of the transition table, and weights that exist."""
    shape = shim.parameters["trans"].values.shape if "trans" in shim.parameters else (0, 0)
    if len(shape) != 2 or shape[0] != shape[1]:
        return f"transitions must be a square table, got {shape}"
    if "patterns" not in shim.extra or not shape[0]:
        return ""
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    PatternTrie(features.patterns, shape[0])
    sizes = {len(features.patterns), len(features.weight_of), len(features.rule_of)}
    weights = shim.parameters["patterns"].values
    if len(sizes) > 1 or weights.shape != (features.n_weights,) or (features.weight_of < 0).any():
        return "pattern definitions and pattern weights do not fit together"
    return "" if (weights >= 0).all() else "a pattern weight is negative"


def _concatenate(emissions: List[Floats2d], ops: Ops, n_labels: int) -> NDArray[np.float32]:
    """RETURNS (N, L) float32. RAISES ValueError [HS053]: the emissions do not fit the labels."""
    arrays: List[NDArray[Any]] = [ops.to_numpy(e) for e in emissions]
    for array in arrays:
        if array.shape[1] != n_labels:
            raise ValueError(Errors.HS053.format(got=array.shape[1], expected=n_labels))
    return np.concatenate(arrays).astype(np.float32, copy=False) if arrays else np.zeros((0, n_labels), np.float32)


def _pattern_scores(
    model: TaggerModel, docs: List[Doc], is_train: bool
) -> Tuple[NDArray[np.intp], Optional[PatternScores]]:
    """Weights of the patterns at the trie's nodes and positions. RETURNS feature of each fired entry, scores."""
    shim, source = weights_of(model), model.attrs["source"]
    if source is None or "patterns" not in shim.extra:
        return np.zeros(0, np.intp), None
    structure: _Structure = model.attrs["structure"]
    structure.use(shim.extra["patterns"], model.get_dim("nO"))
    features, trie = structure.features, structure.trie
    if features is None or trie is None or not len(features.patterns):
        return np.zeros(0, np.intp), None
    weights = shim.values("patterns", is_train=is_train)[features.weight_of]  # (P,)
    everywhere = features.rule_of < 0
    node_weights: NDArray[np.float64] = np.zeros(len(trie))
    node_weights += np.bincount(trie.node_of[everywhere], weights[everywhere], minlength=len(trie))
    fired, which = None, np.zeros(0, np.intp)
    if not everywhere.all():
        tokens, rules = source.fire(docs)
        which, tokens = features.expand(rules, tokens)
        fired = Fired(tokens, trie.node_of[which], weights[which])
    return which, PatternScores(trie, node_weights, fired)


def _pattern_gradient(
    structure: _Structure, fired_features: NDArray[np.intp], gradient: PotentialsGradient
) -> Tuple[NDArray[np.intp], NDArray[np.float64]]:
    """From nodes and positions back to weights; tied patterns add up. RETURNS weights touched, their gradient."""
    features, trie = structure.features, structure.trie
    if features is None or trie is None:
        return np.zeros(0, np.intp), np.zeros(0)
    everywhere = np.flatnonzero(features.rule_of < 0)
    total = np.zeros(features.n_weights)
    at_nodes = gradient.node_weights[trie.node_of[everywhere]]
    total += np.bincount(features.weight_of[everywhere], at_nodes, minlength=len(total))
    total += np.bincount(features.weight_of[fired_features], gradient.fired_weights, minlength=len(total))
    touched = np.flatnonzero(total)
    return touched, total[touched]
