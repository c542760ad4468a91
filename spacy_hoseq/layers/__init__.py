"""thinc Models: Docs -> emission scores -> potentials. They hold the weights; inference is in `decoders`.

Emission layers give one score per label and token (`SparseLinear`, `Tok2VecLinear`, `MarginalLinear`, a sum of two, or
one of your own), `HigherOrderTagger` makes potentials of them, `LocalClassifiers` are for bidirectional inference.
`weights_of` finds what a layer has learnt; `Tuning` says how work is cut.
"""

from .emissions.neural import SumEmissions, Tok2VecLinear
from .emissions.sparse_linear import SparseLinear
from .listening.listener import MarginalListener, make_marginal_listener
from .listening.marginal_linear import MarginalLinear
from .local.classifiers import LocalClassifiers
from .structured import HigherOrderTagger, TaggerModel
from .tuning import Tuning
from .weights.shim import WeightsShim, weights_of

__all__ = [
    "HigherOrderTagger",
    "LocalClassifiers",
    "MarginalLinear",
    "MarginalListener",
    "SparseLinear",
    "SumEmissions",
    "TaggerModel",
    "Tok2VecLinear",
    "Tuning",
    "WeightsShim",
    "make_marginal_listener",
    "weights_of",
]
