"""Emission scores from the labels of an earlier component: features with their probabilities as values.

    scores[n] = sum over n-grams of labels g around token n, and templates k, of q(g) * the weight row of k with g

q as in `label_ngrams`. A template may also name words: then the feature is the n-gram together with these words.
"""

from functools import partial
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps
from thinc.types import Floats2d

from ..decoders.label_ngrams import LabelLattice, NGrams
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex, KeyCounter
from ..features.keys import Keys
from ..features.label_templates import label_keys
from ..features.sequences import sequence_lengths
from ..features.templates import parse_templates
from ..features.upstream_templates import split_upstream
from ..learning.parameter import Parameter
from .marginal_listener import LabelsModel, own_labels
from .sparse_linear import BLOCK_TOKENS
from .storage import keys_problem
from .upstream import UpstreamLabels
from .weights import WeightsShim, weights_of

Ints = NDArray[np.intp]
Rows = NDArray[np.int32]
Floats = NDArray[np.floating]
Emissions = Model[List[Doc], List[Floats2d]]


def MarginalLinear(
    upstream: LabelsModel, templates: List[str], min_count: int = 1, nO: Optional[int] = None
) -> Emissions:
    """Linear emission scores over labels of an earlier component.

    upstream: `spacy_hoseq.MarginalListener.v1`; or a tagger's model, where spaCy has replaced the listener by it.
    templates: such as "upstream[-1]+upstream[0]" (features/upstream_templates.py).
    min_count (int): features seen fewer times in the training data have no weight.
    nO (int): number of labels; found in initialization.
    RAISES ValueError [HS010-HS013, HS019]: bad templates; [HS017]: `min_count`.
    """
    if min_count < 1:
        raise ValueError(Errors.HS017.format(min_count=min_count))
    source = own_labels(cast(Any, upstream)) if upstream.name == "higher_order_tagger" else upstream
    return Model(
        "marginal_linear",
        forward,
        init=init,
        layers=[source],
        dims={"nO": nO},
        attrs={
            "features": MarginalFeatures(templates),
            "min_count": min_count,
            "dropout_rate": 0.0,
            "index_upstream": index_upstream,
            "forget_words": forget_words,
        },
        shims=[WeightsShim("marginal_linear", _problem)],
    )


class Feature(NamedTuple):
    """Features of one template in a batch. ngrams (M of them): where, and how probable. keys (M,)."""

    ngrams: NGrams
    keys: Keys


class MarginalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use."""

    def __init__(self, templates: List[str]) -> None:
        self.templates = split_upstream(parse_templates(templates))
        self.words = FeatureExtractor(self.templates.words) if self.templates.words else None
        self._known: Dict[str, Any] = {}
        self._index: Optional[ExactIndex] = None

    def index(self, known: Dict[str, Any]) -> ExactIndex:
        """RAISES ValueError [HS052]: no features yet."""
        if self._index is None or self._known is not known:
            if "keys" not in known:
                raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
            self._index, self._known = ExactIndex(known["keys"]), known
        return self._index

    def lattice(self, docs: List[Doc], labels: UpstreamLabels) -> LabelLattice:
        return LabelLattice(labels.probable, sequence_lengths(docs), self.templates.margin)

    def features(self, docs: List[Doc], labels: UpstreamLabels, lattice: LabelLattice) -> List[Feature]:
        """One for each template."""
        words = self.words.keys(docs) if self.words is not None else np.zeros((0, 0), np.uint64)
        ngrams = {places: lattice.ngrams(places, labels.threshold) for places in self.templates.places}
        values = {  # of the labels at each place of each n-gram
            places: [labels.keys[lattice.labels[cells]] for cells in found.cells] for places, found in ngrams.items()
        }
        result = []
        for template in self.templates.labels:
            found, of_words = ngrams[template.offsets], words[:0]
            if template.word >= 0:
                of_words = words[template.word].take(found.tokens)[None]
                template = template._replace(word=0)
            result.append(Feature(found, label_keys(template, of_words, values[template.offsets])))
        return result


def init(model: Emissions, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
    """Zero weights for the features found by `index_upstream` before."""
    if Y is None:
        return
    model.set_dim("nO", Y[0].shape[1])
    shim = weights_of(model)
    n_rows = model.attrs["features"].index(shim.extra).n_rows
    shim.set(Parameter("table", np.zeros((n_rows + 1, model.get_dim("nO")), np.float32)))


def index_upstream(model: Emissions, batches: Iterable[Tuple[List[Doc], UpstreamLabels]]) -> None:
    """Number the features of the training texts. batches: docs with the labels of the earlier component."""
    counter, features = KeyCounter(), model.attrs["features"]
    for docs, labels in batches:
        for feature in features.features(docs, labels, features.lattice(docs, labels)):
            counter.add(feature.keys)
    weights_of(model).extra = {"keys": counter.frequent(model.attrs["min_count"])}


def forget_words(model: Emissions) -> None:
    """Drop what is remembered of words (at the end of a memory zone)."""
    if model.attrs["features"].words is not None:
        model.attrs["features"].words.forget_words()


def forward(
    model: Emissions, docs: List[Doc], is_train: bool
) -> Tuple[List[Floats2d], Callable[[List[Floats2d]], List[Doc]]]:
    shim, features = weights_of(model), model.attrs["features"]
    index: ExactIndex = features.index(shim.extra)
    table = shim.values("table", is_train=is_train)
    labels, backprop_upstream = model.layers[0](docs, is_train)
    ends = np.cumsum([len(doc) for doc in docs])
    n_tokens = int(ends[-1]) if len(docs) else 0
    lattice = features.lattice(docs, labels)
    drop = model.attrs["dropout_rate"] if is_train else 0.0
    active = []
    for ngrams, keys in features.features(docs, labels, lattice):
        rows = index.lookup(keys)
        kept = rows < index.n_rows
        if drop:  # feature dropout: each template at each token is left out with probability `drop`
            kept &= (shim.rng.random(n_tokens, dtype=np.float32) >= drop)[ngrams.tokens]
        active.append(Active(ngrams, rows, np.flatnonzero(kept)))
    scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
    scores = _scores(table, active, n_tokens)
    scores *= scale
    result = cast(List[Floats2d], np.split(scores, ends[:-1]) if len(ends) else [])
    return result, partial(_backprop, shim, lattice, active, table, scale, backprop_upstream)


class Active(NamedTuple):
    """Features of one template that have a weight. rows (M,): of all n-grams. kept (m,): those with a weight."""

    ngrams: NGrams
    rows: Rows
    kept: Ints


def _scores(table: Floats, active: List[Active], n_tokens: int) -> Floats:
    """RETURNS (N, L). Most tokens have one n-gram of a template; these are added template by template, and what else a
    token has as one sum. In blocks of tokens, which stay in the processor's cache."""
    first, others = _split(table, active, n_tokens)
    scores = np.zeros((n_tokens, table.shape[1]), table.dtype)
    buffer = np.empty((min(BLOCK_TOKENS, n_tokens), table.shape[1]), table.dtype)
    for start in range(0, n_tokens, BLOCK_TOKENS):
        block = scores[start : start + BLOCK_TOKENS]
        weighted = buffer[: len(block)]
        for rows, values in first:
            np.take(table, rows[start : start + BLOCK_TOKENS], axis=0, out=weighted, mode="clip")
            weighted *= values[start : start + BLOCK_TOKENS]
            block += weighted
        at = slice(*np.searchsorted(others.tokens, [start, start + BLOCK_TOKENS]).tolist())
        if at.start < at.stop:
            several = table.take(others.rows[at], axis=0)
            several *= others.values[at]
            starts = np.flatnonzero(np.diff(others.tokens[at], prepend=-1))
            scores[others.tokens[at][starts]] += np.add.reduceat(several, starts, axis=0)
    return scores


class Others(NamedTuple):
    """N-grams beside the first of their template and token, in order of tokens. values (M, 1)."""

    tokens: Ints
    rows: Rows
    values: Floats


def _split(table: Floats, active: List[Active], n_tokens: int) -> "Tuple[List[Tuple[Rows, Floats]], Others]":
    """For each template the row (N,) and value (N, 1) of the first n-gram at each token, the last row of the table
    where there is none; and all others."""
    first, tokens, rows, values = [], [], [], []
    for found, own_rows, kept in active:
        at, row, value = found.tokens[kept], own_rows[kept], found.values[kept].astype(table.dtype)
        again = np.flatnonzero(np.diff(at, prepend=-1) == 0)
        first_rows, first_values = np.full(n_tokens, len(table) - 1, np.int32), np.zeros((n_tokens, 1), table.dtype)
        first_rows[at[::-1]], first_values[at[::-1], 0] = row[::-1], value[::-1]  # of several the first is written last
        first.append((first_rows, first_values))
        tokens.append(at[again])
        rows.append(row[again])
        values.append(value[again])
    together = np.concatenate(tokens)
    order = np.argsort(together, kind="stable")
    return first, Others(together[order], np.concatenate(rows)[order], np.concatenate(values)[order, None])


def _backprop(
    shim: WeightsShim,
    lattice: LabelLattice,
    active: List[Active],
    table: Floats,
    scale: np.float32,
    backprop_upstream: Callable[..., Any],
    d_scores: List[Floats2d],
) -> List[Doc]:
    gradient = np.concatenate(cast(List[Any], d_scores)) * scale
    taught: NDArray[np.bool_] = np.asarray(gradient.any(axis=1))
    used = [(found, rows[kept], kept) for found, rows, kept in active]
    used = [(found, rows[taught[found.tokens[kept]]], kept[taught[found.tokens[kept]]]) for found, rows, kept in used]
    unique, inverse = np.unique(np.concatenate([rows for _, rows, _ in used]), return_inverse=True)
    summed = np.zeros((len(unique), gradient.shape[1]), gradient.dtype)
    places = np.split(inverse.reshape(-1).astype(np.int32), np.cumsum([len(rows) for _, rows, _ in used])[:-1])
    through, ops = [], NumpyOps()
    for (found, rows, kept), place in zip(used, places, strict=True):
        at_token = gradient.take(found.tokens[kept], axis=0)
        d_values = np.zeros(len(found.values))
        d_values[kept] = np.einsum("ml,ml->m", table.take(rows, axis=0), at_token)
        through.append((found, d_values))
        at_token *= found.values[kept, None].astype(gradient.dtype)
        ops.scatter_add(summed, place, at_token)
    shim.add_gradient("table", unique, summed)
    backprop_upstream(lattice.backprop(through))
    return []


def _problem(shim: WeightsShim) -> str:
    """What is wrong with loaded weights: the features must be those of the table's rows."""
    keys = shim.extra.get("keys")
    table = shim.parameters["table"].values if "table" in shim.parameters else None
    problem = "" if keys is None else keys_problem(keys)
    if problem:
        return problem
    if table is not None and (keys is None or table.shape[:-1] != (len(keys) + 1,)):
        return f"a table of shape {table.shape} does not fit {0 if keys is None else len(keys)} features"
    return ""
