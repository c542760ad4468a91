"""Commands that mend a corpus: `find-errors`, `correct`, `select`."""

from . import find_errors, select

__all__ = ["find_errors", "select"]
