"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .candidates import Limits
from .pruned import pruned_labels

__all__ = ["Limits", "pruned_labels"]
