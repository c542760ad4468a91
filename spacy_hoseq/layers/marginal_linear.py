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
from ..features.extract import Columns, FeatureExtractor
from ..features.index import ExactIndex, KeyCounter
from ..features.keys import ABSENT, Keys
from ..features.label_templates import label_keys
from ..features.sequences import sequence_lengths
from ..features.templates import parse_templates
from ..features.upstream_templates import split_upstream
from ..learning.parameter import Parameter
from .marginal_listener import LabelsModel, own_labels
from .scores_by_doc import ScoresByDoc
from .storage import keys_problem
from .upstream import UpstreamLabels
from .weights import WeightsShim, weights_of

BLOCK_TOKENS = 16_384  # tokens whose features and scores are computed together
MULTIPLIED = 256  # tokens whose rows are gathered together: they stay in the processor's cache
SEVERAL = 8  # rows that are added by one product
MAX_CODES = 1 << 20  # strings of labels that a table is made for

Ints = NDArray[np.intp]
Rows = NDArray[np.int32]
Floats = NDArray[np.floating]
NONE = np.zeros(0, np.intp)
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
    """Features of one template in a batch. ngrams (M of them). tokens (M,): around which, -1 = none. distinct (U,):
    keys. which (M,): the key of each n-gram, None = each has its own."""

    ngrams: NGrams
    tokens: Ints
    distinct: Keys
    which: Optional[Ints]

    @property
    def keys(self) -> Keys:
        """Those around tokens."""
        keys = self.distinct if self.which is None else self.distinct[self.which]
        return keys[self.tokens >= 0]

    def rows(self, index: ExactIndex) -> Rows:
        """RETURNS (M,)."""
        rows = index.lookup(self.distinct)
        return rows if self.which is None else rows.take(self.which)


class Batch(NamedTuple):
    """What the features of a batch are made of. lengths (S,): of its sequences. columns: of its words, if there are
    templates about them. ids (C,): the labels of the lattice's cells, as numbers of `labels.keys`."""

    lengths: NDArray[np.int32]
    columns: Optional[Columns]
    labels: UpstreamLabels
    lattice: LabelLattice
    ids: Ints


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

    def batch(self, docs: List[Doc], labels: UpstreamLabels) -> Batch:
        columns = self.words.columns(docs) if self.words is not None else None
        lengths = sequence_lengths(docs) if columns is None else columns.lengths
        lattice = LabelLattice(labels.probable, lengths, self.templates.margin)
        return Batch(lengths, columns, labels, lattice, lattice.labels % len(labels.keys))

    def features(self, batch: Batch, start: int, stop: int) -> List[Feature]:
        """One for each template, around the tokens start <= n < stop. What templates look at is found once for each
        shape of n-grams: "upstream[-1]+upstream[0]" and "upstream[1]+upstream[2]" have the same ones."""
        _, columns, labels, lattice, ids = batch
        words = np.zeros((0, 0), np.uint64)
        if self.words is not None and columns is not None:
            found = self.words.keys_between(columns, start, stop)
            words = np.concatenate([found, np.full((len(found), 1), ABSENT)], axis=1)  # the last for "no token"
        around = lattice.between(start, stop)
        ngrams = {shape: around.ngrams(shape, labels.threshold) for shape in self.templates.shapes}
        own = {shape: [ids.take(cells) for cells in found.cells] for shape, found in ngrams.items()}
        strings = {shape: distinct_strings(found, len(labels.keys)) for shape, found in own.items()}
        tokens = {at: around.tokens_before(ngrams[at.shape], at.first) for at in self.templates.places}
        result = []
        for template, at in zip(self.templates.labels, self.templates.places_of, strict=True):
            of_words, (found, which) = words[:0], strings[at.shape]
            if template.word >= 0:
                local = np.where(tokens[at] < 0, words.shape[1] - 1, tokens[at] - start)
                of_words = words[template.word].take(local)[None]
                template, found, which = template._replace(word=0), own[at.shape], None
            keys = label_keys(template, of_words, [labels.keys.take(ids) for ids in found])
            result.append(Feature(ngrams[at.shape], tokens[at], keys, which))
        return result


def distinct_strings(labels: List[Ints], n: int) -> Tuple[List[Ints], Optional[Ints]]:
    """Strings of labels, each once: there are far fewer than tokens. labels: for each place (M,), from 0 to below n.
    RETURNS the same for the distinct ones, (U,) each, and which of these the M are; None if all are left as they are.
    """
    n_codes = n ** len(labels)
    if n_codes > MAX_CODES:
        return labels, None
    codes = labels[0]
    for at in labels[1:]:
        codes = codes * n + at
    present = np.zeros(n_codes, bool)
    present[codes] = True
    distinct = np.flatnonzero(present)
    number = np.empty(n_codes, np.intp)
    number[distinct] = np.arange(len(distinct))
    powers = [n**i for i in reversed(range(len(labels)))]
    return [distinct // power % n for power in powers], number.take(codes)


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
        for feature in features.features(features.batch(docs, labels), 0, sum(map(len, docs))):
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
    n_tokens = sum(map(len, docs))
    batch = features.batch(docs, labels)
    if not is_train:
        scores = np.empty((n_tokens, table.shape[1]), table.dtype)
        for start in range(0, n_tokens, BLOCK_TOKENS):
            stop = min(start + BLOCK_TOKENS, n_tokens)
            found = [Active(*part[:2], part.rows(index), NONE) for part in features.features(batch, start, stop)]
            scores[start:stop] = _scores(table, found, start, stop)
        return ScoresByDoc(scores, batch.lengths, docs), _no_backprop
    drop, active = model.attrs["dropout_rate"], []
    for feature in features.features(batch, 0, n_tokens):
        ngrams, tokens, rows = feature.ngrams, feature.tokens, feature.rows(index)
        kept = (rows < index.n_rows) & (tokens >= 0)
        if drop:  # feature dropout: each template at each token is left out with probability `drop`
            kept &= np.append(shim.rng.random(n_tokens, dtype=np.float32) >= drop, False)[tokens]
        rows = np.where(kept, rows, np.int32(index.n_rows))
        active.append(Active(ngrams, tokens, rows, np.flatnonzero(kept)))
    scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
    scores = _scores(table, active, 0, n_tokens)
    scores *= scale
    backprop = partial(_backprop, shim, batch.lattice, active, table, scale, backprop_upstream)
    return ScoresByDoc(scores, batch.lengths, docs), backprop


def _no_backprop(d_scores: List[Floats2d]) -> List[Doc]:
    return []


class Active(NamedTuple):
    """Features of one template. ngrams, tokens (M,): as in `Feature`. rows (M,): the last one of the table where there
    is no weight. kept (m,): n-grams around tokens that have one, in training."""

    ngrams: NGrams
    tokens: Ints
    rows: Rows
    kept: Ints


class Others(NamedTuple):
    """N-grams beside the first of their template and token, in order of tokens. values (M,)."""

    tokens: Ints
    rows: Rows
    values: Floats


def _scores(table: Floats, active: List[Active], start: int, stop: int) -> Floats:
    """Of the tokens start <= n < stop. RETURNS (stop - start, L).

    Most tokens have one n-gram of a template: their rows, one for each template, are multiplied by their values in one
    product a token. What else a token has is added in products of SEVERAL rows. Both depend on the token alone."""
    rows, values, others = _split(table, active, start, stop)
    n_tokens, n_rows = rows.shape
    scores = np.empty((n_tokens, table.shape[1]), table.dtype)
    for first in range(0, n_tokens, MULTIPLIED):
        block = slice(first, first + MULTIPLIED)
        scores[block] = _products(table, rows[block], values[block])
    if len(others.tokens):
        counts = np.bincount(others.tokens, minlength=n_tokens)
        groups = -(-counts // SEVERAL)  # (n,)
        ends, group_ends = np.cumsum(counts), np.cumsum(groups)
        at = np.arange(len(others.tokens)) + np.repeat((group_ends - groups) * SEVERAL - (ends - counts), counts)
        rows = np.full((int(group_ends[-1]), SEVERAL), len(table) - 1, np.int32)
        values = np.zeros(rows.shape, table.dtype)
        rows.reshape(-1)[at], values.reshape(-1)[at] = others.rows, others.values
        several = np.flatnonzero(counts)
        sums = _products(table, rows, values)
        scores[several] += np.add.reduceat(sums, (group_ends - groups)[several], axis=0)
    return scores


def _products(table: Floats, rows: Rows, values: Floats) -> Floats:
    """sum_k values[n, k] * table[rows[n, k]]. rows, values (n, K). RETURNS (n, L)."""
    gathered = table.take(rows.reshape(-1), axis=0).reshape(*rows.shape, table.shape[1])
    return np.asarray(np.matmul(values[:, None, :], gathered)[:, 0])


def _split(table: Floats, active: List[Active], start: int, stop: int) -> "Tuple[Rows, Floats, Others]":
    """Row and value of the first n-gram of each template at each token (n, K), the last row of the table where there
    is none; and all others."""
    nothing, n_tokens = len(table) - 1, stop - start
    first_rows = np.full((len(active), n_tokens + 1), nothing, np.int32)  # the last column for "no token"
    first_values = np.zeros(first_rows.shape, table.dtype)
    apart: Dict[int, Tuple[Ints, Ints, Floats]] = {}  # of n-grams, which several templates may share
    places: Dict[int, Tuple[Ints, Ints]] = {}
    tokens, rows, values = [], [], []
    for k, (found, around, own, _) in enumerate(active):
        if id(found) not in apart:
            new = np.diff(found.places, prepend=-1) > 0
            apart[id(found)] = np.flatnonzero(new), np.flatnonzero(~new), found.values.astype(table.dtype)
        first, again, value = apart[id(found)]
        if id(around) not in places:
            at = np.where(around < 0, n_tokens, around - start)
            places[id(around)] = at.take(first), at.take(again)
        at_first, at_again = places[id(around)]
        first_rows[k, at_first], first_values[k, at_first] = own.take(first), value.take(first)
        own = own.take(again)
        kept = np.flatnonzero((own < nothing) & (at_again < n_tokens))
        tokens.append(at_again.take(kept))
        rows.append(own.take(kept))
        values.append(value.take(again.take(kept)))
    first_rows, first_values = first_rows[:, :n_tokens], first_values[:, :n_tokens]
    together = np.concatenate(tokens)
    small = np.uint16 if n_tokens < 1 << 16 else np.intp  # which is sorted in linear time
    order = np.argsort(together.astype(small), kind="stable")
    others = Others(together[order], np.concatenate(rows)[order], np.concatenate(values)[order])
    return np.ascontiguousarray(first_rows.T), np.ascontiguousarray(first_values.T), others


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
    used = []
    for found, tokens, rows, kept in active:
        kept = kept[taught[tokens[kept]]]
        used.append((found, tokens[kept], rows[kept], kept))
    unique, inverse = np.unique(np.concatenate([rows for _, _, rows, _ in used]), return_inverse=True)
    summed = np.zeros((len(unique), gradient.shape[1]), gradient.dtype)
    places = np.split(inverse.reshape(-1).astype(np.int32), np.cumsum([len(rows) for _, _, rows, _ in used])[:-1])
    through, ops = [], NumpyOps()
    for (found, tokens, rows, kept), place in zip(used, places, strict=True):
        at_token = gradient.take(tokens, axis=0)
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
