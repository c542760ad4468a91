"""`python -m spacy hoseq ...`: one module for each command. Importing this package adds all of them to spaCy's."""

from . import compact, convert
from .app import hoseq_cli

__all__ = ["compact", "convert", "hoseq_cli"]
