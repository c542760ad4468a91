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
from ..features.attributes import Attribute
from ..features.lexicon import WordAttributes
from ..features.sequences import vocab_of, words_and_lengths
from .sources import NONE

TESTS = frozenset([
    "orth", "text", "lower", "length", "shape", "is_alpha", "is_ascii", "is_digit", "is_lower", "is_upper", "is_title",
    "is_punct", "is_space", "is_bracket", "is_quote", "is_left_punct", "is_right_punct", "is_currency", "is_stop",
    "like_num", "like_url", "like_email",
])  # fmt: skip
BITS = 64

Description = Dict[str, Any]


def looks_at_words(tokens: List[Description]) -> bool:
    """True if a rule tests nothing but words, one for each description."""
    return all(key.lower() in TESTS for token in tokens for key in token)


class WordRules:
    """tokens: descriptions of each rule's words, oldest first, at least one word each.

    Words that pass the same tests have one class, which is an attribute of word types: `_accepts` has
    the bits of each class.
    """

    def __init__(self, tokens: List[List[Description]]) -> None:
        self._rules = tokens
        self._longest = max(map(len, tokens), default=0)
        n_bits = BITS * -(-len(tokens) // BITS)
        shorter = np.zeros((self._longest, n_bits), bool)  # rules of at most j words
        self._tests: List[Description] = []
        self._bits: List[Mask] = []  # (longest, n_bits): that each test decides
        for rule, descriptions in enumerate(tokens):
            shorter[len(descriptions) :, rule] = True
            for j, description in enumerate(reversed(descriptions)):
                if description not in self._tests:
                    self._tests.append(description)
                    self._bits.append(np.zeros_like(shorter))
                self._bits[self._tests.index(description)][j, rule] = True
        self._shorter = _pack(shorter)
        self._class_of: Dict[bytes, int] = {}  # tests that are passed -> class
        # (longest, classes, machine words)
        self._accepts = np.zeros((self._longest, 0, n_bits // BITS), np.uint64)
        self._words = WordAttributes([Attribute(self._classes, "lexemes")])

    def fire(self, docs: Sequence[Doc]) -> Tuple[Ints, Ints]:
        """RETURNS last tokens (M,), counted over all docs, and rules (M,), in the order of tokens,
        then rules."""
        orths, lengths = words_and_lengths(docs)
        if not len(orths) or not self._tests:
            return NONE, NONE
        values = self._words.of(vocab_of(docs), orths)
        classes = values.table[values.rows[0]].take(values.types).astype(np.intp)
        accepts = self._accepts
        # (N,) in its sequence
        place = np.arange(len(orths)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        matched = accepts[0].take(classes, axis=0)  # (N, machine words)
        for j in range(1, self._longest):
            before = accepts[j].take(classes[:-j], axis=0)
            matched[j:] &= np.where((place[j:] >= j)[:, None], before, self._shorter[j])
            matched[:j] &= self._shorter[j]
        tokens = np.flatnonzero(matched.any(axis=1))
        rows, rules = np.nonzero(_unpack(matched[tokens]))
        return tokens[rows], rules

    def forget_words(self) -> None:
        self._words.forget_words()

    def __reduce__(self) -> Any:
        return WordRules, (self._rules,)

    def _classes(self, words: Sequence[Any]) -> List[int]:
        vocab: Vocab = words[0].vocab
        matcher = Matcher(vocab)
        for number, description in enumerate(self._tests):
            matcher.add(str(number), [[description]])
        passed = np.zeros((len(words), len(self._tests)), bool)
        for key, word, _ in matcher(Doc(vocab, words=[word.text for word in words])):
            passed[word, int(vocab.strings[key])] = True
        return [self._class(tests) for tests in passed]

    def _class(self, passed: Mask) -> int:
        """passed (tests,)."""
        name = passed.tobytes()
        if name not in self._class_of:
            bits = np.any([np.zeros_like(self._bits[0]), *np.array(self._bits)[passed]], axis=0)
            accepts = self._shorter | _pack(bits)
            self._class_of[name] = self._accepts.shape[1]
            self._accepts = np.concatenate([self._accepts, accepts[:, None]], axis=1)
        return self._class_of[name]


def _pack(bits: Mask) -> Keys:
    """(..., 64 W) bool -> (..., W)."""
    return np.packbits(bits, axis=-1, bitorder="little").view("<u8").astype(np.uint64)


def _unpack(words: Keys) -> Mask:
    """(n, W) -> (n, 64 W)."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=-1, bitorder="little").view(bool)
