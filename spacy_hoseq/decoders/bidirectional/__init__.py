"""Bidirectional inference over local classifiers: what explains a decision."""

from .local import OFFSETS, contexts_of, edge_contexts, log_probabilities

__all__ = ["OFFSETS", "contexts_of", "edge_contexts", "log_probabilities"]
