"""Whole chunks as label patterns: how long they are, and which words they begin with, end with and
stand beside.

A chunk of n tokens is the label pattern B I .. I L; one of a single token is U after any label that
can stand before it. Where a chunk would end with a listed word, such as *company*, features of the
whole chunk fire: "begins with a place, ends with *company*", "a company of five tokens". The trie
holds them for every length, and inference stays linear.
Checked against a search through all spans in tests/patterns/test_chunk_words.py.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Ints
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

NAME = "chunk_words"
# where words of a list are looked for; step -1: they end there, 1: they begin there
LISTS = {"begins": 1, "ends": -1, "before": -1, "after": 1}
PLACES = (*LISTS, "inner", "size")
# of the only, first, inner and last token of a chunk: "bilou", "start_end"
LETTERS = ("UBIL", "SBIE")


class ChunkWords(PatternSource):
    """Features of chunks that end with a listed word. A chunk of one token at the beginning of a
    sequence has none.

    label (str): the type of the chunks. The tags must be of "bilou" or "start_end".
    classes: dictionaries with "name", "where" ("begins", "ends", "before", "after") and "words",
        and anything else ("note", "example") for the reader. A word may be part of a token, or
        several tokens.
    tests: conjunctions of "begins", "ends", "before", "after", "inner", "size", joined by "+": one
        weight for each combination of classes ("other" where no word is listed) and sizes.
    max_size (int): tokens of the longest chunks, from 2. Time grows with it.
    RAISES ValueError [HS034]: settings that cannot work.
    """

    def __init__(
        self, label: str, classes: list[dict[str, Any]], tests: list[str], max_size: int = 20
    ) -> None:
        if max_size < 2:
            raise refused(NAME, f"`max_size` must be at least 2, got {max_size}")
        self.label = label
        self.max_size = max_size
        self.tests = [test.split("+") for test in tests]
        if not tests or any(len(set(test) & set(PLACES)) < len(test) for test in self.tests):
            problem = f"tests must be of {', '.join(PLACES)}, each once, joined by +; got {tests!r}"
            raise refused(NAME, problem)
        words_of: dict[str, list[list[str]]] = {where: [] for where in LISTS}
        for entry in classes:
            _check_class(entry)
            words_of[entry["where"]].append(entry["words"])
        self._lists = [ListedWords(words_of[where], step) for where, step in LISTS.items()]
        n_values = {where: len(words) + 1 for where, words in words_of.items()}
        # beside the classes of "begins": the chunk is the word that it ends with, and nothing else
        self._itself = n_values["begins"]
        n_values["begins"] += 1
        # of the words of "ends" within a chunk, before its own: none, one of the same class, of another
        n_values |= {"inner": 3, "size": max_size}
        self._bases = [[n_values[place] for place in test] for test in self.tests]
        *self._first, n_weights = np.cumsum([0, *map(np.prod, self._bases)]).tolist()
        self.n_rules = n_weights * max_size  # one for each weight and size

    def define(self, labels: Sequence[str], sequences: list[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: the component has no tags of such chunks."""
        ids = {label: i for i, label in enumerate(labels)}
        letters = next((some for some in LETTERS if f"{some[3]}-{self.label}" in ids), None)
        if letters is None:
            raise refused(NAME, f'no tags of {self.label} as "bilou" or "start_end" have them')
        only, begin, middle, last = (ids[f"{letter}-{self.label}"] for letter in letters)
        longest = min(self.max_size, max(map(len, sequences), default=self.max_size))
        # what can stand before a chunk of one token, and that chunk; then those of more tokens
        chunks: list[list[Pattern]] = [[] for _ in range(self.max_size)]
        chunks[0] = [(ids[label], only) for label in labels if label[:1] not in "BI"]
        for size in range(2, longest + 1):
            chunks[size - 1] = [(begin, *[middle] * (size - 2), last)]
        of_rules = chunks * (self.n_rules // self.max_size)
        patterns = [pattern for chunk in of_rules for pattern in chunk]
        rule_of = np.repeat(np.arange(self.n_rules), list(map(len, of_rules)))
        return PatternFeatures(patterns, rule_of // self.max_size, rule_of)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        parts = [NOTHING_FIRED]
        for before, sequence in sequences_of(docs):
            last, rules = self._fire([token.orth_ for token in sequence])
            parts.append(fired_rules(before + last, rules))
        return joined_matches(parts)

    def _fire(self, words: list[str]) -> tuple[Ints, Ints]:
        """Last tokens and rules of one sentence, for every chunk that ends with a listed word. Arrays
        are over the places between tokens."""
        text = "".join(words)
        bounds = np.cumsum([0, *map(len, words)])
        listed = np.stack([words.at(text)[:, bounds] for words in self._lists])
        begins, ends, before, after = listed[:, 0]
        stops = np.flatnonzero(ends)
        starts = np.searchsorted(bounds, bounds[stops] - listed[1, 1, stops], side="right") - 1
        least = stops - starts  # tokens of the listed word
        counts = np.maximum(np.minimum(stops, self.max_size) - least + 1, 0)
        size = ranges(least, counts)
        start, stop, shortest = (np.repeat(values, counts) for values in (starts, stops, least))
        first = stop - size
        # where the last listed word ends before the one at the chunk's end begins
        earlier = np.searchsorted(stops, start, side="right")
        inner = np.where(earlier > 0, stops[earlier - 1], 0)
        values = {
            "begins": np.where(size == shortest, self._itself, begins[first]),
            "ends": ends[stop],
            "before": before[first],
            "after": after[stop],
            "inner": np.where(inner > first, 1 + (ends[inner] != ends[stop]), 0),
            "size": size - 1,
        }
        rules = []
        for test, bases, number in zip(self.tests, self._bases, self._first, strict=True):
            weight = number + np.ravel_multi_index(tuple(values[place] for place in test), bases)
            rules.append(weight * self.max_size + size - 1)
        return np.tile(stop - 1, len(rules)), np.concatenate(rules)


class ListedWords:
    """Classes of words that are looked for where they begin (step 1) or end (-1). RAISES ValueError
    [HS034]: a word of two classes."""

    def __init__(self, classes: list[list[str]], step: int) -> None:
        self._step = step
        self._class_of: dict[str, int] = {}
        for number, words in enumerate(classes, start=1):
            for word in words:
                if self._class_of.setdefault(word[::step], number) != number:
                    raise refused(NAME, f"{word!r} is in two classes of one place")
        longest_first = sorted(self._class_of, key=len, reverse=True)
        self._expression = re.compile(f"(?=({'|'.join(map(re.escape, longest_first))}))")

    def at(self, text: str) -> Ints:
        """Class and length of the longest word at each place between characters, 0 = there is none.
        RETURNS (2, len(text) + 1)."""
        found = np.zeros((2, len(text) + 1), np.intp)
        for match in self._expression.finditer(text[:: self._step]):
            found[:, match.start()] = self._class_of.get(match[1], 0), len(match[1])
        return found[:, :: self._step]


def _check_class(entry: Any) -> None:
    """RAISES ValueError [HS034]: it is no class of words."""
    is_class = isinstance(entry, dict) and {"name", "where", "words"} <= set(entry)
    words = entry["words"] if is_class and entry["where"] in LISTS else []
    if not words or not all(isinstance(word, str) and word for word in words):
        problem = f"a class has a name, words, and where ({', '.join(LISTS)}); got {entry!r}"
        raise refused(NAME, problem)
