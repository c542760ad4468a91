"""The structured head: emission scores + transitions + label patterns = the potentials of a batch."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model, Ops
from thinc.types import Floats2d

from ..decoders.configurations import MAX_STATES, Configurations
from ..decoders.limits import Limits
from ..decoders.potentials import Potentials, PotentialsGradient
from ..decoders.trie import Fired, PatternScores, PatternTrie
from ..errors import Errors
from ..features.sequences import sequence_lengths
from ..learning.parameter import Parameter
from ..patterns.sources import ConfigurationFeatures, PatternFeatures, PatternSource, check_features, check_source
from .marginal_listener import replace_listener
from .weights import WeightsShim, weights_of

TaggerModel = Model[List[Doc], Any]  # gives Potentials; its backprop takes a PotentialsGradient


def HigherOrderTagger(
    emissions: Model[List[Doc], List[Floats2d]],
    patterns: Optional[PatternSource] = None,
    nonnegative: bool = True,
    max_states: int = MAX_STATES,
    transitions: Optional[Model[List[Doc], List[Floats2d]]] = None,
    label_pairs: bool = True,
) -> TaggerModel:
    """Potentials of higher-order sequence labelling. What computes the emissions, and from what, is not its concern.

    emissions: one score per label and token: sparse linear, neural, a sum of both, your own.
    patterns: where higher-order features come from; None = first order.
    nonnegative (bool): keep weights of patterns >= 0, which makes exact decoding linear in the nodes of their trie;
        False = any sign, decoded by longest matches at the cost of U L a token.
    max_states (int): limit on the states of a token that configurations (label sets, gaps) may need.
    transitions: what the text says of pairs of labels, one score per pair and token (L * L columns, the earlier label
        first), on top of those that are the same everywhere; None = nothing. Not together with patterns.
    label_pairs (bool): one weight for each pair of neighbouring labels; False = none, so that without patterns and
        transitions every token is labelled on its own.
    RAISES ValueError [HS035]: `patterns` is no pattern source; [HS056]: `max_states` below 1; [HS099]: both patterns
        and transitions.
    """
    if patterns is not None and transitions is not None:
        raise ValueError(Errors.HS099.format(decoder="label patterns"))
    if patterns is not None:
        check_source(patterns)
    if max_states < 1:
        raise ValueError(Errors.HS056.format(max_states=max_states))
    model: TaggerModel = Model(
        "higher_order_tagger",
        forward,
        init=init,
        layers=[emissions] if transitions is None else [emissions, transitions],
        dims={"nO": None},
        attrs={
            "source": patterns,
            "structure": _Structure(nonnegative, max_states, label_pairs),
            "replace_listener": replace_listener,
        },
        shims=[WeightsShim("higher_order_tagger", _problem)],
    )
    for node in emissions.walk():
        if node.has_ref("tok2vec"):
            model.set_ref("tok2vec", node.get_ref("tok2vec"))  # where spaCy looks for it, as in pretraining
    return model


class _Structure:
    """The trie that belongs to the pattern definitions in use, made when first needed, and settings of the config.

    Not saved: a loaded model makes its own. `max_states` is that of the config it is loaded with; `nonnegative` is used
    in initialization, and after that a property of the weights, which is saved with them; `label_pairs` in learning.
    What is made from finished weights is kept as long as they are: such arrays are read-only, and new weights are a new
    array, so that it is enough to compare which array it is.
    """

    def __init__(self, nonnegative: bool, max_states: int, label_pairs: bool) -> None:
        self.nonnegative, self.max_states, self.label_pairs = nonnegative, max_states, label_pairs
        self._of: Any = None
        self.features: Optional[PatternFeatures] = None
        self.trie: Optional[PatternTrie] = None
        self._nodes: Tuple[Any, Any] = None, None  # finished weights, what they are at the nodes of the trie
        self._limits: Optional[Limits] = None

    def use(self, definition: Dict[str, Any], n_labels: int) -> None:
        if self._of is not definition:
            self.features = PatternFeatures.from_arrays(definition)
            self.trie = PatternTrie(self.features.patterns, n_labels)
            self._of, self._nodes = definition, (None, None)

    def node_weights(self, weights: NDArray[np.floating]) -> NDArray[np.float64]:
        """Weights of the patterns that fire everywhere, by node. Those of finished weights are kept."""
        weights_before, nodes = self._nodes
        if nodes is not None and weights is weights_before:
            return cast(NDArray[np.float64], nodes)
        features, trie = cast(PatternFeatures, self.features), cast(PatternTrie, self.trie)
        everywhere = features.rule_of < 0
        own = weights[features.weight_of[everywhere]]
        fresh: NDArray[np.float64] = np.zeros(len(trie))
        fresh += np.bincount(trie.node_of[everywhere], own, minlength=len(trie))
        if not weights.flags.writeable:
            fresh.setflags(write=False)
            self._nodes = weights, fresh
        return fresh

    def limits(self, trans: NDArray[np.floating], patterns: Optional[PatternScores]) -> Limits:
        """What pruning knows of finished weights: the same record as long as they are the same."""
        limits = self._limits
        if limits is None or not limits.belong_to(trans, patterns):
            limits = self._limits = Limits(trans, patterns)
        return limits

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_nodes": (None, None), "_limits": None}  # a worker process makes its own


def init(model: TaggerModel, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
    """Zero weights for the emissions, the transitions and the patterns defined by `define_patterns` before."""
    model.layers[0].initialize(X, Y)
    if Y is None:
        return
    n_labels = Y[0].shape[1]
    model.set_dim("nO", n_labels)
    for layer in model.layers[1:]:
        layer.initialize(X, [cast(Floats2d, np.zeros((len(y), n_labels**2), np.float32)) for y in Y])
    shim = weights_of(model)
    shim.set(Parameter("trans", np.zeros((n_labels, n_labels))))
    features = PatternFeatures.from_arrays(shim.extra["patterns"]) if "patterns" in shim.extra else None
    if features is not None:
        weights = np.zeros(features.n_weights)
        shim.set(Parameter("patterns", weights, nonnegative=model.attrs["structure"].nonnegative))


def define_patterns(model: TaggerModel, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> None:
    """Ask the source for its patterns. sequences: gold label ids, -1 where unknown. RAISES as `check_features`."""
    source: Optional[PatternSource] = model.attrs["source"]
    shim = weights_of(model)
    shim.extra = {}
    if source is not None:
        features = source.define(labels, sequences)
        check_features(features, labels, sequences)
        shim.extra = {"patterns": features.to_arrays()}


def forward(
    model: TaggerModel, docs: List[Doc], is_train: bool
) -> Tuple[Any, Callable[[PotentialsGradient], List[Doc]]]:
    shim = weights_of(model)
    trans = shim.values("trans", is_train=is_train)
    if is_train:
        trans = trans.copy()  # listeners read the potentials after the weights have changed
    emissions, backprop_emissions = model.layers[0](docs, is_train)
    scores = _concatenate(emissions, model.layers[0].ops, len(trans), "emissions", "labels")
    found = _pattern_scores(model, docs, is_train)
    moves, backprop_moves = None, None
    for layer in model.layers[1:]:
        pairs, backprop_moves = layer(docs, is_train)
        flat = _concatenate(pairs, layer.ops, len(trans) ** 2, "transitions", "pairs of labels")
        moves = flat.reshape(len(scores), len(trans), len(trans))
    limits = None if is_train else model.attrs["structure"].limits(trans, found.patterns)
    lengths = sequence_lengths(docs)
    potentials = Potentials(scores, trans, lengths, found.patterns, found.configurations, moves, limits)

    def backprop(gradient: PotentialsGradient) -> List[Doc]:
        pairs = len(trans) if model.attrs["structure"].label_pairs else 0
        shim.add_gradient("trans", np.arange(pairs), gradient.trans[:pairs])
        if "patterns" in shim.parameters:
            shim.add_gradient("patterns", *_pattern_gradient(model.attrs["structure"], found, gradient))
        ends = np.cumsum([len(e) for e in emissions])[:-1]
        if backprop_moves is not None and gradient.moves is not None and moves is not None:
            d_moves = gradient.moves.reshape(len(scores), len(trans) ** 2).astype(moves.dtype, copy=False)
            ops = model.layers[1].ops
            backprop_moves([cast(Floats2d, ops.asarray(cast(Any, part))) for part in np.split(d_moves, ends)])
        ops = model.layers[0].ops
        d_scores = gradient.scores.astype(scores.dtype, copy=False)
        d_emissions = [cast(Floats2d, ops.asarray(cast(Any, part))) for part in np.split(d_scores, ends)]
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
    parameter = shim.parameters["patterns"]
    fits = len(sizes) == 1 and parameter.values.shape == (features.n_weights,) and (features.weight_of >= 0).all()
    if not fits or not _configurations_fit(features.configurations, shape[0]):
        return "pattern definitions and pattern weights do not fit together"
    return "a pattern weight is negative" if parameter.nonnegative and (parameter.values < 0).any() else ""


def _configurations_fit(features: Optional[ConfigurationFeatures], n_labels: int) -> bool:
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


def _concatenate(parts: List[Floats2d], ops: Ops, n_columns: int, name: str, columns: str) -> NDArray[np.float32]:
    """RETURNS (N, n_columns) float32, or float64 if that is what they are. RAISES ValueError [HS053]: another width."""
    arrays: List[NDArray[Any]] = [ops.to_numpy(part) for part in parts]
    for array in arrays:
        if array.shape[1] != n_columns:
            raise ValueError(Errors.HS053.format(name=name, got=array.shape[1], expected=n_columns, columns=columns))
    if not arrays:
        return np.zeros((0, n_columns), np.float32)
    scores = np.concatenate(arrays)
    return scores if scores.dtype == np.float64 else scores.astype(np.float32, copy=False)


class _Found(NamedTuple):
    """Higher-order features of a batch, and the definition of each fired one (its number in `PatternFeatures`)."""

    patterns: Optional[PatternScores]
    configurations: Optional[Configurations]
    fired_features: NDArray[np.intp]
    span_features: NDArray[np.intp]


def _pattern_scores(model: TaggerModel, docs: List[Doc], is_train: bool) -> _Found:
    """Weights of the patterns at the trie's nodes and positions, and of configurations at their spans."""
    shim, source = weights_of(model), model.attrs["source"]
    nothing = np.zeros(0, np.intp)
    if source is None or "patterns" not in shim.extra:
        return _Found(None, None, nothing, nothing)
    structure: _Structure = model.attrs["structure"]
    structure.use(shim.extra["patterns"], model.get_dim("nO"))
    features, trie = structure.features, structure.trie
    if features is None or trie is None or not features.n_weights:
        return _Found(None, None, nothing, nothing)
    weights = shim.values("patterns", is_train=is_train)
    fired_by_rules = source.fire(docs) if source.n_rules else None
    patterns, which = None, nothing
    if features.patterns:
        own = weights[features.weight_of]  # (P,)
        everywhere = features.rule_of < 0
        fired = None
        if fired_by_rules is not None and not everywhere.all():
            which, tokens = features.expand(fired_by_rules)
            fired = Fired(tokens, trie.node_of[which], own[which])
        patterns = PatternScores(trie, structure.node_weights(weights), fired)
    configurations, spans = None, nothing
    if features.configurations is not None and fired_by_rules is not None:
        spans, first, sizes, slots = features.configurations.expand(fired_by_rules)
        if len(spans):
            earned = weights[features.configurations.weight_of[spans]]
            sets = features.configurations.sets
            configurations = Configurations(first, sizes, slots, sets, earned, structure.max_states)
    return _Found(patterns, configurations, which, spans)


def _pattern_gradient(
    structure: _Structure, found: _Found, gradient: PotentialsGradient
) -> Tuple[NDArray[np.intp], NDArray[np.float64]]:
    """From nodes, positions and spans back to weights; tied features add up. RETURNS weights touched, gradient."""
    features, trie = structure.features, structure.trie
    if features is None or trie is None:
        return np.zeros(0, np.intp), np.zeros(0)
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
