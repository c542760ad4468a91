"""Corpora as registered readers. What one file says is read by `formats`."""

from .corpora import corpus, corpus_options

__all__ = ["corpus", "corpus_options"]
