"""First order: the best labelling, and sums."""

from .arrivals import Arrivals
from .blocked_chain import BlockedChain, sums_of_chain
from .chain_posterior import ChainPosterior, chain_posterior
from .forward_backward import (
    LEAST,
    MAX_RANGE,
    finite_range,
    reached_labels,
    sum_by_rank,
    vanished,
)
from .viterbi import best_path, edge_viterbi, in_order, unpack_paths, viterbi

__all__ = [
    "Arrivals", "BlockedChain", "ChainPosterior", "LEAST", "MAX_RANGE", "best_path", "chain_posterior",
    "edge_viterbi", "finite_range", "in_order", "reached_labels", "sum_by_rank",
    "sums_of_chain", "unpack_paths", "vanished", "viterbi",
]  # fmt: skip
