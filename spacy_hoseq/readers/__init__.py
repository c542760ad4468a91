"""Corpora in formats that spaCy does not read, as registered readers. What one file says is read by
`formats`."""

from .annotated import annotated_corpus
from .corpora import (
    character_corpus,
    column_corpus,
    peoples_daily_corpus,
    tagged_corpus,
    tree_corpus,
)

__all__ = [
    "annotated_corpus",
    "character_corpus",
    "column_corpus",
    "peoples_daily_corpus",
    "tagged_corpus",
    "tree_corpus",
]
