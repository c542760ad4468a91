"""What components ask of p(y | x): marginals, segments, label n-grams, and the best labelling beside them."""

from .certainty import best_with, conditional_entropies, event_probabilities, sequence_entropies
from .label_ngrams import LabelLattice, NGrams, ProbabilityGradient
from .posterior_of import forward_backward, posterior_of
from .predictions import Labelling, labels_and_probable, labels_and_segments
from .sparse_marginals import ProbableLabels, certain_labels, check_threshold, probable_labels

__all__ = [
    "LabelLattice", "Labelling", "NGrams", "ProbabilityGradient", "ProbableLabels", "best_with", "certain_labels",
    "check_threshold", "conditional_entropies", "event_probabilities", "forward_backward", "labels_and_probable",
    "labels_and_segments", "posterior_of", "probable_labels", "sequence_entropies",
]  # fmt: skip
