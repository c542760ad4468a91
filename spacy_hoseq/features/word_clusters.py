"""Word clusters by the exchange algorithm with a bigram class objective (Kneser & Ney 1993; Martin,
Liermann & Ney 1998, section 3).

Each word w has a class c(w), and the model of a text is

    p(w_i | w_{i-1}) = p(c(w_i) | c(w_{i-1})) p(w_i | c(w_i))

N(a, b) is how often class b follows class a, N(a) how often a word of class a stands in the text,
and g(n) = n log n. Then the log likelihood is, apart from a term that no class changes,

    F = sum_{a, b} g(N(a, b)) - 2 sum_a g(N(a))

Word by word, the most frequent first, each goes to the class that makes F largest, until none
moves. F never falls; in the end no exchange of one word makes it larger. Checked against counting
in tests/features/test_word_clusters.py.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.util import minibatch

from ..arrays import Floats, Ints, Keys
from .keys import ABSENT
from .sequences import WordDocs, vocab_of

# words of a sweep and the number of the sweep -> the same words
Progress = Callable[[range, int], Iterable[int]]


class Bigrams(NamedTuple):
    """Counts of pairs of words.

    words: those that get a class, the most frequent first; the number of a word is its place. Number
    len(words) stands for what is beyond the ends of a sentence, and the next number for all other
    words; these two have classes of their own. first, second (P,) intp: pairs, in order. counts (P,)
    intp.
    """

    words: list[str]
    first: Ints
    second: Ints
    counts: Ints


class _Neighbours(NamedTuple):
    """Neighbours of a word, other than itself.

    before (A,), after (B,): classes before and after the word. n_before, n_after: how often each
    stands there. n_itself: how often the word stands before itself. n: how often in the text.
    """

    before: Ints
    n_before: Ints
    after: Ints
    n_after: Ints
    n_itself: int
    n: int


class ClassBigrams:
    """Counts of pairs of classes, which follow the words that change their class.

    classes (V,): of each word, 0 <= c < n_classes. Memory: 8 bytes for each pair of classes and
    each pair in the text, 16 for each pair of words.
    """

    def __init__(self, bigrams: Bigrams, classes: Ints, n_classes: int) -> None:
        n_words = len(bigrams.words) + 2
        size = n_classes + 2
        _, first, second, counts = bigrams
        self.n_classes = n_classes
        self._all: Ints = np.append(classes, [n_classes, n_classes + 1])
        self._n = np.bincount(first, counts, n_words).astype(np.int64)  # (V + 2,)
        flat = self._all[first] * size + self._all[second]
        pairs = np.bincount(flat, counts, size * size).astype(np.int32).reshape(size, size)
        self._pairs = pairs, pairs.T.copy()  # N(a, b), N(b, a)
        self._n_class = np.bincount(self._all, self._n, size).astype(np.int64)
        n = np.arange(int(counts.sum()) + 2, dtype=np.float64)
        self._g = n * np.log(np.maximum(n, 1.0))  # of every count that can occur
        other = first != second
        self._itself = np.zeros(n_words, np.int64)
        self._itself[first[~other]] = counts[~other]
        self._after = _grouped(first[other], second[other], counts[other], n_words)
        self._before = _grouped(second[other], first[other], counts[other], n_words)

    @property
    def classes(self) -> Ints:
        """The class of each word (V,)."""
        classes: Ints = self._all[:-2].copy()
        return classes

    def exchange(self, word: int) -> bool:
        """Move a word to its best class: the lowest of several, its own if none is better. RETURNS
        True if it moved. Time: number of classes x classes among its neighbours."""
        neighbours = self._neighbours(word)
        current = self._all[word]
        self._add(neighbours, current, -1)
        gains = self._gains(neighbours)
        best = int(gains.argmax())
        moves = bool(gains[best] > gains[current] + 1e-6)  # smaller gains are rounding
        if moves:
            self._all[word] = best
        self._add(neighbours, self._all[word], 1)
        return moves

    def _neighbours(self, word: int) -> _Neighbours:
        """Neighbours of a word, by the classes that they have now."""
        sides: list[Ints] = []
        for words, counts, starts in (self._before, self._after):
            near = slice(starts[word], starts[word + 1])
            totals = np.bincount(self._all[words[near]], counts[near], self.n_classes + 2)
            classes = np.flatnonzero(totals)
            sides += [classes, totals[classes].astype(np.intp)]
        before, n_before, after, n_after = sides
        n_itself = int(self._itself[word])
        return _Neighbours(before, n_before, after, n_after, n_itself, int(self._n[word]))

    def _add(self, neighbours: _Neighbours, to: int, sign: int) -> None:
        """Put a word into a class (sign 1), or take it out (-1)."""
        before, n_before, after, n_after, n_itself, n = neighbours
        sides = (before, n_before, after, n_after), (after, n_after, before, n_before)
        for pairs, (rows, n_rows, columns, n_columns) in zip(self._pairs, sides, strict=True):
            pairs[rows, to] += sign * n_rows
            pairs[to, columns] += sign * n_columns
            pairs[to, to] += sign * n_itself
        self._n_class[to] += sign * n

    def _gains(self, neighbours: _Neighbours) -> Floats:
        """F with the word in each class (C,), minus F with the word in none."""
        before, n_before, after, n_after, n_itself, n = neighbours
        g = self._g
        gains = self._row_gains(0, before, n_before) + self._row_gains(1, after, n_after)
        to_word, from_word = np.zeros((2, len(gains)), np.int64)  # N(a, w), N(w, b)
        to_word[before] = n_before
        from_word[after] = n_after
        same = self._pairs[0].diagonal()  # N(c, c)
        # N(c, c) grows by both, and by the word itself; the rows have counted both apart
        both = same + to_word + from_word + n_itself
        gains += g[both] - g[same + to_word] - g[same + from_word] + g[same]
        gains -= 2.0 * (g[self._n_class + n] - g[self._n_class])
        return gains[: self.n_classes]

    def _row_gains(self, side: int, rows: Ints, counts: Ints) -> Floats:
        """sum_a g(N(a, c) + counts[a]) - g(N(a, c)), or the same with N(c, a). RETURNS
        (C + 2,)."""
        old = self._pairs[side].take(rows, axis=0)
        gains: Floats = (self._g.take(old + counts[:, None]) - self._g.take(old)).sum(axis=0)
        return gains


def _grouped(words: Ints, neighbours: Ints, counts: Ints, n_words: int) -> tuple[Ints, Ints, Ints]:
    """Neighbours and counts by word, and where those of each word begin (n_words + 1,)."""
    order = np.argsort(words, kind="stable")
    starts = np.searchsorted(words[order], np.arange(n_words + 1))
    return neighbours[order], counts[order], starts


def exchange_words(
    bigrams: Bigrams, n_classes: int, max_sweeps: int, progress: Progress = lambda words, _: words
) -> Ints:
    """Classes of words, with F as large as exchanges make it. At first words are dealt out to the
    classes in turn, by frequency.

    n_classes (int), max_sweeps (int): 1 or more; it stops when no word moves. RETURNS (V,) intp. The
    same bigrams give the same classes.
    """
    classes = np.arange(len(bigrams.words)) % n_classes
    state = ClassBigrams(bigrams, classes, n_classes)
    for number in range(max_sweeps):
        n_moves = 0
        for word in progress(range(len(classes)), number):
            n_moves += state.exchange(word)
        if not n_moves:
            break
    return state.classes


def bigrams_of(docs: Iterable[Doc], min_count: int) -> Bigrams:
    """Pairs of neighbours in a text; the ends of a sentence have what is beyond as a neighbour. White
    space is left out. Words that occur less than `min_count` times, or contain white space, count
    as one word.

    Memory: some 40 bytes a token.
    """
    # ABSENT, the key of no word, stands at both ends of each sentence
    parts: list[Keys] = [np.full(1, ABSENT)]
    strings = StringStore()
    for batch in minibatch(docs, 1000):  # type: ignore[no-untyped-call]
        strings = vocab_of(batch).strings
        orths, lengths = WordDocs(batch).words_and_lengths
        parts.append(np.insert(orths, np.cumsum(lengths), ABSENT))
    keys, inverse, counts = np.unique(
        np.concatenate(parts), return_inverse=True, return_counts=True
    )
    words = [strings[key] for key in keys.tolist()]  # "" of ABSENT
    frequent = []
    for i, word in enumerate(words):
        if counts[i] >= min_count and word.split() == [word]:
            frequent.append(i)
    frequent.sort(key=lambda i: (-counts[i], words[i]))
    n_words = len(frequent)
    number_of = np.full(len(keys), n_words + 1, np.intp)
    number_of[keys == ABSENT] = n_words
    number_of[frequent] = np.arange(n_words)
    numbers = number_of[inverse]
    pairs, n_pairs = np.unique(numbers[:-1] * (n_words + 2) + numbers[1:], return_counts=True)
    first, second = np.divmod(pairs, n_words + 2)
    return Bigrams([words[i] for i in frequent], first, second, n_pairs)
