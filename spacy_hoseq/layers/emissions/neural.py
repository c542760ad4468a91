"""Emissions that are learnt by a network, and sums of emissions."""

from typing import List, Optional

from spacy.tokens import Doc
from thinc.api import Linear, Model, chain, with_array, zero_init
from thinc.types import Floats2d

from ...arrays import AnyFloats
from ...features.sequences import ReadOnce
from .flat import Emissions, FlatScores, flat_scores, forward_by_doc


def Tok2VecLinear(tok2vec: Model[List[Doc], List[Floats2d]], nO: Optional[int] = None) -> Emissions:
    """Token vectors through one linear layer: unnormalised label scores. Trained by `[training.optimizer]`.

    tok2vec: any tok2vec or a `spacy.Tok2VecListener.v1`. nO (int): number of labels; found in initialization.
    """
    width = tok2vec.get_dim("nO") if tok2vec.has_dim("nO") else None
    output = Linear(nO=nO, nI=width, init_W=zero_init)  # as in spaCy: a margin loss would keep random starting scores
    with Model.define_operators({">>": chain}):
        model = tok2vec >> with_array(output)
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model


def SumEmissions(first: Emissions, second: Emissions, nO: Optional[int] = None) -> Emissions:
    """scores = first(docs) + second(docs); both get the decoder's gradient."""
    attrs = {"flat": _flat}
    return Model("sum_emissions", forward_by_doc, init=_init, layers=[first, second], dims={"nO": nO}, attrs=attrs)


def _init(model: Emissions, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
    for layer in model.layers:
        layer.initialize(X, Y)
    if Y is not None:
        model.set_dim("nO", Y[0].shape[1])


def _flat(model: Emissions, docs: List[Doc], is_train: bool) -> FlatScores:
    docs = ReadOnce(docs)
    first, second = (flat_scores(layer, docs, is_train) for layer in model.layers)

    def backprop(d_scores: AnyFloats) -> None:
        first.backprop(d_scores)
        second.backprop(d_scores)

    return FlatScores(first.scores + second.scores, first.lengths, backprop)
