"""Where known words lie among units: the longest one that begins, goes on or ends at each, as
attributes of templates.

Words are known by a table of the vocabulary, which says how often each was seen
(segmentation/corpus.py makes it):

    begins(t) = max length of a known word  x[t .. t + n - 1],   2 <= n <= 8
    ends(t)   = the same of  x[t - n + 1 .. t]
    inside(t) = the same of words with t neither first nor last

and 1 where there is none. No match reaches across white space. In training every word of a text
would be known, by the text itself: so a text can have words of its own (`OWN_WORDS` of
`doc.user_data`), which are known only if they were seen more often than that. Checked in
tests/features/test_known_words.py.
"""

from collections.abc import Sequence

import numpy as np
from spacy.attrs import ORTH, SPACY
from spacy.lookups import Lookups
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Mask
from ..caches import IdentityCache
from .attributes import OF_DOCS, DocAttribute
from .index import ExactIndex
from .keys import mix

TABLE = "hoseq_known_words"  # key of a word -> how often it was seen
OWN_WORDS = "hoseq_own_words"  # of `doc.user_data`: {key of a word: how often it is in this text}
LONGEST = 8  # units
BEGINS = "known_begins"
INSIDE = "known_inside"
ENDS = "known_ends"
GAP = "gap"
ATTRIBUTES = (BEGINS, INSIDE, ENDS)
_SEED = np.array([0x9E3779B97F4A7C15], np.uint64)


def word_keys(orths: Keys, sizes: Ints) -> Keys:
    """Keys of words. orths (N,): units of all of them, end to end. sizes (W,): units of each.
    RETURNS (W,) uint64, 0 for those of one unit, or of more than `LONGEST`."""
    first = np.cumsum(sizes) - sizes
    keys = np.zeros(len(sizes), np.uint64)
    state = _SEED.repeat(len(sizes))
    for n in range(min(LONGEST, int(sizes.max(initial=0)))):
        longer = np.flatnonzero(sizes > n)
        state[longer] = mix(state[longer], orths[first[longer] + n])
        ended = longer[(sizes[longer] == n + 1) & (n > 0)]
        keys[ended] = state[ended]
    return keys


def known_word_values(docs: Sequence[Doc], lookups: Lookups) -> dict[str, Keys]:
    """All three attributes of some Docs (N,), at least one, by a table of lookups; 1 everywhere
    without one."""
    columns = np.concatenate([doc.to_array([ORTH, SPACY]) for doc in docs])
    n = len(columns)
    values = {name: np.ones(n, np.uint64) for name in ATTRIBUTES}
    table = lookups.get_table(TABLE, None)
    if table is None:
        return values
    ends = np.cumsum([len(doc) for doc in docs])
    units = np.append(columns[:, 0], np.zeros(LONGEST, np.uint64))
    joined = np.append(columns[:, 1] == 0, np.zeros(LONGEST, bool))  # with the next unit
    joined[ends[ends > 0] - 1] = False
    # of the stretches of 2, 3, ... units that begin at each; 0 where white space is in one
    keys = np.empty((LONGEST - 1, n), np.uint64)
    goes_on = np.ones(n, bool)
    state = mix(_SEED, units[:n])
    for more in range(1, LONGEST):
        goes_on &= joined[more - 1 : more - 1 + n]
        state = mix(state, units[more : more + n])
        np.multiply(state, goes_on, out=keys[more - 1])
    known = _known(keys, docs, table)
    for size, at in enumerate(map(np.flatnonzero, known), 2):
        values[BEGINS][at] = values[ENDS][at + size - 1] = size
        for inner in range(1, size - 1):
            values[INSIDE][at + inner] = size
    return values


def _known(keys: Keys, docs: Sequence[Doc], table: dict[int, int]) -> Mask:
    """keys (K, N): of words that begin at each token. RETURNS (K, N) bool."""
    index, counts = _latest.of((table,), lambda: _index_of(table))
    rows = index.lookup(keys)
    known: Mask = rows != index.n_rows
    own = [doc.user_data.get(OWN_WORDS, {}) for doc in docs]
    if any(own):
        doc_of = np.repeat(np.arange(len(docs)), [len(doc) for doc in docs])
        for k, token in np.argwhere(known).tolist():
            n_own = own[doc_of[token]].get(int(keys[k, token]), 0)
            known[k, token] = counts[rows[k, token]] > n_own
    return known


def _index_of(table: dict[int, int]) -> tuple[ExactIndex, Ints]:
    """Keys of the words of a table, and how often each was seen."""
    keys = np.fromiter(table.keys(), np.uint64, len(table))
    return ExactIndex(keys), np.fromiter(table.values(), np.intp, len(table))


def gap_values(docs: Sequence[Doc], lookups: Lookups) -> dict[str, Keys]:
    """1 where the next token follows, 2 where white space does."""
    return {GAP: np.concatenate([doc.to_array([SPACY]).reshape(-1) for doc in docs]) + np.uint64(1)}


_latest: IdentityCache[tuple[ExactIndex, Ints]] = IdentityCache()
OF_DOCS.update(dict.fromkeys(ATTRIBUTES, DocAttribute(known_word_values, TABLE)))
OF_DOCS[GAP] = DocAttribute(gap_values)
