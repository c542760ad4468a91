"""Words of texts that are written without spaces: an exact tagger over characters, as a tokenizer of spaCy."""

from ..front_door import names_of

__all__ = ["CharacterTokenizer", "segmented_corpus"]

__getattr__ = names_of(__name__, {"CharacterTokenizer": "tokenizer", "segmented_corpus": "corpus"})
