"""Emissions that are learnt by a network, and sums of emissions."""

from typing import Callable, List, Optional, Tuple

from spacy.tokens import Doc
from thinc.api import Linear, Model, chain, with_array, zero_init
from thinc.types import Floats2d

from ...features.sequences import ReadOnce
from .scores_by_doc import whole

Emissions = Model[List[Doc], List[Floats2d]]


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
    return Model("sum_emissions", _forward, init=_init, layers=[first, second], dims={"nO": nO})


def _init(model: Emissions, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
    for layer in model.layers:
        layer.initialize(X, Y)
    if Y is not None:
        model.set_dim("nO", Y[0].shape[1])


def _forward(
    model: Emissions, docs: List[Doc], is_train: bool
) -> Tuple[List[Floats2d], Callable[[List[Floats2d]], List[Doc]]]:
    docs = ReadOnce(docs)
    first, backprop_first = model.layers[0](docs, is_train)
    second, backprop_second = model.layers[1](docs, is_train)

    def backprop(d_scores: List[Floats2d]) -> List[Doc]:
        backprop_first(d_scores)
        backprop_second(d_scores)
        return docs

    one, other = whole(first), whole(second)
    if one is not None and other is not None and one.flat.dtype == other.flat.dtype:
        one.flat += other.flat
        return one, backprop
    return [a + b for a, b in zip(first, second, strict=True)], backprop
