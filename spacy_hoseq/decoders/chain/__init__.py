"""First order: the best labelling, and sums."""

from .arrivals import Arrivals
from .blocked_chain import BlockedChain, sums_of_chain
from .chain_posterior import ChainPosterior
from .forward_backward import MAX_RANGE, finite_range, reached_labels, sum_by_rank, vanished
from .log_chain import LogChain
from .viterbi import best_paths, unpack_paths, viterbi

__all__ = [
    "Arrivals", "BlockedChain", "ChainPosterior", "LogChain", "MAX_RANGE", "best_paths",
    "finite_range", "reached_labels", "sum_by_rank", "sums_of_chain", "unpack_paths", "vanished", "viterbi",
]  # fmt: skip
