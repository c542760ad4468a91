"""First order: the best labelling, and sums."""

from .best_path import Arrivals, best_paths, viterbi
from .blocked_chain import BlockedChain, sums_of_chain
from .chain_posterior import ChainPosterior
from .forward_backward import MAX_RANGE, finite_range, reached_labels, sum_by_rank, vanished

__all__ = [
    "Arrivals", "BlockedChain", "ChainPosterior", "MAX_RANGE",
    "best_paths", "finite_range", "reached_labels", "sum_by_rank", "sums_of_chain", "vanished", "viterbi",
]  # fmt: skip
