"""Rules that look at words alone, matched for whole batches.

Such a rule is a string of word tests r_1 ... r_n, and matches where word t - n + j passes test r_j
for all j. Whether a word passes a test is found once per word type, by spaCy's own `Matcher` on a
text of that one word, and kept as bits: bit r of `accepts[w, j]` says that w can be the j-th last
word of a match of rule r, or that the rule has fewer words. Then rule r matches at t if bit r is
set in

    accepts[w_t, 0] & accepts[w_{t-1}, 1] & ... & accepts[w_{t-m+1}, m - 1],    m = words of the longest rule,

many rules in one number (Baeza-Yates & Gonnet 1992, "A new approach to text searching", for many
short strings). Checked against the `Matcher` on whole texts in tests/patterns/test_rules.py.
"""

from threading import Lock
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Mask
from ..features.lexicon import MAX_WORD_TYPES
from ..features.sequences import vocab_of, words_and_lengths
from ..kept import Kept
from .sources import NONE

TESTS = frozenset([
    "orth", "text", "lower", "length", "shape", "is_alpha", "is_ascii", "is_digit", "is_lower", "is_upper", "is_title",
    "is_punct", "is_space", "is_bracket", "is_quote", "is_left_punct", "is_right_punct", "is_currency", "is_stop",
    "like_num", "like_url", "like_email",
])  # fmt: skip

Description = Dict[str, Any]


def looks_at_words(tokens: List[Description]) -> bool:
    """True if a rule tests nothing but words, one for each description."""
    return all(key.lower() in TESTS for token in tokens for key in token)


class WordRules:
    """tokens: descriptions of each rule's words, oldest first, at least one word each.

    Words that pass the same tests have one class: `_accepts` has the bits of each class.
    """

    def __init__(self, tokens: List[List[Description]]) -> None:
        self._rules = tokens
        longest = max(map(len, tokens), default=0)
        self._shorter = np.zeros((longest, len(tokens)), bool)  # rules of at most j words
        self._decides: List[Mask] = []  # (longest, rules): what each test decides
        self._tests: List[Description] = []
        for rule, descriptions in enumerate(tokens):
            self._shorter[len(descriptions) :, rule] = True
            for j, description in enumerate(reversed(descriptions)):
                if description not in self._tests:
                    self._tests.append(description)
                    self._decides.append(np.zeros_like(self._shorter))
                self._decides[self._tests.index(description)][j, rule] = True
        self._class_of: Dict[bytes, int] = {}  # tests that are passed -> class
        self._accepts = np.packbits(self._shorter[:, None], axis=-1)[
            :, :0
        ]  # (longest, classes, bytes)
        self._words: Kept[Dict[int, int]] = Kept()  # class of each word of a vocabulary
        self._lock = Lock()

    def fire(self, docs: Sequence[Doc]) -> Tuple[Ints, Ints]:
        """RETURNS last tokens (M,), counted over all docs, and rules (M,), in the order of tokens,
        then rules."""
        orths, lengths = words_and_lengths(docs)
        if not len(orths) or not self._rules:
            return NONE, NONE
        with self._lock:
            classes = self._classes(vocab_of(docs), orths)
        accepts = self._accepts
        shorter = np.packbits(self._shorter, axis=-1)
        place = np.arange(len(orths)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        matched = accepts[0].take(classes, axis=0)  # (N, bytes)
        for j in range(1, len(accepts)):
            before = accepts[j].take(classes[:-j], axis=0)
            matched[j:] &= np.where((place[j:] >= j)[:, None], before, shorter[j])
            matched[:j] &= shorter[j]
        tokens = np.flatnonzero(matched.any(axis=1))
        bits = np.unpackbits(matched[tokens], axis=-1, count=len(self._rules))
        rows, rules = np.nonzero(bits)
        return tokens[rows], rules

    def forget_words(self) -> None:
        self._words.forget()

    def __reduce__(self) -> Any:
        return WordRules, (self._rules,)

    def _classes(self, vocab: Vocab, orths: Keys) -> Ints:
        """Class of each word (N,)."""
        class_of = self._words.of((vocab,), dict)
        words = orths.tolist()
        new = sorted({*words}.difference(class_of))
        if new:
            matcher = Matcher(vocab)
            for number, description in enumerate(self._tests):
                matcher.add(str(number), [[description]])
            passed = np.zeros((len(new), len(self._tests)), bool)
            for key, word, _ in matcher(Doc(vocab, words=[vocab.strings[orth] for orth in new])):
                passed[word, int(vocab.strings[key])] = True
            class_of.update(zip(new, map(self._class, passed), strict=True))
        if len(class_of) > MAX_WORD_TYPES:
            self._words.forget()
        return np.array([class_of[orth] for orth in words], np.intp)

    def _class(self, passed: Mask) -> int:
        """passed (tests,)."""
        n_classes = self._accepts.shape[1]
        number = self._class_of.setdefault(passed.tobytes(), n_classes)
        if number == n_classes:
            accepts = np.any([self._shorter, *np.array(self._decides)[passed]], axis=0)
            packed = np.packbits(accepts[:, None], axis=-1)
            self._accepts = np.concatenate([self._accepts, packed], axis=1)
        return number
