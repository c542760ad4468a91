"""Chunks that are right in expectation: minimum Bayes risk over the distribution that the best
labelling comes from.

    maximise over sets of chunks that do not overlap      sum over its chunks c of  p(c | x) - threshold

p(c | x) is the probability that exactly this chunk is there. With the threshold 1/2 that is the
expected number of right chunks less that of wrong ones; with F / 2 it makes the expected F of a
corpus largest, where F is the value that is reached (Jansche 2007; Lipton, Elkan & Naryanaswamy
2014, theorem 1). The best labelling makes the probability large that ALL chunks of a sentence are
right, which is something else.

Chunks that can count are found by growing: the probability that a chunk begins at a token and has
gone on so far only falls. So there are at most 1 / threshold of them at a token. The best set is a
walk over their ends.

Checked against enumeration in tests/components/test_expected_spans.py.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import (
    NamedTuple,
)

import numpy as np

from ..arrays import Floats, Ints, Mask, distinct
from ..chunks import LETTERS, Chunks, grammar
from ..decoders.answers import Posterior

Chunk = tuple[int, int, str, float]  # first word, words, type, probability
LEAST = 0.001  # of a chunk that may be chosen, whatever the threshold
MOST = 0.999  # that a first tag needs, however probable a chunk has to be


class GrowingTags(NamedTuple):
    """Tags of chunks by type (K,): of the only, the first, an inner and the last word. types (K,):
    their names. kinds (L,): the type of a tag that begins chunks, -1 of others. continues (L, L):
    pairs of tags across which a chunk goes on."""

    types: list[str]
    only: Ints
    first: Ints
    inner: Ints
    last: Ints
    kinds: Ints
    continues: Mask

    def begun(self, kinds: Ints, size: int) -> Ints:
        """Labels of so many first words of chunks. kinds (C,). RETURNS (C, size)."""
        labels = np.repeat(self.inner.take(kinds)[:, None], size, axis=1)
        labels[:, 0] = self.first.take(kinds)
        return labels

    def whole(self, kinds: Ints, size: int) -> Ints:
        """Labels of chunks of exactly so many words (C, size)."""
        labels = self.begun(kinds, size)
        labels[:, -1] = (self.only if size == 1 else self.last).take(kinds)
        return labels


@lru_cache(maxsize=64)
def growing_tags(tags: tuple[str, ...], representation: str) -> GrowingTags:
    rules = grammar(tags, representation)
    types = sorted({tag[2:] for tag in tags if tag[1:2] == "-"})
    ids: dict[str, int] = {tag: i for i, tag in enumerate(tags)}
    only, first, inner, last = (
        np.array([ids[f"{letter}-{name}"] for name in types], np.intp)
        for letter in LETTERS[representation]
    )
    kinds = np.full(len(tags), -1)
    kinds[only] = kinds[first] = np.arange(len(types))
    return GrowingTags(types, only, first, inner, last, kinds, rules.pairs & ~rules.first)


def probable_chunks(
    posterior: Posterior,
    tags: Sequence[str],
    representation: str,
    least: float,
    longest: int | None = None,
) -> Iterator[Chunk]:
    """All chunks whose probability is `least` or more, but 0. posterior: over the tags. longest
    (int): words of a chunk."""
    growing = growing_tags(tuple(tags), representation)
    # no chunk is more probable than its first tag
    entries = posterior.probable(min(max(least, 0.0), MOST))
    kinds = growing.kinds.take(entries.labels)
    n_words = int(posterior.lengths.sum())
    kind, first = np.divmod(distinct((kinds * n_words + entries.tokens)[kinds >= 0]), n_words)
    sequence_ends = np.cumsum(posterior.lengths)
    ends = sequence_ends.take(np.searchsorted(sequence_ends, first, side="right"))
    size = 1
    while len(first) and (longest is None or size <= longest):
        sizes = np.full(len(first), size)
        labels = growing.whole(kind, size).reshape(-1)
        p = posterior.segments(first, sizes, labels, growing.continues)
        for i in np.flatnonzero((p >= least) & (p > 0)).tolist():
            yield int(first[i]), size, growing.types[kind[i]], min(1.0, float(p[i]))
        fits = np.flatnonzero(first + size < ends)
        labels = growing.begun(kind.take(fits), size).reshape(-1)
        p = posterior.segments(first.take(fits), sizes.take(fits), labels)
        kept = fits.compress((p >= least) & (p > 0))
        first = first.take(kept)
        kind = kind.take(kept)
        ends = ends.take(kept)
        size += 1


def best_chunks(chunks: Iterable[Chunk], threshold: float) -> list[Chunk]:
    """Chunks that do not overlap and whose probabilities, less the threshold each, have the largest
    sum; in order."""
    ends = [0]  # where the best sum rises, that sum, and the last chunk of those that have it
    best = [0.0]
    last: list[Chunk] = [(0, 0, "", 0.0)]
    for chunk in sorted(chunks, key=lambda chunk: chunk[0] + chunk[1]):
        value = best[bisect_right(ends, chunk[0]) - 1] + chunk[3] - threshold
        if value > best[-1]:
            there = len(ends) if ends[-1] < chunk[0] + chunk[1] else len(ends) - 1
            ends[there:] = [chunk[0] + chunk[1]]
            best[there:] = [value]
            last[there:] = [chunk]
    chosen: list[Chunk] = []
    place = len(ends) - 1
    while place:
        chosen.append(last[place])
        place = bisect_right(ends, last[place][0]) - 1
    return chosen[::-1]


def expected_chunks(
    posterior: Posterior, tags: Sequence[str], representation: str, threshold: float
) -> tuple[Chunks, Floats]:
    """The best set of a batch, and the probability of each of its chunks: of those that are at
    least as probable as `LEAST`, since without any bound they are as many as pairs of words."""
    candidates = probable_chunks(posterior, tags, representation, max(threshold, LEAST))
    chosen = best_chunks(candidates, threshold)
    first, sizes, types, p = zip(*chosen, strict=True) if chosen else ((), (), (), ())
    start = np.array(first, np.intp)
    return Chunks(start, start + np.array(sizes, np.intp), list(types)), np.array(p, float)
