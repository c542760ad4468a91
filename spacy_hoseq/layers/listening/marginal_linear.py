"""Emission scores from the labels of an earlier component: features with their probabilities as values.

    scores[n] = sum over n-grams of labels g around token n, and templates k, of q(g) * the weight row of k with g

q as in `label_ngrams`. A template may also name words: then the feature is the n-gram together with these words.
"""

from functools import partial
from typing import Any, Callable, Iterable, List, Optional, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps
from thinc.types import Floats2d

from ...arrays import AnyFloats, Mask, Rows
from ...errors import Errors
from ...features.index import KeyCounter
from ...learning.parameter import Parameter
from ..emissions.flat import Emissions, FlatScores, forward_by_doc, no_backprop
from ..tuning import Tuning
from ..weights.shim import WeightsShim, weights_of
from ..weights.storage import keys_problem
from .listener import LabelsModel, own_labels
from .marginal_features import Active, Batch, MarginalFeatures
from .upstream import UpstreamLabels


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
    features = MarginalFeatures(templates)
    source = own_labels(cast(Any, upstream)) if upstream.name == "higher_order_tagger" else upstream
    return Model(
        "marginal_linear",
        forward_by_doc,
        init=init,
        layers=[source],
        dims={"nO": nO},
        attrs={
            "flat": flat,
            "features": features,
            "min_count": min_count,
            "dropout_rate": 0.0,
            "index_upstream": index_upstream,
            "tables": [] if features.words is None else features.words.tables,
            "forget_words": forget_words,
            "prepare": prepare,
        },
        shims=[WeightsShim("marginal_linear", _problem, {"templates": features.names})],
    )


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
        for keys in features.keys(features.batch(docs, labels)):
            counter.add(keys)
    weights_of(model).extra = {"keys": counter.frequent(model.attrs["min_count"])}


def prepare(model: Emissions) -> None:
    """Make what prediction needs of weights just loaded."""
    shim = weights_of(model)
    if "table" in shim.parameters:
        model.attrs["features"].index(shim.extra)
        shim.values("table", is_train=False)


def forget_words(model: Emissions) -> None:
    """Drop what is remembered of words (at the end of a memory zone)."""
    if model.attrs["features"].words is not None:
        model.attrs["features"].words.forget_words()


def flat(model: Emissions, docs: List[Doc], is_train: bool) -> FlatScores:
    """The scores of all tokens, end to end, and the way back to the labels of the layer below."""
    shim = weights_of(model)
    features: MarginalFeatures = model.attrs["features"]
    tuning, index = features.tuning, features.index(shim.extra)
    table = shim.values("table", is_train=is_train)
    labels, backprop_upstream = model.layers[0](docs, is_train)
    n_tokens = sum(map(len, docs))
    of_short = None if is_train else features.active_of_short(docs, labels, index)
    if of_short is not None:
        lengths, active = of_short
        values = active.values.astype(table.dtype)
        return FlatScores(_scores(table, active._replace(values=values), tuning), lengths, no_backprop)
    batch = features.batch(docs, labels)
    if not is_train:
        scores = np.empty((n_tokens, table.shape[1]), table.dtype)
        for start in range(0, n_tokens, tuning.key_tokens):
            stop = min(start + tuning.key_tokens, n_tokens)
            scores[start:stop] = _scores(table, features.active(batch, index, start, stop, table.dtype), tuning)
        return FlatScores(scores, batch.lengths, no_backprop)
    drop, active = model.attrs["dropout_rate"], features.active(batch, index, 0, n_tokens, table.dtype)
    if drop:  # feature dropout: each template at each token is left out with probability `drop`
        active = _left_out(active, shim.rng.random(active.rows.shape, dtype=np.float32) < drop, index.n_rows)
    scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
    scores = _scores(table, active, tuning)
    scores *= scale
    backprop = partial(_backprop, shim, features, batch, active, table, scale, backprop_upstream)
    return FlatScores(scores, batch.lengths, backprop)


def _left_out(active: Active, dropped: Mask, nothing: int) -> Active:
    """dropped (K, n): templates at tokens. nothing (int): the last row of the table."""
    kept = np.flatnonzero(~dropped[active.others.templates, active.others.tokens])
    rows: Rows = np.where(dropped, np.int32(nothing), active.rows)
    return active._replace(rows=rows, others=active.others.at(kept))


def _scores(table: AnyFloats, active: Active, tuning: Tuning) -> AnyFloats:
    """RETURNS (n, L).

    Most tokens have one n-gram of a template: their rows, one for each template, are multiplied by their values in one
    product a token. What else a token has is added row by row. Both depend on the token alone."""
    rows, values = active.rows.T.copy(), active.values.T.copy()
    values *= rows < len(table) - 1  # whatever the last row holds
    scores = np.empty((len(rows), table.shape[1]), table.dtype)
    for first in range(0, len(rows), tuning.product_tokens):
        block = slice(first, first + tuning.product_tokens)
        scores[block] = _products(table, rows[block], values[block])
    others, ops = active.others, NumpyOps()
    tokens, weights = others.tokens.astype(np.int32), others.values.astype(table.dtype)
    for first in range(0, len(tokens), tuning.added_rows):
        block = slice(first, first + tuning.added_rows)
        more = table.take(others.rows[block], axis=0)
        more *= weights[block, None]
        ops.scatter_add(scores, tokens[block], more)
    return scores


def _products(table: AnyFloats, rows: Rows, values: AnyFloats) -> AnyFloats:
    """sum_k values[n, k] * table[rows[n, k]]. rows, values (n, K). RETURNS (n, L)."""
    gathered = table.take(rows.reshape(-1), axis=0).reshape(*rows.shape, table.shape[1])
    return np.asarray(np.matmul(values[:, None, :], gathered)[:, 0])


def _backprop(
    shim: WeightsShim,
    features: MarginalFeatures,
    batch: Batch,
    active: Active,
    table: AnyFloats,
    scale: np.float32,
    backprop_upstream: Callable[..., Any],
    d_scores: AnyFloats,
) -> None:
    gradient = d_scores * scale
    taught = np.flatnonzero(gradient.any(axis=1))
    used = list(features.used(active, batch.lattice, taught, len(table) - 1))
    distinct, place = np.unique(np.concatenate([of_template.rows for of_template in used]), return_inverse=True)
    summed = np.zeros((len(distinct), gradient.shape[1]), gradient.dtype)
    places = np.split(place.reshape(-1).astype(np.int32), np.cumsum([len(of_template.rows) for of_template in used]))
    d_values, ops = {shape: np.zeros(len(of.which)) for shape, of in active.strings.items()}, NumpyOps()
    for (shape, ngrams, tokens, rows, values), at in zip(used, places, strict=False):
        at_token = gradient.take(tokens, axis=0)
        d_values[shape][ngrams] += np.einsum("ml,ml->m", table.take(rows, axis=0), at_token)
        at_token *= values[:, None].astype(gradient.dtype)
        ops.scatter_add(summed, at, at_token)
    shim.add_gradient("table", (distinct, summed))
    backprop_upstream(batch.lattice.backprop([(active.strings[shape].ngrams, d) for shape, d in d_values.items()]))


def _problem(shim: WeightsShim) -> str:
    """What is wrong with loaded weights: the features must be those of the table's rows."""
    keys = shim.extra.get("keys")
    shape = shim.parameters["table"].shape if "table" in shim.parameters else None
    problem = "" if keys is None else keys_problem(keys)
    if problem:
        return problem
    if shape is not None and (keys is None or shape[:-1] != (len(keys) + 1,)):
        return f"a table of shape {shape} does not fit {0 if keys is None else len(keys)} features"
    return ""
