"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .bounds import least_reach
from .candidates import Candidates, first_best
from .limits import Limits
from .pruned import labels_left, open_windows, pruned_checked
from .short import Left, best_of_left
from .sparse_viterbi import sparse_viterbi

__all__ = [
    "Candidates", "Left", "Limits", "best_of_left", "first_best", "labels_left", "least_reach", "open_windows",
    "pruned_checked", "sparse_viterbi",
]  # fmt: skip
