"""`python -m spacy hoseq ...`: one module for each command. Importing this package adds all of them
to spaCy's."""

from . import (
    apply,
    clusters,
    compact,
    convert,
    curation,
    init,
    inspection,
    package,
    tag,
    treebank,
)
from .app import hoseq_cli

__all__ = [
    "apply",
    "clusters",
    "compact",
    "convert",
    "curation",
    "hoseq_cli",
    "init",
    "inspection",
    "package",
    "tag",
    "treebank",
]
