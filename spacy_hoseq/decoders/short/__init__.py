"""Texts of a sentence or a few, in plain Python or few calls of NumPy: first rows of the table of
algorithms."""

from .labels import is_short_text, short_labels
from .sums import ShortSums, is_short_chain, short_sums

__all__ = ["ShortSums", "is_short_chain", "is_short_text", "short_labels", "short_sums"]
