"""Where known words lie among units: the longest one that begins, goes on or ends at each, as
attributes of templates.

Words are known by a table of the vocabulary, which says how often each was seen
(segmentation/corpus.py makes it):

    begins(t) = max length of a known word  x[t .. t + n - 1],   2 <= n <= 8
    ends(t)   = the same of  x[t - n + 1 .. t]
    inside(t) = the same of words with t neither first nor last

and 1 where there is none. No match reaches across white space. In training every word of a text
would be known, by the text itself. So a text can name its own words (`OWN_WORDS` of
`doc.user_data`): they are known only if they were seen more often than in this text. Checked in
tests/features/test_known_words.py.
"""

from collections.abc import Sequence

import numpy as np
from spacy.attrs import ORTH, SPACY
from spacy.lookups import Lookups
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Mask
from ..caches import IdentityCache
from .attributes import DOC_ATTRIBUTES, DocAttribute
from .index import ExactIndex
from .keys import mix

KNOWN_WORDS_TABLE = "hoseq_known_words"  # key of a word -> how often it was seen
OWN_WORDS = "hoseq_own_words"  # of `doc.user_data`: {key of a word: how often it is in this text}
MAX_WORD_UNITS = 8
_EMPTY_WORD = np.array([0x9E3779B97F4A7C15], np.uint64)  # its key; units are folded into it


def word_keys(orths: Keys, sizes: Ints) -> Keys:
    """Keys of words. orths (N,): units of all words, end to end. sizes (W,): units of each word.
    RETURNS (W,) uint64, 0 for words of one unit, or of more than `MAX_WORD_UNITS`."""
    first = np.cumsum(sizes) - sizes
    keys = np.zeros(len(sizes), np.uint64)
    state = _EMPTY_WORD.repeat(len(sizes))
    for n in range(min(MAX_WORD_UNITS, int(sizes.max(initial=0)))):
        longer = np.flatnonzero(sizes > n)
        state[longer] = mix(state[longer], orths[first[longer] + n])
        ended = longer[(sizes[longer] == n + 1) & (n > 0)]
        keys[ended] = state[ended]
    return keys


def known_word_values(docs: Sequence[Doc], lookups: Lookups) -> dict[str, Keys]:
    """Values of the three attributes at all tokens of some Docs (N,), at least one; 1 everywhere if
    there is no table."""
    columns = np.concatenate([doc.to_array([ORTH, SPACY]) for doc in docs])
    n = len(columns)
    begins, inside, ends = np.ones((3, n), np.uint64)
    values = {"known_begins": begins, "known_inside": inside, "known_ends": ends}
    table = lookups.get_table(KNOWN_WORDS_TABLE, None)
    if table is None:
        return values
    units = np.append(columns[:, 0], np.zeros(MAX_WORD_UNITS, np.uint64))
    is_joined = np.append(columns[:, 1] == 0, np.zeros(MAX_WORD_UNITS, bool))  # with the next unit
    doc_ends = np.cumsum([len(doc) for doc in docs])
    is_joined[doc_ends[doc_ends > 0] - 1] = False
    # keys of the stretches of 2, 3, ... units from each token; 0 where white space is in one
    keys = np.empty((MAX_WORD_UNITS - 1, n), np.uint64)
    goes_on = np.ones(n, bool)
    state = mix(_EMPTY_WORD, units[:n])
    for more in range(1, MAX_WORD_UNITS):
        goes_on &= is_joined[more - 1 : more - 1 + n]
        state = mix(state, units[more : more + n])
        np.multiply(state, goes_on, out=keys[more - 1])
    # longer words come later, and so the longest of several stays
    for size, is_known in enumerate(_known(keys, docs, table), start=2):
        first = np.flatnonzero(is_known)
        begins[first] = size
        ends[first + size - 1] = size
        for inner in range(1, size - 1):
            inside[first + inner] = size
    return values


def _known(keys: Keys, docs: Sequence[Doc], table: dict[int, int]) -> Mask:
    """Which words are known (K, N) bool. keys (K, N): of words that begin at each token."""
    index, counts = _latest.of((table,), lambda: _index_of(table))
    rows = index.lookup(keys)
    known: Mask = rows != index.n_rows
    own_words = [doc.user_data.get(OWN_WORDS, {}) for doc in docs]
    if any(own_words):
        doc_of = np.repeat(np.arange(len(docs)), [len(doc) for doc in docs])
        for k, token in np.argwhere(known).tolist():
            n_own = own_words[doc_of[token]].get(int(keys[k, token]), 0)
            known[k, token] = counts[rows[k, token]] > n_own
    return known


def _index_of(table: dict[int, int]) -> tuple[ExactIndex, Ints]:
    """The words of a table, and how often each was seen."""
    keys = np.fromiter(table.keys(), np.uint64, len(table))
    return ExactIndex(keys), np.fromiter(table.values(), np.intp, len(table))


def gap_values(docs: Sequence[Doc], lookups: Lookups) -> dict[str, Keys]:
    """1 where the next token follows, 2 where white space does."""
    has_space = np.concatenate([doc.to_array([SPACY]).reshape(-1) for doc in docs])
    return {"gap": has_space + np.uint64(1)}


_latest: IdentityCache[tuple[ExactIndex, Ints]] = IdentityCache()
for _name in ("known_begins", "known_inside", "known_ends"):
    DOC_ATTRIBUTES[_name] = DocAttribute(known_word_values, KNOWN_WORDS_TABLE)
DOC_ATTRIBUTES["gap"] = DocAttribute(gap_values)
