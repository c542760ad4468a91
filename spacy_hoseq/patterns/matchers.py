"""Where rules match: spaCy's `Matcher`, and for rules that look at words alone a faster way for whole
batches.

Such a rule is a string of word tests r_1 ... r_n, and matches where word t - n + j passes test r_j
for all j. Which tests a word passes is found once per word type, by spaCy's own `Matcher` on a text
of new words, and cached as bits: bit r of `accepts(w)[j]` says that w can be the j-th last word of a
match of rule r, or that the rule has fewer words. Then rule r matches at t if bit r is set in

    accepts(w_t)[0] & accepts(w_{t-1})[1] & ... & accepts(w_{t-m+1})[m - 1],    m = words of the longest rule,

many rules in one number (Baeza-Yates & Gonnet 1992, "A new approach to text searching", for many
short strings). Checked against the `Matcher` on whole texts in tests/patterns/test_rules.py.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..arrays import Ints, Keys
from ..caches import IdentityCache
from ..decoders.problem import ranges
from ..features.sequences import vocab_of, words_and_lengths
from ..features.type_cache import MAX_WORD_TYPES, TypeCache

WORD_TESTS = frozenset([
    "orth", "text", "lower", "length", "shape", "is_alpha", "is_ascii", "is_digit", "is_lower", "is_upper", "is_title",
    "is_punct", "is_space", "is_bracket", "is_quote", "is_left_punct", "is_right_punct", "is_currency", "is_stop",
    "like_num", "like_url", "like_email",
])  # fmt: skip

Description = dict[str, Any]  # of a token, as spaCy's `Matcher` reads it
Match = tuple[int, int, int]  # number of a rule, its first token, the token after its last


class TokenMatcher:
    """A `Matcher` of numbered rules. Each vocabulary gets its own.

    rules: token descriptions of each rule. Of several matches of a rule with "OP" that overlap, the
        longest counts.
    """

    def __init__(self, rules: dict[int, list[Description]]) -> None:
        self.rules = rules
        self._matcher: IdentityCache[Matcher] = IdentityCache()  # of a vocabulary

    def of(self, vocab: Vocab) -> Matcher:
        return self._matcher.of((vocab,), partial(self._make, vocab))

    def matches(self, words: Doc | Span) -> list[tuple[Match, list[int]]]:
        """Matches by rule and place, and which description each of their tokens has."""
        matches: list[Any] = self.of(words.vocab)(words, with_alignments=True)
        return sorted({tuple(match): descriptions for *match, descriptions in matches}.items())

    def _make(self, vocab: Vocab) -> Matcher:
        matcher = Matcher(vocab)
        for number, tokens in self.rules.items():
            # numbers: a name would be a string that can vanish with the memory zone of this call
            matcher.add(number, [tokens], greedy="LONGEST" if operators_of(tokens) else None)
        return matcher


def operators_of(tokens: list[Description]) -> list[Any]:
    """Values of "OP" in descriptions of tokens."""
    return [value for token in tokens for key, value in token.items() if key.upper() == "OP"]


def problem_of_tokens(tokens: list[Description]) -> str:
    """Why spaCy's `Matcher` cannot read descriptions of tokens; "": it can."""
    try:
        Matcher(Vocab(), validate=True).add("rule", [tokens])
    except Exception as error:
        return str(error)
    return ""


def looks_at_words(tokens: list[Description]) -> bool:
    """True if a rule tests nothing but words, one for each description."""
    return all(WORD_TESTS.issuperset(map(str.lower, token)) for token in tokens)


class WordRules:
    """Rules that look at words alone. rules: token descriptions of each rule, at least one each."""

    def __init__(self, rules: list[list[Description]]) -> None:
        longest = max(map(len, rules), default=0)
        tests: list[Description] = []
        # which test the j-th last word of each rule must pass (longest, rules); -1: no test, any
        # word passes
        self._test_of = np.full((longest, len(rules)), -1)
        for number, descriptions in enumerate(rules):
            for j, description in enumerate(reversed(descriptions)):
                if description not in tests:
                    tests.append(description)
                self._test_of[j, number] = tests.index(description)
        self._tests = TokenMatcher({test: [tests[test]] for test in range(len(tests))})
        # `accepts` of the words of a vocabulary. Key: the word. Bound: MAX_WORD_TYPES. It forgets
        # all when there are more, and when another vocabulary comes.
        self._accepted: IdentityCache[TypeCache] = IdentityCache()

    def fire(self, docs: Sequence[Doc]) -> tuple[Ints, Ints]:
        """Matches in the order of tokens, then rules. RETURNS last tokens (M,), counted over all
        docs, and rules (M,)."""
        orths, lengths = words_and_lengths(docs)
        longest, n_rules = self._test_of.shape
        if not len(orths) or not n_rules:
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        accepts = self._accepts(vocab_of(docs), orths)  # (N + 1, longest, bytes)
        place = ranges(np.zeros_like(lengths), lengths)
        at = np.arange(len(orths))
        matched = accepts[:-1, 0]
        for j in range(1, longest):
            # the last row stands for all that is before a sequence
            matched = matched & accepts[np.where(place >= j, at - j, -1), j]
        tokens = np.flatnonzero(matched.any(axis=1))
        rows, rules = np.nonzero(np.unpackbits(matched[tokens], axis=-1, count=n_rules))
        return tokens[rows], rules

    def _accepts(self, vocab: Vocab, orths: Keys) -> NDArray[np.uint8]:
        """Bits (N + 1, longest, bytes) of words (N,), then those of what is before a sequence, where
        only rules pass that have no word there."""
        outside = np.packbits(self._test_of < 0, axis=-1)

        def empty() -> TypeCache:
            return TypeCache(outside.size, np.uint8, MAX_WORD_TYPES, hashed=True)

        def compute(new: Ints) -> NDArray[np.uint8]:
            words = [vocab.strings[orth] for orth in orths[new].tolist()]
            is_passed = np.zeros((len(words), len(self._tests.rules) + 1), bool)
            is_passed[:, -1] = True  # no test
            for test, i, _ in self._tests.of(vocab)(Doc(vocab, words=words)):
                is_passed[i, test] = True
            return np.packbits(is_passed[:, self._test_of], axis=-1)

        keys = orths + np.uint64(1)  # 0, the empty word, is no key
        rows, table = self._accepted.of((vocab,), empty).of(keys, compute)
        return np.append(table[rows], outside.reshape(1, -1), axis=0).reshape(-1, *outside.shape)
