"""Words of a corpus as a table of the vocabulary, for templates that ask where known words lie.

The table is made in initialization and saved with the vocabulary of the segmenter
(features/contextual reads it):

    [initialize.lookups]
    @misc = "spacy_hoseq.known_words.v1"
    path = ${paths.train}
"""

from collections import Counter
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Tuple, Union

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.lookups import Lookups
from spacy.strings import get_string_id
from spacy.training.corpus import FILE_TYPE, walk_corpus
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..arrays import Ints, Keys
from ..features.contextual.known_words import TABLE, word_keys
from ..readers.annotated import read_docs
from .units import units_of

OFTEN = 1000  # more than any text has a word


def known_words(path: Optional[Union[str, Path]], more: Optional[List[str]] = None) -> Lookups:
    """Registered as `spacy_hoseq.known_words.v1`: how often each word of more than one unit is in a
    corpus.

    path: a .spacy file or a folder of them, with words. more: words that are known whatever the
    corpus has, each as if it had been seen a thousand times. RAISES ValueError [E913]: no path.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    counts: Counter[str] = Counter()
    for doc in read_docs(walk_corpus(ensure_path(path), FILE_TYPE), Vocab(), 0):
        counts.update(token.text for token in doc)
    counts.update({word: OFTEN for word in more or ()})
    lookups = Lookups()
    lookups.add_table(TABLE, dict(sorted(counts_by_key(counts).items())))
    return lookups


def counts_by_key(counts: "Counter[str]") -> Dict[int, int]:
    """The same with words as the keys by which they are found among units, those of one unit left
    out."""
    words = list(counts)
    orths, sizes = _units_of_words(words)
    keys = word_keys(orths, sizes)
    by_key: Dict[int, int] = {}
    for word, key in zip(words, keys.tolist(), strict=True):
        if key:
            by_key[key] = by_key.get(key, 0) + counts[word]
    return by_key


def _units_of_words(words: Iterable[str]) -> Tuple[Keys, Ints]:
    orths: List[int] = []
    sizes: List[int] = []
    for word in words:
        units = units_of(word)
        orths += [
            get_string_id(word[a:b])
            for a, b in zip(units.starts.tolist(), units.ends.tolist(), strict=True)
        ]
        sizes.append(len(units.starts))
    return np.array(orths, np.uint64), np.array(sizes, np.intp)
