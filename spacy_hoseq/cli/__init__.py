"""`python -m spacy hoseq ...`: one module for each command. Importing this package adds all of them to spaCy's."""

from . import apply, calibrate, compact, convert, init, package, tag
from .app import hoseq_cli

__all__ = ["apply", "calibrate", "compact", "convert", "hoseq_cli", "init", "package", "tag"]
