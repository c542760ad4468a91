"""Corpora as registered readers. What one file says is read by `formats`."""

from .annotated import annotated_corpus
from .corpora import corpus

__all__ = ["annotated_corpus", "corpus"]
