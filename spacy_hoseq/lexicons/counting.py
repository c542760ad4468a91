"""Counts of pairs of words in Docs."""

from typing import Iterable, List

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch

from ..arrays import Keys
from ..features.sequences import WordDocs, vocab_of
from .exchange import Bigrams

BATCH = 1000  # Docs
BOUNDARY = 0  # no word has this key


def bigrams_of(docs: Iterable[Doc], min_count: int) -> Bigrams:
    """Pairs of neighbours, those at the ends of sentences with what is beyond; white space is left
    out. Words that occur less often, or contain white space, count as one.

    Memory: some 40 bytes a token.
    """
    parts: List[Keys] = [np.full(1, BOUNDARY, np.uint64)]
    strings = None
    for batch in minibatch(docs, BATCH):
        strings = vocab_of(batch).strings
        orths, lengths = WordDocs(batch).words_and_lengths
        parts.append(np.insert(orths, np.cumsum(lengths), BOUNDARY))
    keys, inverse, counts = np.unique(
        np.concatenate(parts), return_inverse=True, return_counts=True
    )
    texts = [strings[int(key)] if strings is not None and key != BOUNDARY else "" for key in keys]
    frequent = [
        i for i, text in enumerate(texts) if counts[i] >= min_count and text.split() == [text]
    ]
    frequent.sort(key=lambda i: (-counts[i], texts[i]))
    n_words = len(frequent)
    number_of = np.full(len(keys), n_words + 1, np.intp)
    number_of[keys == BOUNDARY] = n_words
    number_of[frequent] = np.arange(n_words)
    numbers = number_of[inverse]
    pairs, n_pairs = np.unique(numbers[:-1] * (n_words + 2) + numbers[1:], return_counts=True)
    return Bigrams([texts[i] for i in frequent], *np.divmod(pairs, n_words + 2), n_pairs)
