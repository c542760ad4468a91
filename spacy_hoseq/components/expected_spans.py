"""Chunks chosen by minimum Bayes risk, under the distribution over label sequences.

    maximise over sets of chunks that do not overlap      sum over its chunks c of  p(c | x) - threshold

p(c | x) is the probability that exactly this chunk is there. With the threshold 1/2, the sum is the
expected number of right chunks less half of all chosen; with F / 2, the set has the largest expected
F of a corpus, where F is that largest value (Jansche 2007; Lipton, Elkan & Naryanaswamy 2014,
theorem 1). The best label sequence maximises another thing: the probability that ALL chunks of a
sentence are right.

Candidates are found by growing them word by word: the probability that a chunk begins at a token
and has gone on so far only falls. So a token begins at most 1 / threshold candidates. The best set
is found by dynamic programming over their ends.

Checked against enumeration in tests/components/test_expected_spans.py.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Mask, distinct
from ..chunks import LETTERS, Chunks, grammar
from ..decoders.answers import Posterior


class Chunk(NamedTuple):
    """first: word. size: number of words. probability: that exactly this chunk is there."""

    first: int
    size: int
    type: str
    probability: float


class GrowingTags(NamedTuple):
    """Tags of chunks by type (K,): of the only, the first, an inner and the last word. types (K,):
    their names. kinds (L,): the type of each tag that begins chunks, -1 of other tags. continues
    (L, L): pairs of tags across which a chunk goes on."""

    types: list[str]
    only: Ints
    first: Ints
    inner: Ints
    last: Ints
    kinds: Ints
    continues: Mask

    def unfinished(self, kinds: Ints, size: int) -> Ints:
        """Tags of the first `size` words of longer chunks (C, size). kinds (C,): their types."""
        labels = np.repeat(self.inner.take(kinds)[:, None], size, axis=1)
        labels[:, 0] = self.first.take(kinds)
        return labels

    def complete(self, kinds: Ints, size: int) -> Ints:
        """Tags of chunks of exactly `size` words (C, size). kinds (C,): their types."""
        labels = self.unfinished(kinds, size)
        labels[:, -1] = (self.only if size == 1 else self.last).take(kinds)
        return labels


@lru_cache(maxsize=64)
def growing_tags(tags: tuple[str, ...], representation: str) -> GrowingTags:
    """The tags of a representation, by type and place in a chunk."""
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


class Candidates(NamedTuple):
    """Chunks that may overlap. first, sizes (C,): words. kinds (C,): types, as in `GrowingTags`. p
    (C,): that exactly this chunk is there."""

    first: Ints
    sizes: Ints
    kinds: Ints
    p: Floats

    def at(self, places: Ints) -> "Candidates":
        """Some of them."""
        columns: Any = (column.take(places) for column in self)
        return Candidates(*columns)


def probable_chunks(
    posterior: Posterior,
    tags: Sequence[str],
    representation: str,
    least: float,
    longest: int | None = None,
) -> Iterator[Chunk]:
    """All chunks whose probability is `least` or more, and not 0. posterior: over the tags. longest
    (int): most words of a chunk."""
    growing = growing_tags(tuple(tags), representation)
    columns = (column.tolist() for column in candidates(posterior, growing, least, longest))
    for first, size, kind, p in zip(*columns, strict=True):
        yield Chunk(first, size, growing.types[kind], p)


def candidates(
    posterior: Posterior, growing: GrowingTags, least: float, longest: int | None = None
) -> Candidates:
    """The same as arrays."""
    # no chunk is more probable than its first tag, up to rounding: a tag of 0.999 always counts
    entries = posterior.probable(min(max(least, 0.0), 0.999))
    kinds = growing.kinds.take(entries.labels)
    n_words = int(posterior.lengths.sum())
    kind, first = np.divmod(distinct((kinds * n_words + entries.tokens)[kinds >= 0]), n_words)
    sequence_ends = np.cumsum(posterior.lengths)
    ends = sequence_ends.take(np.searchsorted(sequence_ends, first, side="right"))
    found = [Candidates(first[:0], first[:0], kind[:0], np.zeros(0))]
    # chunks of one word, of two, and so on, as long as any has begun with enough probability
    size = 1
    while len(first) and (longest is None or size <= longest):
        sizes = np.full(len(first), size)
        labels = growing.complete(kind, size).reshape(-1)
        p = posterior.segments(first, sizes, labels, growing.continues)
        grown = Candidates(first, sizes, kind, np.minimum(p, 1.0))
        found.append(grown.at(np.flatnonzero((p >= least) & (p > 0))))
        fits = np.flatnonzero(first + size < ends)
        labels = growing.unfinished(kind.take(fits), size).reshape(-1)
        p = posterior.segments(first.take(fits), sizes.take(fits), labels)
        probable = fits.compress((p >= least) & (p > 0))
        first = first.take(probable)
        kind = kind.take(probable)
        ends = ends.take(probable)
        size += 1
    return Candidates(*map(np.concatenate, zip(*found, strict=True)))


def best_chunks(chunks: Candidates, threshold: float) -> Candidates:
    """The chunks without overlap that have the largest sum of probability less threshold, in
    order."""
    if threshold >= 0.5:
        # chunks that overlap exclude each other: no two of them are more probable than 1/2
        chosen = np.flatnonzero(chunks.p > threshold)
        chosen = chosen.take(chunks.first.take(chosen).argsort())
        first, sizes, _, _ = best = chunks.at(chosen)
        if (first[1:] >= (first + sizes)[:-1]).all():  # else rounding shows
            return best
    # The best sum of chunks up to a word is a staircase. Of each step: the word where it rises,
    # the sum, and the number of the last chunk.
    ends = [0]
    sums = [0.0]
    last = [-1]
    firsts = chunks.first.tolist()
    probabilities = chunks.p.tolist()
    chunk_ends = chunks.first + chunks.sizes
    for chunk in chunk_ends.argsort(kind="stable").tolist():
        end = int(chunk_ends[chunk])
        value = sums[bisect_right(ends, firsts[chunk]) - 1] + probabilities[chunk] - threshold
        if value > sums[-1]:
            # of several chunks with one end, the best makes the step
            if ends[-1] == end:
                del ends[-1], sums[-1], last[-1]
            ends.append(end)
            sums.append(value)
            last.append(chunk)
    # back from the last step: to the step where the chunk before it may end
    chosen_last = []
    step = len(ends) - 1
    while step:
        chosen_last.append(last[step])
        step = bisect_right(ends, firsts[last[step]]) - 1
    return chunks.at(np.array(chosen_last[::-1], np.intp))


def expected_chunks(
    posterior: Posterior, tags: Sequence[str], representation: str, threshold: float
) -> tuple[Chunks, Floats]:
    """The best set of a batch, and the probability of each of its chunks."""
    growing = growing_tags(tuple(tags), representation)
    # with a threshold of 0, each pair of words would be a candidate: none is below 0.001
    chosen = best_chunks(candidates(posterior, growing, max(threshold, 0.001)), threshold)
    types = [growing.types[kind] for kind in chosen.kinds.tolist()]
    return Chunks(chosen.first, chosen.first + chosen.sizes, types), chosen.p
