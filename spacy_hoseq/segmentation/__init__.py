"""A spaCy tokenizer for texts without spaces: an exact tagger of characters."""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__, {"CharacterTokenizer": "tokenizer", "make_units": "corpus"}
)
