"""Words of texts that are written without spaces: an exact tagger over characters, as a tokenizer
of spaCy."""

from ..lazy_names import lazy_names, listed

__all__ = ["CharacterTokenizer", "make_units"]

__getattr__ = lazy_names(__name__, {"CharacterTokenizer": "tokenizer", "make_units": "corpus"})
__dir__ = listed(__name__)
