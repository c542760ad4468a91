"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .bounds import ROUNDING, dense_cost, least_reach
from .likely import SURE, least_likely, likely_labels
from .limits import Limits
from .pruned import Remaining, pruned_checked
from .sparse import decode_sparse
from .sparse_viterbi import sparse_viterbi

__all__ = [
    "Limits", "ROUNDING", "Remaining", "SURE", "decode_sparse", "dense_cost", "least_likely",
    "least_reach", "likely_labels", "pruned_checked", "sparse_viterbi",
]  # fmt: skip
