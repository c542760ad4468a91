"""Label patterns and configurations: the best labelling and sums, by inclusive messages or
exclusive states."""

from .configurations import ConfigurationLattice, labels_with_configurations, lattice_of
from .exclusive_sums import exclusive_sums, is_small
from .inclusive_sums import InclusiveWalk, PatternWalk, inclusive_sums, keeps_digits
from .lattice import Lattice, k_best_paths
from .lattice_sums import sample_paths
from .lattice_views import lattice_entropies, max_marginals
from .longest_match import LongestMatch, any_sign_checked, decode_any_sign
from .matrix_walk import InnerNodes, MatrixWalk
from .nonnegative import check_weights, every_node

__all__ = [
    "ConfigurationLattice", "InclusiveWalk", "InnerNodes", "Lattice", "LongestMatch", "MatrixWalk",
    "PatternWalk", "any_sign_checked", "check_weights", "decode_any_sign", "every_node",
    "exclusive_sums",
    "inclusive_sums", "is_small", "k_best_paths", "keeps_digits",
    "labels_with_configurations", "lattice_entropies", "lattice_of", "max_marginals",
    "sample_paths",
]  # fmt: skip
