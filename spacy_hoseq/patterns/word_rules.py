"""Rules that look at words alone, matched for whole batches.

Such a rule is a string of word tests r_1 ... r_n, and matches where word t - n + j passes test r_j
for all j. Whether a word passes a test is found once per word type, by spaCy's own `Matcher` on a
text of that one word, and kept as bits: bit r of `accepts[w, j]` says that w can be the j-th last
word of a match of rule r, or that the rule has fewer words. Then rule r matches at t if bit r is
set in

    accepts[w_t, 0] & accepts[w_{t-1}, 1] & ... & accepts[w_{t-m+1}, m - 1],    m = words of the longest rule,

64 rules to a machine word (Baeza-Yates & Gonnet 1992, "A new approach to text searching", for many
short strings). Checked against the `Matcher` on whole texts in tests/patterns/test_word_rules.py.
"""

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Mask
from ..features.sequences import vocab_of, words_and_lengths
from ..features.word_types import MAX_WORD_TYPES, WordTypes

TESTS = frozenset([
    "orth", "text", "lower", "length", "shape", "is_alpha", "is_ascii", "is_digit", "is_lower", "is_upper", "is_title",
    "is_punct", "is_space", "is_bracket", "is_quote", "is_left_punct", "is_right_punct", "is_currency", "is_stop",
    "like_num", "like_url", "like_email",
])  # fmt: skip
BITS = 64

Description = Dict[str, Any]


def looks_at_words(tokens: List[Description]) -> bool:
    """Whether a rule tests nothing but words, one for each description."""
    return all(key.lower() in TESTS for token in tokens for key in token)


class WordRules:
    """tokens: descriptions of each rule's words, oldest first; at least one rule, of at least one
    word.
    most_types (int): word types that are remembered."""

    def __init__(self, tokens: List[List[Description]], most_types: int = MAX_WORD_TYPES) -> None:
        self._n_rules = len(tokens)
        self._longest = max(map(len, tokens))
        self._n_words = -(-self._n_rules // BITS)  # machine words for the bits of all rules
        shorter = np.zeros(
            (self._longest, self._n_words * BITS), bool
        )  # (m, R): rules of at most j words
        self._tests: List[
            Tuple[Description, Mask]
        ] = []  # each test, and the bits (m, R) it decides
        for rule, descriptions in enumerate(tokens):
            shorter[len(descriptions) :, rule] = True
            for j, description in enumerate(reversed(descriptions)):
                self._bits_of(description)[j, rule] = True
        self._shorter = _pack(shorter)  # (m, W)
        nothing = np.zeros((0, self._longest * self._n_words), np.uint64)
        self._types = WordTypes(self._accepts, nothing, most_types)

    def _bits_of(self, description: Description) -> Mask:
        for known, bits in self._tests:
            if known == description:
                return bits
        self._tests.append((description, np.zeros((self._longest, self._n_words * BITS), bool)))
        return self._tests[-1][1]

    def fire(self, docs: Sequence[Doc]) -> Tuple[Ints, Ints]:
        """RETURNS last tokens (M,), counted over all docs, and rules (M,), in the order of tokens,
        then rules."""
        orths, lengths = words_and_lengths(docs)
        if not len(orths):
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        types, table, _ = self._types.of(vocab_of(docs), orths)
        accepts = table[types].reshape(len(orths), self._longest, self._n_words)
        place = np.arange(len(orths)) - np.repeat(
            np.cumsum(lengths) - lengths, lengths
        )  # (N,) in its sequence
        matched = accepts[:, 0].copy()  # (N, W)
        for j in range(1, self._longest):
            before = np.where((place[j:] >= j)[:, None], accepts[:-j, j], self._shorter[j])
            matched[j:] &= before
            matched[:j] &= self._shorter[j]
        tokens = np.flatnonzero(matched.any(axis=1))
        rows, rules = np.divmod(np.flatnonzero(_unpack(matched[tokens])), BITS * self._n_words)
        return tokens[rows], rules

    def forget_words(self) -> None:
        """Drop what is remembered of word types."""
        self._types.clear()

    def _accepts(self, vocab: Vocab, orths: List[int]) -> Keys:
        """RETURNS (len(orths), m * W): `accepts` of word types."""
        matcher = Matcher(vocab)
        for number, (description, _) in enumerate(self._tests):
            matcher.add(str(number), [[description]])
        doc = Doc(vocab, words=[vocab.strings[orth] for orth in orths])
        passed = np.zeros((len(orths), len(self._tests)), bool)
        for key, word, _ in matcher(doc):
            passed[word, int(vocab.strings[key])] = True
        result = np.broadcast_to(self._shorter, (len(orths), *self._shorter.shape)).copy()
        for (_, bits), words in zip(self._tests, passed.T, strict=True):
            result[words] |= _pack(bits)
        return result.reshape(len(orths), -1)


def _pack(bits: Mask) -> Keys:
    """(..., 64 W) bool -> (..., W)."""
    return np.packbits(bits, axis=-1, bitorder="little").view("<u8").astype(np.uint64)


def _unpack(words: Keys) -> Mask:
    """(n, W) -> (n, 64 W)."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=-1, bitorder="little").view(bool)
