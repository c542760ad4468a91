"""What is asked of p(y | x): best labels, log Z, marginals, segments, entropies, label n-grams and
gradients."""

from ..problem import Answers, Asked, LabelPairs, ProbableLabels, certain_labels, check_threshold
from .answers_of import answers_of
from .certainty import best_with, event_probabilities
from .label_ngrams import LabelLattice, NGrams, ProbabilityGradient

__all__ = [
    "Answers", "Asked", "LabelLattice", "LabelPairs", "NGrams", "ProbabilityGradient",
    "ProbableLabels", "answers_of", "best_with", "certain_labels", "check_threshold",
    "event_probabilities",
]  # fmt: skip
