"""Local maximum-entropy classifiers, for bidirectional inference."""

from .classifiers import (
    LocalClassifier,
    LocalClassifiers,
    LocalModel,
    LocalScorer,
    TrainingBatch,
    define_features,
    log_loss,
    shim_of,
)
from .features import LocalFeatures
from .scores import BatchScores, mean_loss

__all__ = [
    "BatchScores", "LocalClassifier", "LocalClassifiers", "LocalFeatures", "LocalModel", "LocalScorer",
    "TrainingBatch", "define_features", "log_loss", "mean_loss", "shim_of",
]  # fmt: skip
