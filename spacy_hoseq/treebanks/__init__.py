"""A whole pipeline from one treebank of Universal Dependencies: its parts, the steps, and the
card."""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {"Word": "multiword", "words_of": "multiword"})
