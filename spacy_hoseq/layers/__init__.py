"""thinc Models: Docs -> emission scores -> potentials. They hold the weights; inference is in
`decoders`.

Emission layers give one score per label and token (`SparseLinear`, `Tok2VecLinear`,
`MarginalLinear`, a sum of two, or one of your own). `HigherOrderTagger` makes potentials of them.
`LocalClassifiers` are for bidirectional inference. A `Scorer` says what a layer can do beside
thinc's interface, and `scoring_layer` makes a layer of one. `weights_of` returns the weights of a
layer.
"""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Feature": "scorer",
        "FlatScores": "scorer",
        "HigherOrderTagger": "structured",
        "LocalClassifiers": "local_classifiers",
        "MarginalLinear": "marginal_linear",
        "MarginalListener": "listener",
        "Scorer": "scorer",
        "SparseLinear": "sparse_linear",
        "SumEmissions": "sum_emissions",
        "TaggerModel": "structured",
        "Tok2VecLinear": "neural",
        "WeightsShim": "weights",
        "make_marginal_listener": "listener",
        "scorer_of": "scorer",
        "scoring_layer": "scorer",
        "weights_of": "weights",
    },
)
