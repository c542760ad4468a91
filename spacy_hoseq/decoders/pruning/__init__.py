"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .candidates import Candidates, first_best
from .pruned import open_windows, pruned_checked
from .short import Left, best_of_left
from .sparse_viterbi import sparse_viterbi

__all__ = [
    "Candidates", "Left", "best_of_left", "first_best", "open_windows", "pruned_checked", "sparse_viterbi",
]  # fmt: skip
