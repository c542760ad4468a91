"""Readers of corpora. Each file format has a module in `formats`."""

from .corpora import corpus
from .files import read_lines
from .sentences import LabelledSpan, Problem, Sentence
from .settings import Format, Settings

__all__ = [
    "Format",
    "LabelledSpan",
    "Problem",
    "Sentence",
    "Settings",
    "corpus",
    "read_lines",
]
