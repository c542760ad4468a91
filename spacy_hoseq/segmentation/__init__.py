"""Words of texts that are written without spaces: an exact tagger over characters, as a tokenizer
of spaCy."""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__, {"CharacterTokenizer": "tokenizer", "make_units": "corpus"}
)
