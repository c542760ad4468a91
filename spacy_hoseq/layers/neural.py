"""Emissions that are learnt by a network."""

from collections.abc import Callable
from typing import Any, cast

from spacy.tokens import Doc
from thinc.api import Linear, Model, chain, with_array, zero_init
from thinc.types import Floats2d

from ..words import Words, original_of
from .scorer import Emissions


def Tok2VecLinear(tok2vec: Model[list[Doc], list[Floats2d]], nO: int | None = None) -> Emissions:
    """Token vectors through one linear layer: unnormalised label scores. Trained by
    `[training.optimizer]`.

    tok2vec: any tok2vec, or the listener of a tok2vec or transformer, whose vectors of white-space
        tokens are left out, and get no gradient.
    nO (int): number of labels; found in initialization.
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
    model: Emissions, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], object]]:
    tok2vec, output = model.layers
    # A listener has vectors of the Docs that its component saw, with white space. `places` says
    # where in these the words of a Doc are; it is empty where the vectors are those of words.
    places: dict[int, Any] = {}
    if any(map(_listens, tok2vec.walk())):
        for i, doc in enumerate(docs):
            if isinstance(doc, Words):
                places[i] = model.ops.asarray1i(cast(Any, doc.places))
    originals = [original_of(doc) for doc in docs] if places else docs
    vectors, backprop_vectors = tok2vec(originals, is_train)
    word_vectors = list(vectors)
    for i, at in places.items():
        word_vectors[i] = vectors[i][at]
    scores, backprop_scores = output(word_vectors, is_train)

    def backprop(d_scores: list[Floats2d]) -> Any:
        d_vectors = list(backprop_scores(d_scores))
        for i, at in places.items():
            d_tokens = model.ops.alloc2f(*vectors[i].shape)  # zero at white space
            d_tokens[at] = d_vectors[i]
            d_vectors[i] = d_tokens
        return backprop_vectors(d_vectors)

    return scores, backprop


def _listens(node: Model) -> bool:
    """True if a layer gives vectors of another component: a listener of spaCy, spacy-transformers
    (both have `upstream_name`) or spacy-curated-transformers."""
    return hasattr(node, "upstream_name") or "_upstream_name" in node.attrs
