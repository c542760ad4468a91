"""Label patterns and configurations: the best labelling and sums, by inclusive messages or
exclusive states."""

from .configurations import (
    ConfigurationLattice,
    configured_sequences,
    decode_any_sign,
    lattice_of,
    lattices_of,
)
from .inclusive_sums import (
    STEP,
    InclusiveMessages,
    NodeMessages,
    inclusive_sums,
    keeps_digits,
    with_costs,
)
from .lattice import Lattice, k_best_paths, max_marginals
from .lattice_sums import exclusive_sums, lattice_entropies, sample_paths
from .longest_match import LongestMatch
from .matrix_messages import InnerNodes, MatrixMessages
from .nonnegative import decode_nonnegative
from .sparse import decode_sparse

__all__ = [
    "ConfigurationLattice", "InclusiveMessages", "InnerNodes", "Lattice", "LongestMatch", "MatrixMessages",
    "NodeMessages", "STEP", "configured_sequences", "decode_any_sign", "decode_nonnegative",
    "decode_sparse",
    "exclusive_sums", "inclusive_sums", "k_best_paths", "keeps_digits",
    "lattice_entropies", "lattice_of", "lattices_of", "max_marginals", "sample_paths", "with_costs",
]  # fmt: skip
