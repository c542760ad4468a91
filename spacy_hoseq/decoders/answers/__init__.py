"""What is asked of p(y | x): best labels, log Z, marginals, segments, entropies, label n-grams and
gradients."""

from ..problem import (
    LABELS_ALONE,
    Answers,
    Asked,
    LabelPairs,
    ProbableLabels,
    certain_labels,
    check_threshold,
)
from .certainty import best_with, event_probabilities
from .kernels import answers_of
from .label_ngrams import LabelLattice, NGrams, ProbabilityGradient

__all__ = [
    "Answers", "Asked", "LABELS_ALONE", "LabelLattice", "LabelPairs", "NGrams", "ProbabilityGradient",
    "ProbableLabels", "answers_of", "best_with", "certain_labels", "check_threshold",
    "event_probabilities",
]  # fmt: skip
