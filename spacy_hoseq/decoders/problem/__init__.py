"""Decoding problems: the potentials of a batch, how it lies in memory, label patterns, and what
comes out."""

from .candidates import Candidates
from .fired import Configurations, Fired, added_up, expand_fired, matching
from .layout import (
    TUNING,
    Groups,
    Layout,
    Tuning,
    binned,
    check_allowed,
    check_lengths,
    check_segments,
    largest,
    make_layout,
    masked,
    packed_edge_scores,
    packed_scores,
    parts_of,
    ranges,
    sums_of_sequences,
)
from .path_score import check_possible, is_permitted, path_score, score_of_checked
from .posterior import (
    LabelPairs,
    Posterior,
    ProbableLabels,
    Sums,
    certain_labels,
    check_gradient,
    check_threshold,
    neighbours,
)
from .potentials import Potentials, PotentialsGradient, Selection, Weights
from .results import KBest, NoPath, Paths, unpack_paths
from .trie import Pattern, PatternTrie, check_pattern

__all__ = [
    "Candidates", "Configurations", "Fired", "Groups", "KBest", "LabelPairs",
    "Layout", "NoPath", "Paths", "Pattern", "PatternTrie", "Posterior", "Potentials",
    "PotentialsGradient", "ProbableLabels", "Selection", "Sums", "TUNING",
    "Tuning", "Weights", "added_up", "binned", "certain_labels", "check_gradient", "check_possible",
    "check_allowed", "check_lengths", "check_pattern", "check_segments", "check_threshold",
    "expand_fired", "is_permitted", "largest", "make_layout", "masked", "matching",
    "neighbours", "packed_edge_scores", "packed_scores", "parts_of",
    "path_score", "ranges", "score_of_checked", "sums_of_sequences", "unpack_paths",
]  # fmt: skip
