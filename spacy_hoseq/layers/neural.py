"""Emissions that are learnt by a network. At prediction, what depends on the word alone is done once
for each word."""

from typing import Any, Callable, List, Optional, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Linear, Model, NumpyOps, chain, with_array, zero_init
from thinc.types import Floats2d, Ragged

from ..arrays import Keys
from ..features.sequences import by_doc
from ..words import Words, original_of
from .scorer import Backprop, Emissions, no_backprop

# spaCy's MultiHashEmbed
EMBEDDING = ["extract_features", "list2ragged", "with_array", "with_array", "ragged2list"]
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 divided by the golden ratio


def Tok2VecLinear(tok2vec: Model[List[Doc], List[Floats2d]], nO: Optional[int] = None) -> Emissions:
    """Token vectors through one linear layer: unnormalised label scores. Trained by
    `[training.optimizer]`.

    tok2vec: any tok2vec, or the listener of a tok2vec or transformer, whose vectors of white-space
        tokens are left out, and get no gradient. nO (int): number of
        labels; found in initialization.
    """
    width = tok2vec.get_dim("nO") if tok2vec.has_dim("nO") else None
    # as in spaCy: a margin loss would keep random starting scores
    output = Linear(nO=nO, nI=width, init_W=zero_init)
    with Model.define_operators({">>": chain}):
        linear = tok2vec >> with_array(output)
    dims = {name: linear.maybe_get_dim(name) for name in linear.dim_names}
    model: Emissions = Model(
        linear.name, _linear, init=linear.init, dims=dims, layers=linear.layers
    )
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model


def _linear(
    model: Emissions, docs: List[Doc], is_train: bool
) -> Tuple[List[Floats2d], Callable[[List[Floats2d]], object]]:
    tok2vec, output = model.layers
    stripped = {i: doc for i, doc in enumerate(docs) if isinstance(doc, Words)}
    if stripped and not any(map(_listens, tok2vec.walk())):
        stripped = {}
    places = {i: model.ops.asarray1i(cast(Any, doc.places)) for i, doc in stripped.items()}
    heard = [original_of(doc) for doc in docs] if stripped else docs
    backprop_vectors: Backprop = no_backprop
    if is_train:
        vectors, backprop_vectors = tok2vec(heard, True)
    else:
        vectors = predict_vectors(tok2vec, heard)
    of_words = [rows[places[i]] if i in places else rows for i, rows in enumerate(vectors)]
    scores, backprop_scores = output(of_words, is_train)

    def backprop(d_scores: List[Floats2d]) -> Any:
        d_vectors = list(backprop_scores(d_scores))
        for i, at in places.items():
            of_tokens = model.ops.alloc2f(*vectors[i].shape)
            of_tokens[at] = d_vectors[i]
            d_vectors[i] = of_tokens
        return backprop_vectors(d_vectors)

    return scores, backprop


def _listens(node: Model) -> bool:
    """RETURNS whether it hears vectors of another component: as spaCy's and spacy-transformers'
    listeners say it, or as spacy-curated-transformers' do."""
    return hasattr(node, "upstream_name") or "_upstream_name" in node.attrs


def predict_vectors(tok2vec: Model[List[Doc], List[Floats2d]], docs: List[Doc]) -> List[Floats2d]:
    """As tok2vec.predict(docs). Its embedding, if it is spaCy's without static vectors, sees each
    combination of the attributes of a word (NORM, PREFIX, SUFFIX, SHAPE) once in a batch, and half
    of a small network is embedding."""
    layers = (
        [layer.name.split("(")[0] for layer in tok2vec.layers[0].layers] if tok2vec.layers else []
    )
    if layers != EMBEDDING or not isinstance(tok2vec.ops, NumpyOps) or not any(map(len, docs)):
        return tok2vec.predict(docs)
    embedding, *encoding = tok2vec.layers
    extract, _, *embed, _ = embedding.layers
    attributes: Keys = np.concatenate(extract.predict(docs))  # (N, K)
    mixed = np.zeros(len(attributes), np.uint64)
    for column in attributes.T:
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ column) * MIX
    _, first, type_of = np.unique(mixed, return_index=True, return_inverse=True)
    types = attributes.take(first, axis=0)
    if not np.array_equal(types.take(type_of, axis=0), attributes):  # two words, one number
        return tok2vec.predict(docs)
    embedded: Any = Ragged(cast(Any, types), cast(Any, np.array([len(types)], np.int32)))
    for layer in embed:
        embedded = layer.predict(embedded)
    vectors: object = by_doc(embedded.data.take(type_of, axis=0), docs)
    for layer in encoding:
        vectors = layer.predict(vectors)
    return cast(List[Floats2d], vectors)
