"""`python -m spacy hoseq ...`: one module for each command. Importing this package adds all of them to spaCy's."""

from . import apply, calibrate, compact, convert, explain, find_errors, init, inspect, package, report, select, tag
from .app import hoseq_cli

__all__ = [
    "apply",
    "calibrate",
    "compact",
    "convert",
    "explain",
    "find_errors",
    "hoseq_cli",
    "init",
    "inspect",
    "package",
    "report",
    "select",
    "tag",
]
