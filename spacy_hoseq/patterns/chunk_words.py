"""Whole chunks as label patterns: how long they are, and which words they begin with, end with and
stand beside.

A chunk of n tokens is the label pattern B I .. I L; one of a single token is U after any label that
can stand before it. Where a chunk would end with a listed word, a company's say, what else is seen
of it fires features of the whole
chunk: "begins with a place, ends with *company*", "a company of five tokens". The trie
holds them for every length, and inference stays linear. Checked against a search through all spans
in tests/patterns/test_chunk_words.py.
"""

from itertools import pairwise
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Ints
from ..decoders.problem import Pattern, ranges
from ..errors import Errors
from ..features.sequences import sentence_starts
from .sources import FiredRules, PatternFeatures, fired_rules

LISTS = ("begins", "ends", "before", "after")  # where words of a list are looked for
# beside the classes of "begins": the chunk is the listed word that it ends with, and nothing else
ITSELF = 1
# of the words of "ends" within a chunk, before its own: none, one of the same class, one of another
INNER = 3
PLACES = (*LISTS, "inner", "size")
LETTERS = (
    "UBIL",
    "SBIE",
)  # of the only, first, inner and last token of a chunk: "bilou", "start_end"


class WordClass(NamedTuple):
    """name. where: one of LISTS. words: as they are written."""

    name: str
    where: str
    words: List[str]


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
        self.label = label
        self.max_size = max_size
        if max_size < 2:
            raise ValueError(_message(f"`max_size` must be at least 2, got {max_size}"))
        self._classes = [_word_class(entry) for entry in classes]
        self._words = {where: _first_letters(self._classes, where) for where in LISTS}
        n_classes = {where: sum(c.where == where for c in self._classes) + 1 for where in LISTS}
        n_values = {
            **n_classes,
            "begins": n_classes["begins"] + ITSELF,
            "inner": INNER,
            "size": max_size,
        }
        self._itself = n_classes["begins"]
        self.tests = [tuple(test.split("+")) for test in tests]
        if not tests or any(
            not set(test) <= set(PLACES) or len(set(test)) < len(test) for test in self.tests
        ):
            raise ValueError(
                _message(
                    f"tests must be of {', '.join(PLACES)}, each once, joined by +; got {tests!r}"
                )
            )
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
            raise ValueError(
                _message(f'no tags of {self.label} as "bilou" or "start_end" have them')
            )
        only, begin, middle, last = (ids[f"{letter}-{self.label}"] for letter in letters)
        ended = [
            ids[label] for label in labels if label[:1] not in "BI"
        ]  # what can stand before a chunk
        longest = max(map(len, sequences), default=self.max_size)
        by_size: List[List[Pattern]] = [[(label, only) for label in ended]]
        by_size += [
            [(begin, *[middle] * (size - 2), last)]
            for size in range(2, self.max_size + 1)
            if size <= longest
        ]
        patterns: List[Pattern] = []
        rules = []
        for rule in range(self.n_rules):
            size = rule % self.max_size
            of_size = by_size[size] if size < len(by_size) else []
            patterns += of_size
            rules += [rule] * len(of_size)
        rule_of = np.array(rules, np.intp)
        return PatternFeatures(patterns, rule_of // self.max_size, rule_of)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        tokens = [np.zeros(0, np.intp)]
        rules = [np.zeros(0, np.intp)]
        shift = 0
        for doc in docs:
            words = [token.orth_ for token in doc]
            starts = np.flatnonzero(sentence_starts(doc)).tolist()
            for start, end in pairwise([*starts, len(words)]):
                last, rule = self._fire(words[start:end])
                tokens.append(last + shift + start)
                rules.append(rule)
            shift += len(words)
        return fired_rules(np.concatenate(tokens), np.concatenate(rules))

    def _fire(self, words: List[str]) -> Tuple[Ints, Ints]:
        """Last tokens and rules of one sentence, for every chunk that ends with a listed word."""
        begins, ends, before, after, ending = self._seen(words)
        lasts = np.flatnonzero(ends)
        least = lasts - ending[lasts] + 1  # tokens of the listed word
        counts = np.maximum(np.minimum(lasts + 1, self.max_size) - least + 1, 0)
        last = np.repeat(lasts, counts)
        shortest = np.repeat(least, counts)
        size = ranges(least, counts)
        first = last - size + 1
        begin = np.where(size == shortest, self._itself, begins[first])
        earlier = np.searchsorted(
            lasts, ending[last]
        )  # listed words that end before the one at its end begins
        inner = np.where(earlier > 0, lasts[earlier - 1], -1)
        kind = np.where(inner >= first, 1 + (ends[inner] != ends[last]), 0)
        values = {
            "begins": begin,
            "ends": ends[last],
            "before": before[first],
            "after": after[last],
        }
        values |= {"inner": kind, "size": size - 1}
        tokens = []
        rules = []
        for number, test in enumerate(self.tests):
            weight = np.ravel_multi_index(
                tuple(values[place] for place in test), self._bases[number]
            )
            tokens.append(last)
            rules.append((self._first[number] + weight) * self.max_size + size - 1)
        return np.concatenate(tokens), np.concatenate(rules)

    def _seen(self, words: List[str]) -> Tuple[Ints, Ints, Ints, Ints, Ints]:
        """Classes of the longest listed words: that begin with each token, end with it, end before
        it, begin after it; and the first token of the one that ends with it. All (n,)."""
        text = "".join(words)
        bounds = np.cumsum([0, *map(len, words)])
        begins, after = (self._beginning(text, where)[bounds[:-1]] for where in ("begins", "after"))
        (ends, sizes), (before, _) = (self._ending(text, where) for where in ("ends", "before"))
        ending = np.searchsorted(bounds, bounds[1:] - sizes[bounds[1:]], side="right") - 1
        return begins, ends[bounds[1:]], before[bounds[:-1]], np.append(after[1:], 0), ending

    def _beginning(self, text: str, where: str) -> Ints:
        """Class of the longest listed word that begins at each character."""
        classes = np.zeros(len(text) + 1, np.intp)
        for at, number, _ in self._matches(text, where):  # longest last
            classes[at] = number
        return classes

    def _ending(self, text: str, where: str) -> Tuple[Ints, Ints]:
        """Class and length of the longest listed word that ends before each character."""
        classes = np.zeros(len(text) + 1, np.intp)
        sizes = np.zeros(len(text) + 1, np.intp)
        for at, number, size in self._matches(text, where):
            if size >= sizes[at + size]:
                classes[at + size] = number
                sizes[at + size] = size
        return classes, sizes

    def _matches(self, text: str, where: str) -> List[Tuple[int, int, int]]:
        """Place, class and length of all listed words in a text; at one place the longest last."""
        letters = self._words[where]
        matches = []
        for at, letter in enumerate(text):
            if letter in letters:
                matches += [
                    (at, n, len(word)) for word, n in letters[letter] if text.startswith(word, at)
                ]
        return matches


def _word_class(entry: Dict[str, Any]) -> WordClass:
    """RAISES ValueError [HS034]."""
    known = (
        isinstance(entry, dict)
        and {"name", "where", "words"} <= set(entry)
        and entry["where"] in LISTS
    )
    if (
        not known
        or not entry["words"]
        or not all(isinstance(word, str) and word for word in entry["words"])
    ):
        raise ValueError(
            _message(f"a class has a name, words, and where ({', '.join(LISTS)}); got {entry!r}")
        )
    return WordClass(entry["name"], entry["where"], entry["words"])


def _first_letters(classes: List[WordClass], where: str) -> Dict[str, List[Tuple[str, int]]]:
    """First letter -> words and the number of their class, from 1, shortest first. RAISES
    ValueError [HS034]: a word of two classes."""
    number_of: Dict[str, int] = {}
    for number, some in enumerate((c for c in classes if c.where == where), start=1):
        for word in some.words:
            if number_of.setdefault(word, number) != number:
                raise ValueError(_message(f"{word!r} is in two classes of {where!r}"))
    letters: Dict[str, List[Tuple[str, int]]] = {}
    for word in sorted(number_of, key=len):
        letters.setdefault(word[0], []).append((word, number_of[word]))
    return letters


def _message(problem: str) -> str:
    return Errors.HS034.format(rule="chunk_words", problem=problem)
