"""How sure a component is of a span of tokens. What a probability "of the chunk" means is one of
four things:

    exact        there is a chunk of exactly these tokens, with this label
    any_label    there is a chunk of exactly these tokens, whatever its label
    overlap      some chunk, of any label and extent, has a token of the span
    begins, ends some chunk begins with the first token; some chunk ends with the last one

Of a tagger, `exact` is the probability that all tokens of the span have their best labels, and the
others are not known. All are exact sums over labellings; checked against enumeration in
tests/inspection/test_spans.py.
"""

from typing import Iterable, List, NamedTuple, Sequence

import numpy as np
from spacy.tokens import Span

from ..arrays import Floats, Ints, Mask
from ..chunks import LETTERS, OUTSIDE, grammar
from ..decoders.problem import ranges
from ..errors import Errors
from .reading import Reading

MAX_STRINGS = 10_000


class SpanCertainty(NamedTuple):
    """Probabilities as above, NaN where they are not known. entropy: of the labels of all its
    tokens together, in nats; NaN where it was not asked for."""

    exact: float
    any_label: float
    overlap: float
    begins: float
    ends: float
    entropy: float = float("nan")


class Places(NamedTuple):
    """Spans of words. first, sizes (C,): of all words of a reading. labels: types of chunks, "" for
    a tagger."""

    first: Ints
    sizes: Ints
    labels: Sequence[str]


def span_certainties(
    pipe: object, spans: Iterable[Span], *, entropy: bool = True
) -> List[SpanCertainty]:
    """Of any spans of any docs, with their labels. pipe: a `hoseq_tagger` or `hoseq_chunker`.
    entropy (bool): that of the labels of all tokens together, too.

    RAISES ValueError [HS140]: a component of another kind; [HS141]: a span that begins or ends with
    white space; [HS106]: one that crosses the end of a sentence;
    [HS143]: the entropy of a long span, by a model with label patterns.
    """
    spans = list(spans)
    number = {id(span.doc): i for i, span in enumerate(spans)}
    reading = Reading(pipe, [spans[i].doc for i in number.values()])
    doc_of = {key: i for i, key in enumerate(number)}
    words = [reading.span(doc_of[id(span.doc)], span.start, span.end) for span in spans]
    first, sizes = np.array(words, np.intp).reshape(-1, 2).T
    places = Places(first, sizes, [span.label_ for span in spans])
    entropies = span_entropies(reading, places) if entropy else np.full(len(first), np.nan)
    rows = (
        chunk_probabilities(reading, places)
        if reading.target.of_spans
        else _of_labels(reading, places)
    )
    return [SpanCertainty(*row) for row in np.column_stack([rows, entropies]).tolist()]


def _of_labels(reading: Reading, places: Places) -> Floats:
    """RETURNS (C, 5)."""
    rows = np.full((len(places.first), 5), np.nan)
    labels = reading.best[ranges(places.first, places.sizes)]
    rows[:, 0] = reading.posterior.segments(places.first, places.sizes, labels)
    return rows


def chunk_probabilities(reading: Reading, places: Places) -> Floats:
    """exact, any_label, overlap, begins, ends of chunks (C, 5)."""
    posterior = reading.posterior
    tags = _Tags(reading)
    first, sizes, labels = places
    types = reading.pipe.labels
    n = len(first)
    every = tags.of_chunks(sizes)
    whole = np.tile(sizes, len(types))
    p = posterior.segments(np.tile(first, len(types)), whole, every, tags.goes_on).reshape(
        len(types), n
    )
    known = {label: i for i, label in enumerate(types)}
    exact = [p[known[label], i] if label in known else 0.0 for i, label in enumerate(labels)]
    none = posterior.segments(first, sizes, np.full(int(sizes.sum()), tags.outside))
    begins = posterior.nodes[first] @ tags.begins
    inside = np.flatnonzero(tags.inside)
    one = np.ones(n * len(inside), np.intp)
    last = np.repeat(first + sizes - 1, len(inside))
    ends = (
        posterior.segments(last, one, np.tile(inside, n), tags.goes_on)
        .reshape(n, len(inside))
        .sum(axis=1)
    )
    return np.minimum(
        np.stack([np.array(exact), p.sum(axis=0), 1.0 - none, begins, ends], axis=1), 1.0
    )


class _Tags:
    """The tags of a chunker, by id. inside, begins (L,): of a chunk, the first of one. goes_on (L,
    L): pairs within one."""

    def __init__(self, reading: Reading) -> None:
        representation = str(reading.target.representation)
        self._names = {tag: i for i, tag in enumerate(reading.labels)}
        self._types = reading.pipe.labels
        self._letters = LETTERS[representation]
        rules = grammar(reading.labels, representation)
        self.outside = self._names[OUTSIDE]
        self.inside: Mask = np.arange(len(self._names)) != self.outside
        self.begins: Mask = rules.first & self.inside
        self.goes_on: Mask = rules.pairs & ~rules.first

    def of_chunks(self, sizes: Ints) -> Ints:
        """The tags of chunks of these sizes, of the first type, then of the next, end to end."""
        only, start, middle, last = list(self._letters)
        every = []
        for name in self._types:
            ids = [self._names[f"{letter}-{name}"] for letter in (only, start, middle, last)]
            for size in sizes.tolist():
                every += [ids[0]] if size == 1 else [ids[1], *[ids[2]] * (size - 2), ids[3]]
        return np.array(every, np.intp)


def span_entropies(reading: Reading, places: Places, limit: int = MAX_STRINGS) -> Floats:
    """H(y_first..y_last | x) in nats (C,): of a chain H(y_first) + sum of H(y_t | y_{t-1}), else by
    the probabilities of all strings of labels. RAISES ValueError [HS143]."""
    if reading.potentials.is_chain:
        sums = np.concatenate([[0.0], np.cumsum(reading.conditional_entropies)])
        later = sums[places.first + places.sizes] - sums[places.first + 1]
        return np.asarray(reading.entropies[places.first] + np.maximum(later, 0.0))
    starts = reading.ends - reading.lengths
    whole = {
        (int(first), int(size)): i
        for i, (first, size) in enumerate(zip(starts, reading.lengths, strict=True))
    }
    entropies = np.zeros(len(places.first))
    for i, (first, size) in enumerate(
        zip(places.first.tolist(), places.sizes.tolist(), strict=True)
    ):
        if (first, size) in whole:
            entropies[i] = reading.sentence_entropies[whole[first, size]]
        else:
            entropies[i] = _enumerated_entropy(reading, first, size, limit)
    return entropies


def _enumerated_entropy(reading: Reading, first: int, size: int, limit: int) -> float:
    n_strings = len(reading.labels) ** size
    if n_strings > limit:
        raise ValueError(Errors.HS143.format(n=size, n_strings=n_strings, limit=limit))
    # (n_strings, size)
    strings = np.array(np.unravel_index(np.arange(n_strings), (len(reading.labels),) * size)).T
    sizes = np.full(n_strings, size)
    p = reading.posterior.segments(np.full(n_strings, first), sizes, strings.reshape(-1))
    p = p[p > 0]
    return max(0.0, float(-(p * np.log(p)).sum()))
