"""The best labels, and p(y | x): log Z, marginals, segments, entropies, label n-grams and
gradients."""

from ..problem import LabelPairs, Posterior, ProbableLabels, certain_labels, check_threshold
from .choose import best_beside, best_labels, best_with, posterior
from .label_ngrams import LabelLattice, NGrams, ProbabilityGradient

__all__ = [
    "LabelLattice", "LabelPairs", "NGrams", "Posterior", "ProbabilityGradient", "ProbableLabels",
    "best_beside", "best_labels", "best_with", "certain_labels", "check_threshold", "posterior",
]  # fmt: skip
