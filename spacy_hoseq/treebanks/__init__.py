"""A whole pipeline from one treebank of Universal Dependencies: its parts, the steps, and the
card."""

from ..lazy_names import lazy_names, listed

__all__ = ["Word", "words_of"]

__getattr__ = lazy_names(__name__, {"Word": "multiword", "words_of": "multiword"})
__dir__ = listed(__name__)
