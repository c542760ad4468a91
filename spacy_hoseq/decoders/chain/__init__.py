"""First order: the best labelling, sums, and long sequences in pieces."""

from .arrivals import Arrivals
from .chain_posterior import ChainPosterior, LikelyCells, chain_posterior
from .forward_backward import (
    LEAST,
    MAX_RANGE,
    ROOM,
    SMALL,
    finite_range,
    reached_labels,
    sum_by_rank,
    vanished,
)
from .long_viterbi import long_viterbi
from .pieces import ChainPart, read_parts
from .viterbi import best_path, edge_viterbi, in_order, unpack_paths, viterbi

__all__ = [
    "Arrivals", "ChainPart", "ChainPosterior", "LEAST", "LikelyCells", "MAX_RANGE", "ROOM", "SMALL",
    "best_path", "chain_posterior", "edge_viterbi", "finite_range", "in_order", "long_viterbi",
    "reached_labels", "read_parts", "sum_by_rank", "unpack_paths", "vanished", "viterbi",
]  # fmt: skip
