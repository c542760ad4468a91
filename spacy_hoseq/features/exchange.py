"""Word clusters by the exchange algorithm with a bigram class objective (Kneser & Ney 1993; Martin,
Liermann & Ney 1998, section 3).

Each word w has a class c(w), and a text is taken to be made by

    p(w_i | w_{i-1}) = p(c(w_i) | c(w_{i-1})) p(w_i | c(w_i))

With N(a, b): how often class b follows class a, N(a): how often a word of class a stands in the
text, and g(n) = n log n, the log likelihood is, but for what no class changes,

    F = sum_{a, b} g(N(a, b)) - 2 sum_a g(N(a))

Word by word, the most frequent first, each goes to the class that makes F largest, until none
moves. F never falls, and ends where no exchange of one word makes it larger. Checked against
counting in tests/features/test_exchange.py.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch

from ..arrays import Floats, Ints, Keys
from .sequences import WordDocs, vocab_of

BATCH = 1000  # Docs whose words are counted together
BOUNDARY = 0  # no word has this key
LEAST = 1e-6  # gains up to this are rounding
Progress = Callable[
    [range, int], Iterable[int]
]  # words of a sweep, the number of the sweep -> the same words


class Bigrams(NamedTuple):
    """Counts of pairs of words. words: those that are to have a class, the most frequent
    first; their numbers are their places. Two more numbers, len(words) and the next: what is beyond
    the ends of a sentence, and all other words; these two have classes of their own. first, second
    (P,) intp: pairs, in order. counts (P,) intp."""

    words: list[str]
    first: Ints
    second: Ints
    counts: Ints


class _Neighbours(NamedTuple):
    """Neighbours of a word, other than itself: classes before it (A,) and after it (B,), and how often
    each stands there. n_itself: how often the word stands before itself. n: how often in the text."""

    before: Ints
    n_before: Ints
    after: Ints
    n_after: Ints
    n_itself: int
    n: int


class ClassBigrams:
    """Counts of pairs of classes, kept as words change theirs.

    classes (V,): of each word, 0 <= c < n_classes. Memory: 8 bytes for each pair of classes and
    each pair in the text, 16 for each pair of words.
    """

    def __init__(self, bigrams: Bigrams, classes: Ints, n_classes: int) -> None:
        n_words = len(bigrams.words) + 2
        size = n_classes + 2
        _, first, second, counts = bigrams
        self.n_classes = n_classes
        self._all = np.append(classes, [n_classes, n_classes + 1])
        self._n = np.bincount(first, counts, n_words).astype(np.int64)  # (V + 2,)
        flat = self._all[first] * size + self._all[second]
        pairs = np.bincount(flat, counts, size * size).astype(np.int32).reshape(size, size)
        self._pairs = pairs, pairs.T.copy()  # N(a, b), N(b, a)
        self._of_class = np.bincount(self._all, self._n, size).astype(np.int64)
        n = np.arange(int(counts.sum()) + 2, dtype=np.float64)
        self._g = n * np.log(np.maximum(n, 1.0))
        other = first != second
        self._itself = np.zeros(n_words, np.int64)
        self._itself[first[~other]] = counts[~other]
        self._after = _grouped(first[other], second[other], counts[other], n_words)
        self._before = _grouped(second[other], first[other], counts[other], n_words)

    @property
    def classes(self) -> Ints:
        """The class of each word (V,)."""
        return self._all[:-2].copy()

    def exchange(self, word: int) -> bool:
        """True if a word has moved to its best class: the lowest of several, its own if none is
        better. Time: number of classes x classes among its neighbours."""
        neighbours = self._neighbours(word)
        current = self._all[word]
        self._add(neighbours, current, -1)
        gains = self._gains(neighbours)
        best = int(gains.argmax())
        moves = bool(gains[best] > gains[current] + LEAST)
        self._all[word] = best if moves else current
        self._add(neighbours, self._all[word], 1)
        return moves

    def _neighbours(self, word: int) -> _Neighbours:
        """Neighbours of a word, by the classes that they have now."""
        sides: list[Ints] = []
        for words, counts, starts in (self._before, self._after):
            near = slice(starts[word], starts[word + 1])
            totals = np.bincount(self._all[words[near]], counts[near], self.n_classes + 2).astype(
                np.intp
            )
            classes = np.flatnonzero(totals)
            sides += [classes, totals[classes]]
        before, n_before, after, n_after = sides
        return _Neighbours(
            before, n_before, after, n_after, int(self._itself[word]), int(self._n[word])
        )

    def _add(self, neighbours: _Neighbours, to: int, sign: int) -> None:
        """Put a word into a class, or take it out of it."""
        before, n_before, after, n_after, n_itself, n = neighbours
        sides = (before, n_before, after, n_after), (after, n_after, before, n_before)
        for pairs, (rows, n_rows, columns, n_columns) in zip(self._pairs, sides, strict=True):
            pairs[rows, to] += sign * n_rows
            pairs[to, columns] += sign * n_columns
            pairs[to, to] += sign * n_itself
        self._of_class[to] += sign * n

    def _gains(self, neighbours: _Neighbours) -> Floats:
        """F with the word in each class (C,), less F without it, where it is in none."""
        before, n_before, after, n_after, n_itself, n = neighbours
        g = self._g
        gains = self._gains_of_rows(0, before, n_before) + self._gains_of_rows(1, after, n_after)
        left, right = np.zeros((2, len(gains)), np.int64)  # N(a, w), N(w, b)
        left[before] = n_before
        right[after] = n_after
        alone = self._pairs[0].diagonal()
        # N(c, c) grows by both and by the word itself; the rows have counted both apart
        gains += g[alone + left + right + n_itself] - g[alone + left] - g[alone + right] + g[alone]
        of_class = self._of_class
        return (gains - 2.0 * (g[of_class + n] - g[of_class]))[: self.n_classes]

    def _gains_of_rows(self, side: int, rows: Ints, counts: Ints) -> Floats:
        """sum_a g(N(a, c) + counts[a]) - g(N(a, c)), or the same with N(c, a). RETURNS
        (C + 2,)."""
        old = self._pairs[side].take(rows, axis=0)
        return (self._g.take(old + counts[:, None]) - self._g.take(old)).sum(axis=0)


def _grouped(
    words: Ints, neighbours: Ints, counts: Ints, n_words: int
) -> "tuple[Ints, Ints, Ints]":
    """Neighbours and counts, by word, and where those of each word begin (n_words + 1,)."""
    order = np.argsort(words, kind="stable")
    starts = np.searchsorted(words[order], np.arange(n_words + 1))
    return neighbours[order], counts[order], starts


def exchange_words(
    bigrams: Bigrams, n_classes: int, max_sweeps: int, progress: Progress = lambda words, _: words
) -> Ints:
    """Classes of words with F as large as exchanges make it, from words dealt out to the classes by
    their frequency.

    n_classes (int), max_sweeps (int): from 1; it stops when no word moves. RETURNS (V,) intp. The
    same bigrams give the same classes.
    """
    classes = np.arange(len(bigrams.words)) % n_classes
    state = ClassBigrams(bigrams, classes, n_classes)
    for number in range(max_sweeps):
        if not sum(map(state.exchange, progress(range(len(classes)), number))):
            break
    return state.classes


def bigrams_of(docs: Iterable[Doc], min_count: int) -> Bigrams:
    """Pairs of neighbours, those at the ends of sentences with what is beyond; white space is left
    out. Words that occur less often, or contain white space, count as one.

    Memory: some 40 bytes a token.
    """
    parts: list[Keys] = [np.full(1, BOUNDARY, np.uint64)]
    strings = None
    for batch in minibatch(docs, BATCH):
        strings = vocab_of(batch).strings
        orths, lengths = WordDocs(batch).words_and_lengths
        parts.append(np.insert(orths, np.cumsum(lengths), BOUNDARY))
    keys, inverse, counts = np.unique(
        np.concatenate(parts), return_inverse=True, return_counts=True
    )
    texts = [strings[int(key)] if strings is not None and key != BOUNDARY else "" for key in keys]
    frequent = [
        i for i, text in enumerate(texts) if counts[i] >= min_count and text.split() == [text]
    ]
    frequent.sort(key=lambda i: (-counts[i], texts[i]))
    n_words = len(frequent)
    number_of = np.full(len(keys), n_words + 1, np.intp)
    number_of[keys == BOUNDARY] = n_words
    number_of[frequent] = np.arange(n_words)
    numbers = number_of[inverse]
    pairs, n_pairs = np.unique(numbers[:-1] * (n_words + 2) + numbers[1:], return_counts=True)
    return Bigrams([texts[i] for i in frequent], *np.divmod(pairs, n_words + 2), n_pairs)
