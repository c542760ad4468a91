"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .limits import Limits
from .pruned import Remaining, pruned_checked
from .sparse import decode_sparse
from .sparse_viterbi import sparse_viterbi

__all__ = ["Limits", "Remaining", "decode_sparse", "pruned_checked", "sparse_viterbi"]
