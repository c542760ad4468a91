"""Likely annotation errors, and texts to annotate next (`inspection/findings`, `selection`)."""

from .inspection.findings import find_errors, judge, ranked
from .inspection.selection import doubts_of, select

__all__ = ["doubts_of", "find_errors", "judge", "ranked", "select"]
