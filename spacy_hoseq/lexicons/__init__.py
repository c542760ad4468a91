"""Clusters of words made from raw text, and lists of words with their tags."""

from ..lazy_names import lazy_names, listed

__all__ = [
    "Bigrams",
    "ClassBigrams",
    "bigrams_of",
    "exchange_words",
    "lemma_lexicon",
    "tag_lexicon",
    "word_classes_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Bigrams": "exchange",
        "ClassBigrams": "exchange",
        "bigrams_of": "exchange",
        "exchange_words": "exchange",
        "lemma_lexicon": "forms",
        "tag_lexicon": "forms",
        "word_classes_of": "pipelines",
    },
)
__dir__ = listed(__name__)
