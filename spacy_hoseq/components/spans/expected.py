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

Checked against enumeration in tests/components/spans/test_expected.py.
"""

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ...arrays import Floats, Ints
from ...chunks import LETTERS, Chunks, grammar
from ...decoders.answers import Answers
from ...errors import Errors

Chunk = Tuple[int, int, str, float]  # first word, words, type, probability


def probable_chunks(
    answers: Answers,
    tags: Sequence[str],
    representation: str,
    least: float,
    longest: Optional[int] = None,
) -> Iterator[Chunk]:
    """All chunks whose probability is `least` or more, but 0. answers: over the tags. longest
    (int): words of a chunk."""
    ids: Dict[str, int] = {tag: i for i, tag in enumerate(tags)}
    rules = grammar(tags, representation)
    goes_on = rules.pairs & ~rules.first
    only, start, middle, last = list(LETTERS[representation])
    types = sorted({tag[2:] for tag in tags if tag[1:2] == "-"})
    ends = np.cumsum(answers.lengths)
    ends_at: Ints = np.repeat(ends, answers.lengths)
    growing = [
        _Growing(np.arange(len(ends_at)), np.full(len(ends_at), k)) for k in range(len(types))
    ]
    alive = (
        _Growing(*(np.concatenate(parts) for parts in zip(*growing, strict=True)))
        if types
        else None
    )
    size = 1
    while alive is not None and len(alive.first) and (longest is None or size <= longest):
        letters = [only] if size == 1 else [start, *[middle] * (size - 2), last]
        table = np.array([[ids[f"{letter}-{name}"] for letter in letters] for name in types])
        sizes = np.full(len(alive.first), size)
        p = answers.segments(alive.first, sizes, table[alive.kind].reshape(-1), goes_on)
        for i in np.flatnonzero((p >= least) & (p > 0)).tolist():
            yield int(alive.first[i]), size, types[alive.kind[i]], float(p[i])
        begun = np.array(
            [
                [ids[f"{letter}-{name}"] for letter in [start, *[middle] * (size - 1)]]
                for name in types
            ]
        )
        fits = alive.first + size < ends_at[alive.first]
        some = _Growing(alive.first[fits], alive.kind[fits])
        going = answers.segments(
            some.first, np.full(len(some.first), size), begun[some.kind].reshape(-1)
        )
        kept = (going >= least) & (going > 0)
        alive = _Growing(some.first[kept], some.kind[kept])
        size += 1


class _Growing(NamedTuple):
    """Chunks that may go on. first, kind (C,)."""

    first: Ints
    kind: Ints


def best_chunks(chunks: Sequence[Chunk], n_words: int, threshold: float) -> List[Chunk]:
    """Those that do not overlap and whose probabilities, less the threshold each, have the largest
    sum; in order.

    Time O(N + C)."""
    by_end: Dict[int, List[Chunk]] = {}
    for chunk in chunks:
        by_end.setdefault(chunk[0] + chunk[1], []).append(chunk)
    best: Floats = np.zeros(n_words + 1)
    back: List[Optional[Chunk]] = [None] * (n_words + 1)
    for end in range(1, n_words + 1):
        best[end] = best[end - 1]
        for chunk in by_end.get(end, ()):
            value = best[chunk[0]] + chunk[3] - threshold
            if value > best[end]:
                best[end] = value
                back[end] = chunk
    chosen: List[Chunk] = []
    end = n_words
    while end > 0:
        chunk_here = back[end]
        if chunk_here is None:
            end -= 1
        else:
            chosen.append(chunk_here)
            end = chunk_here[0]
    return chosen[::-1]


def expected_chunks(
    answers: Answers, tags: Sequence[str], representation: str, threshold: float
) -> Tuple[Chunks, Floats]:
    """The best set of a batch, and the probability of each of its chunks."""
    candidates = list(probable_chunks(answers, tags, representation, threshold))
    chosen = best_chunks(candidates, int(np.sum(answers.lengths)), threshold)
    first, sizes = (np.array([chunk[i] for chunk in chosen], np.intp) for i in (0, 1))
    return Chunks(first, first + sizes, [chunk[2] for chunk in chosen]), np.array(
        [chunk[3] for chunk in chosen], float
    )


def check_span_threshold(threshold: Optional[float]) -> Optional[float]:
    """RETURNS it. RAISES ValueError [HS027]: not above 0 and below 1."""
    if threshold is not None and not 0 < threshold < 1:
        expected = "above 0 and below 1, or null"
        message = Errors.HS027.format(
            name="span_threshold", decoder="chunks", value=threshold, expected=expected
        )
        raise ValueError(message)
    return threshold
