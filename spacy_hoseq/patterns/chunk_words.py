"""Whole chunks as label patterns: how long they are, and which words they begin with, end with and
stand beside.

A chunk of n tokens is the label pattern B I .. I L; one of a single token is U after any label that
can stand before it. Where a chunk would end with a listed word, such as *company*, features of the
whole chunk fire: "begins with a place, ends with *company*", "a company of five tokens". The trie
holds them for every length, and inference stays linear.
Checked against a search through all spans in tests/patterns/test_chunk_words.py.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..arrays import Ints, Labels
from ..decoders.problem import Pattern, ranges
from .sources import (
    NOTHING_FIRED,
    FiredRules,
    PatternFeatures,
    PatternSource,
    fired_rules,
    joined_matches,
    refused,
    sequences_of,
)

# where the words of a class stand -> the step to the other end of a word: 1 if it begins there
WORD_PLACES = {"begins": 1, "ends": -1, "before": -1, "after": 1}


class ChunkWords(PatternSource):
    """Features of chunks that end with a listed word. A chunk of one token at the beginning of a
    sequence has none.

    label (str): the type of the chunks. The tags must be of "bilou" or "start_end".
    classes: dictionaries with "name", "where" ("begins", "ends", "before", "after") and "words",
        and anything else ("note", "example") for people. A word may be part of a token, or several
        tokens.
    tests: conjunctions of "begins", "ends", "before", "after", "inner", "size", joined by "+": one
        weight for each combination of classes ("other" where no word is listed) and sizes.
    max_size (int): tokens of the longest chunks, from 2. Time grows with it.
    RAISES ValueError [HS034]: settings that cannot work.
    """

    def __init__(
        self, label: str, classes: list[dict[str, Any]], tests: list[str], max_size: int = 20
    ) -> None:
        if max_size < 2:
            raise _refused(f"`max_size` must be at least 2, got {max_size}")
        self.label = label
        self.max_size = max_size
        self.tests = _split_tests(tests)
        words: dict[str, list[list[str]]] = {where: [] for where in WORD_PLACES}
        for entry in classes:
            _check_class(entry)
            words[entry["where"]].append(entry["words"])
        self._lists: list[ListedWords] = []
        # "inner" is the last word of "ends" within a chunk, before its own: none, one of the same
        # class, of another class
        n_values = {"inner": 3, "size": max_size}
        for where, step in WORD_PLACES.items():
            self._lists.append(ListedWords(words[where], step))
            n_values[where] = len(words[where]) + 1
        # one more class of "begins": the chunk is the listed word that it ends with, nothing else
        self._itself = n_values["begins"]
        n_values["begins"] += 1
        self._bases = []
        self._first = []  # weight of each test
        n_weights = 0
        for test in self.tests:
            bases = [n_values[place] for place in test]
            self._bases.append(bases)
            self._first.append(n_weights)
            n_weights += math.prod(bases)
        self.n_rules = n_weights * max_size  # one for each weight and size

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        """RAISES ValueError [HS034]: the component has no tags of such chunks."""
        chunks = self._chunks(labels, max(map(len, sequences), default=self.max_size))
        patterns: list[Pattern] = []
        rules: list[int] = []
        for rule in range(self.n_rules):
            pattern_group = chunks[rule % self.max_size]
            patterns += pattern_group
            rules += [rule] * len(pattern_group)
        rule_of = np.array(rules, np.intp)
        return PatternFeatures(patterns, rule_of // self.max_size, rule_of)

    def _chunks(self, labels: Sequence[str], longest: int) -> list[list[Pattern]]:
        """Label patterns of chunks of 1, 2, ... max_size tokens; none of more than `longest`."""
        ids = {label: i for i, label in enumerate(labels)}
        # of the only, first, inner and last token of a chunk: "bilou", "start_end"
        letters = "UBIL" if f"L-{self.label}" in ids else "SBIE"
        if f"{letters[3]}-{self.label}" not in ids:
            raise _refused(f'no tags of {self.label} as "bilou" or "start_end" have them')
        only, begin, middle, last = (ids[f"{letter}-{self.label}"] for letter in letters)
        # a chunk of one token stands after any label that ends a chunk, or is outside
        chunks: list[list[Pattern]] = [
            [(ids[label], only) for label in labels if label[:1] not in "BI"]
        ]
        for size in range(2, self.max_size + 1):
            pattern = (begin, *[middle] * (size - 2), last)
            chunks.append([pattern] if size <= longest else [])
        return chunks

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        parts = [NOTHING_FIRED]
        for before, sequence in sequences_of(docs):
            last, rules = self._fire([token.orth_ for token in sequence])
            parts.append(fired_rules(before + last, rules))
        return joined_matches(parts)

    def _fire(self, words: list[str]) -> tuple[Ints, Ints]:
        """Last tokens and rules of one sentence, for every chunk that ends with a listed word."""
        # classes of listed words, and their lengths, at the W + 1 places between tokens
        text = "".join(words)
        bounds = np.cumsum([0, *map(len, words)])
        listed = np.stack([words.at(text)[:, bounds] for words in self._lists])
        begins, ends, before, after = listed[:, 0]
        # where a listed word ends, and the token in which it begins
        stops = np.flatnonzero(ends)
        starts = np.searchsorted(bounds, bounds[stops] - listed[1, 1, stops], side="right") - 1
        # chunks that end there: from the tokens of the listed word alone to `max_size`
        shortest = stops - starts
        counts = np.maximum(np.minimum(stops, self.max_size) - shortest + 1, 0)
        size = ranges(shortest, counts)
        start = np.repeat(starts, counts)
        stop = np.repeat(stops, counts)
        is_itself = size == np.repeat(shortest, counts)
        first = stop - size
        # the last listed word that ends before the one at the chunk's end begins
        earlier = np.searchsorted(stops, start, side="right")
        inner = np.where(earlier > 0, stops[earlier - 1], 0)
        values = {
            "begins": np.where(is_itself, self._itself, begins[first]),
            "ends": ends[stop],
            "before": before[first],
            "after": after[stop],
            "inner": np.where(inner > first, 1 + (ends[inner] != ends[stop]), 0),
            "size": size - 1,
        }
        rules = []
        for test, bases, first_weight in zip(self.tests, self._bases, self._first, strict=True):
            combination = np.ravel_multi_index(tuple(values[place] for place in test), bases)
            rules.append((first_weight + combination) * self.max_size + size - 1)
        return np.tile(stop - 1, len(rules)), np.concatenate(rules)


class ListedWords:
    """Finds words of classes where they begin (step 1) or end (-1). RAISES ValueError [HS034]: a
    word of two classes."""

    def __init__(self, classes: list[list[str]], step: int) -> None:
        self._step = step
        self._class_of: dict[str, int] = {}  # words are read backwards if they end at a place
        for number, words in enumerate(classes, start=1):
            for word in words:
                if self._class_of.setdefault(word[::step], number) != number:
                    raise _refused(f"{word!r} is in two classes of one place")
        longest_first = sorted(self._class_of, key=len, reverse=True)
        self._expression = re.compile(f"(?=({'|'.join(map(re.escape, longest_first))}))")

    def at(self, text: str) -> Ints:
        """Class and length of the longest word at each place between characters, 0 = there is none.
        RETURNS (2, len(text) + 1)."""
        found = np.zeros((2, len(text) + 1), np.intp)
        for match in self._expression.finditer(text[:: self._step]):
            found[:, match.start()] = self._class_of.get(match[1], 0), len(match[1])
        return found[:, :: self._step]


def _split_tests(tests: list[str]) -> list[list[str]]:
    """The places that each test names. RAISES ValueError [HS034]: a test that cannot work."""
    places = [*WORD_PLACES, "inner", "size"]
    split = [test.split("+") for test in tests]
    if not tests or any(len({*test}.intersection(places)) < len(test) for test in split):
        problem = f"tests must be of {', '.join(places)}, each once, joined by +; got {tests!r}"
        raise _refused(problem)
    return split


def _check_class(entry: Any) -> None:
    """RAISES ValueError [HS034]: it is no class of words."""
    is_class = isinstance(entry, dict) and {"name", "where", "words"} <= set(entry)
    words = entry["words"] if is_class and entry["where"] in WORD_PLACES else []
    if not words or not all(isinstance(word, str) and word for word in words):
        places = ", ".join(WORD_PLACES)
        raise _refused(f"a class has a name, words, and where ({places}); got {entry!r}")


def _refused(problem: str) -> ValueError:
    return refused("chunk_words", problem)
