"""Clusters of words made from raw text, and lists of words with their tags."""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
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
