"""Token vectors of a network of spaCy's at prediction: what depends on the word alone is done once
for each word."""

from typing import Any, List, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps
from thinc.types import Floats2d, Ragged

from ...arrays import Keys
from ...features.sequences import by_doc

EMBEDDING = [
    "extract_features",
    "list2ragged",
    "with_array",
    "with_array",
    "ragged2list",
]  # spaCy's MultiHashEmbed
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 divided by the golden ratio


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
