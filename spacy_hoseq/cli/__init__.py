"""`python -m spacy hoseq ...`. Importing this package adds its commands to spaCy's."""

from . import adapt, apply, convert, corpus, distil, model, text, training
from .app import hoseq_cli

__all__ = [
    "adapt",
    "apply",
    "convert",
    "corpus",
    "distil",
    "hoseq_cli",
    "model",
    "text",
    "training",
]
