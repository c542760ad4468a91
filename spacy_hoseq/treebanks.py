"""The words of a multi-word token (`pipelines/treebanks`)."""

from .pipelines.treebanks.multiword import Word, words_of

__all__ = ["Word", "words_of"]
