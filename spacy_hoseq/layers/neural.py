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
    model: Emissions, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], object]]:
    tok2vec, output = model.layers
    stripped = {i: doc for i, doc in enumerate(docs) if isinstance(doc, Words)}
    places = {}
    if stripped and any(map(_listens, tok2vec.walk())):
        places = {i: model.ops.asarray1i(cast(Any, doc.places)) for i, doc in stripped.items()}
    heard = [original_of(doc) for doc in docs] if places else docs
    vectors, backprop_vectors = tok2vec(heard, is_train)
    of_words = [rows[places[i]] if i in places else rows for i, rows in enumerate(vectors)]
    scores, backprop_scores = output(of_words, is_train)

    def backprop(d_scores: list[Floats2d]) -> Any:
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
