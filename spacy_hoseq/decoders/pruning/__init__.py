"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .bounds import Bounds
from .pruned import best_among, pruned_labels

__all__ = ["Bounds", "best_among", "pruned_labels"]
