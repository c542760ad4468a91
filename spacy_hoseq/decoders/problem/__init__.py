"""What is decoded: the potentials of a batch, how it lies in memory, label patterns, and what comes out."""

from .configurations import MAX_STATES, Configurations, no_configurations
from .firing import added_up, expand_fired, matching
from .instances import Instances, make_instances
from .layout import (
    Layout,
    check_lengths,
    check_scores,
    check_segments,
    largest,
    make_layout,
    packed_edge_scores,
    packed_scores,
    parts_of,
    ranges,
)
from .path_score import chain_score, path_score, score_of_checked
from .posterior import Arcs, Factors, Posterior, Sums, check_gradient
from .potentials import Potentials, PotentialsGradient, Selection
from .results import KBest, NoPath, Paths
from .trie import Fired, Pattern, PatternTrie, check_pattern
from .tuning import TUNING, Tuning
from .weights import Weights

__all__ = [
    "Arcs", "Configurations", "Factors", "Fired", "Instances", "KBest", "Layout", "MAX_STATES", "NoPath", "Paths",
    "Pattern", "PatternTrie", "Posterior", "Potentials", "PotentialsGradient", "Selection", "Sums", "TUNING",
    "Tuning", "Weights", "added_up", "chain_score", "check_gradient", "check_lengths", "check_pattern",
    "check_scores", "check_segments", "expand_fired", "largest", "make_instances", "make_layout", "matching",
    "no_configurations", "packed_edge_scores", "packed_scores", "parts_of", "path_score", "ranges",
    "score_of_checked",
]  # fmt: skip
