"""thinc Models: Docs -> emission scores -> potentials. They hold the weights; inference is in `decoders`.

Emission layers give one score per label and token (`SparseLinear`, `Tok2VecLinear`, `MarginalLinear`, a sum of two, or
one of your own), `HigherOrderTagger` makes potentials of them, `LocalClassifiers` are for bidirectional inference.
`weights_of` finds what a layer has learnt; `Tuning` says how work is cut.
"""

from ..lazy_names import lazy_names

HOMES = {
    "HigherOrderTagger": "structured",
    "LocalClassifiers": "local.classifiers",
    "MarginalLinear": "listening.marginal_linear",
    "MarginalListener": "listening.listener",
    "SparseLinear": "emissions.sparse_linear",
    "SumEmissions": "emissions.neural",
    "TaggerModel": "structured",
    "Tok2VecLinear": "emissions.neural",
    "Tuning": "tuning",
    "WeightsShim": "weights.shim",
    "make_marginal_listener": "listening.listener",
    "weights_of": "weights.shim",
}
__all__ = sorted(HOMES)
__getattr__ = lazy_names(__name__, HOMES)
