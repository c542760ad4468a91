"""Whole chunks as label patterns: how long they are, and which words they begin with, end with and
stand beside.

A chunk of n tokens is the label pattern B I .. I L; one of a single token is U after any label that
can stand before it. Where a chunk would end with a listed word, a company's say, what else is seen
of it fires features of the whole
chunk: "begins with a place, ends with *company*", "a company of five tokens". The trie
holds them for every length, and inference stays linear. Checked against a search through all spans
in tests/patterns/test_chunk_words.py.
"""

import re
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Ints
from ..decoders.problem import Pattern, ranges
from .sources import NONE, FiredRules, PatternFeatures, fired_rules, refused, sequences_of

NAME = "chunk_words"
LISTS = ("begins", "ends", "before", "after")  # where words of a list are looked for
# beside the classes of "begins": the chunk is the listed word that it ends with, and nothing else
ITSELF = 1
# of the words of "ends" within a chunk, before its own: none, one of the same class, one of another
INNER = 3
PLACES = (*LISTS, "inner", "size")
# of the only, first, inner and last token of a chunk: "bilou", "start_end"
LETTERS = ("UBIL", "SBIE")


class ListedWords(NamedTuple):
    """The words of one list, as an expression that finds the longest at each character. class_of: number
    of the class of each, from 1. n_classes (int)."""

    expression: "re.Pattern[str]"
    class_of: Dict[str, int]
    n_classes: int

    def longest(self, text: str) -> Tuple[Ints, Ints]:
        """Class and length of the longest word that begins at each character, and at the end. Both
        (len(text) + 1,), 0 = there is none."""
        classes = np.zeros(len(text) + 1, np.intp)
        sizes = np.zeros(len(text) + 1, np.intp)
        for found in self.expression.finditer(text) if self.class_of else ():
            classes[found.start()] = self.class_of[found[1]]
            sizes[found.start()] = len(found[1])
        return classes, sizes


class ChunkWords:
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
        self, label: str, classes: List[Dict[str, Any]], tests: List[str], max_size: int = 20
    ) -> None:
        if max_size < 2:
            raise refused(NAME, f"`max_size` must be at least 2, got {max_size}")
        for entry in classes:
            _check_class(entry)
        self.label = label
        self.max_size = max_size
        self._words = {where: _listed(classes, where) for where in LISTS}
        n_values = {where: words.n_classes + 1 for where, words in self._words.items()}
        self._itself = n_values["begins"]
        n_values |= {"begins": n_values["begins"] + ITSELF, "inner": INNER, "size": max_size}
        self.tests = [tuple(test.split("+")) for test in tests]
        if not tests or any(len(set(test) & set(PLACES)) < len(test) for test in self.tests):
            known = ", ".join(PLACES)
            raise refused(NAME, f"tests must be of {known}, each once, joined by +; got {tests!r}")
        self._bases = [[n_values[place] for place in test] for test in self.tests]
        self._first = np.cumsum([0, *(int(np.prod(bases)) for bases in self._bases)])

    @property
    def n_rules(self) -> int:
        """One for each weight and size."""
        return int(self._first[-1]) * self.max_size

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: the component has no tags of such chunks."""
        ids = {label: i for i, label in enumerate(labels)}
        letters = next((some for some in LETTERS if f"{some[3]}-{self.label}" in ids), None)
        if letters is None:
            problem = f'no tags of {self.label} as "bilou" or "start_end" have them'
            raise refused(NAME, problem)
        only, begin, middle, last = (ids[f"{letter}-{self.label}"] for letter in letters)
        longest = min(self.max_size, max(map(len, sequences), default=self.max_size))
        # what can stand before a chunk of one token, and that chunk; then those of more tokens
        by_size: List[List[Pattern]] = [
            [(ids[label], only) for label in labels if label[:1] not in "BI"]
        ]
        for size in range(2, longest + 1):
            by_size.append([(begin, *[middle] * (size - 2), last)])
        patterns: List[Pattern] = []
        rules: List[int] = []
        for rule in range(self.n_rules):
            of_size = by_size[rule % self.max_size : rule % self.max_size + 1]
            for pattern in (pattern for some in of_size for pattern in some):
                patterns.append(pattern)
                rules.append(rule)
        rule_of = np.array(rules, np.intp)
        return PatternFeatures(patterns, rule_of // self.max_size, rule_of)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        tokens = [NONE]
        rules = [NONE]
        for before, doc, start, end in sequences_of(docs):
            last, rule = self._fire([token.orth_ for token in doc[start:end]])
            tokens.append(last + before + start)
            rules.append(rule)
        return fired_rules(np.concatenate(tokens), np.concatenate(rules))

    def _fire(self, words: List[str]) -> Tuple[Ints, Ints]:
        """Last tokens and rules of one sentence, for every chunk that ends with a listed word."""
        begins, ends, before, after, start = self._seen(words)
        lasts = np.flatnonzero(ends)
        least = lasts - start[lasts] + 1  # tokens of the listed word
        counts = np.maximum(np.minimum(lasts + 1, self.max_size) - least + 1, 0)
        last = np.repeat(lasts, counts)
        size = ranges(least, counts)
        first = last - size + 1
        # the last listed word that ends before the one at the chunk's end begins
        earlier = np.searchsorted(lasts, start[last])
        inner = np.where(earlier > 0, lasts[earlier - 1], -1)
        values = {
            "begins": np.where(size == np.repeat(least, counts), self._itself, begins[first]),
            "ends": ends[last],
            "before": before[first],
            "after": after[last],
            "inner": np.where(inner >= first, 1 + (ends[inner] != ends[last]), 0),
            "size": size - 1,
        }
        rules = []
        for test, bases, number in zip(self.tests, self._bases, self._first, strict=False):
            weight = np.ravel_multi_index(tuple(values[place] for place in test), bases)
            rules.append((number + weight) * self.max_size + size - 1)
        return np.tile(last, len(self.tests)), np.concatenate(rules)

    def _seen(self, words: List[str]) -> Tuple[Ints, Ints, Ints, Ints, Ints]:
        """Classes of the longest listed words that begin with each token, end with it, end before it,
        begin after it; and the first token of the one that ends with it. All (n,)."""
        text = "".join(words)
        bounds = np.cumsum([0, *map(len, words)])
        starts = bounds[:-1]
        ends = bounds[1:]
        # where a word ends, it begins if the text is read backwards
        backwards = text[::-1]
        begin, _ = self._words["begins"].longest(text)
        follow, _ = self._words["after"].longest(text)
        end, sizes = (values[len(text) - ends] for values in self._words["ends"].longest(backwards))
        precede, _ = self._words["before"].longest(backwards)
        first = np.searchsorted(bounds, ends - sizes, side="right") - 1
        return begin[starts], end, precede[len(text) - starts], follow[ends], first


def _check_class(entry: Any) -> None:
    """RAISES ValueError [HS034]."""
    is_class = isinstance(entry, dict) and {"name", "where", "words"} <= set(entry)
    words = entry["words"] if is_class and entry["where"] in LISTS else []
    if not words or not all(isinstance(word, str) and word for word in words):
        known = ", ".join(LISTS)
        raise refused(NAME, f"a class has a name, words, and where ({known}); got {entry!r}")


def _listed(classes: List[Dict[str, Any]], where: str) -> ListedWords:
    """The words of a list; those of "ends" and "before" are written backwards. RAISES ValueError
    [HS034]: a word of two classes."""
    lists = [entry["words"] for entry in classes if entry["where"] == where]
    step = -1 if where in ("ends", "before") else 1
    class_of: Dict[str, int] = {}
    for number, words in enumerate(lists, start=1):
        for word in words:
            if class_of.setdefault(word[::step], number) != number:
                raise refused(NAME, f"{word!r} is in two classes of {where!r}")
    longest_first = sorted(class_of, key=len, reverse=True)
    expression = re.compile(f"(?=({'|'.join(map(re.escape, longest_first))}))")
    return ListedWords(expression, class_of, len(lists))
