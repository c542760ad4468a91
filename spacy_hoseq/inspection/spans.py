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

from ..arrays import Floats, Ints
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


def span_certainties(
    pipe: object, spans: Iterable[Span], *, entropy: bool = True
) -> List[SpanCertainty]:
    """Of any spans of any docs, with their labels. pipe: a `hoseq_tagger` or `hoseq_chunker`.
    entropy (bool): that of the labels of all tokens together, too.

    RAISES ValueError [HS140]: a component of another kind; [HS141]: a span that begins or ends with
    white space; [HS106]: one that crosses the end of a sentence; [HS143]: the entropy of a long
    span, by a model with label patterns.
    """
    spans = list(spans)
    docs = {id(span.doc): span.doc for span in spans}
    numbers = {key: i for i, key in enumerate(docs)}
    reading = Reading(pipe, list(docs.values()))
    words = [reading.span(numbers[id(span.doc)], span.start, span.end) for span in spans]
    first, sizes = np.array(words, np.intp).reshape(-1, 2).T
    rows = np.full((len(spans), 6), np.nan)
    if reading.target.of_spans:
        rows[:, :5] = chunk_probabilities(reading, first, sizes, [span.label_ for span in spans])
    else:
        labels = reading.best[ranges(first, sizes)]
        rows[:, 0] = reading.posterior.segments(first, sizes, labels)
    if entropy:
        rows[:, 5] = span_entropies(reading, first, sizes)
    return [SpanCertainty(*row) for row in rows.tolist()]


def type_probabilities(reading: Reading, first: Ints, sizes: Ints) -> Floats:
    """p(there is a chunk of exactly these words, of this type) of each type of the component, and
    of each place (types, C)."""
    tags = {tag: i for i, tag in enumerate(reading.labels)}
    only, start, middle, last = list(LETTERS[str(reading.target.representation)])
    types = reading.pipe.labels
    ids: List[int] = []
    for name in types:
        alone, *ends = [tags[f"{letter}-{name}"] for letter in (only, start, last)]
        inside = tags[f"{middle}-{name}"]
        for size in sizes.tolist():
            ids += [alone] if size == 1 else [ends[0], *[inside] * (size - 2), ends[1]]
    p = reading.posterior.segments(
        np.tile(first, len(types)),
        np.tile(sizes, len(types)),
        np.array(ids, np.intp),
        reading.pipe.continues,
    )
    return p.reshape(len(types), len(first))


def chunk_probabilities(
    reading: Reading, first: Ints, sizes: Ints, labels: Sequence[str]
) -> Floats:
    """exact, any_label, overlap, begins, ends of chunks (C, 5)."""
    posterior = reading.posterior
    rules = grammar(reading.labels, str(reading.target.representation))
    outside = reading.labels.index(OUTSIDE)
    inside = np.flatnonzero(np.arange(len(reading.labels)) != outside)
    types = list(reading.pipe.labels)
    of_types = type_probabilities(reading, first, sizes)
    known = [(i, types.index(label)) for i, label in enumerate(labels) if label in types]
    rows = np.zeros((len(first), 5))
    for i, y in known:
        rows[i, 0] = of_types[y, i]
    rows[:, 1] = of_types.sum(axis=0)
    rows[:, 2] = 1.0 - posterior.segments(first, sizes, np.full(int(sizes.sum()), outside))
    rows[:, 3] = posterior.nodes[first][:, inside] @ rules.first[inside]
    lasts = np.repeat(first + sizes - 1, len(inside))
    stops = posterior.segments(
        lasts, np.ones_like(lasts), np.tile(inside, len(first)), reading.pipe.continues
    )
    rows[:, 4] = stops.reshape(len(first), len(inside)).sum(axis=1)
    return np.minimum(rows, 1.0)


def span_entropies(reading: Reading, first: Ints, sizes: Ints) -> Floats:
    """H(y_first..y_last | x) in nats (C,): of a chain H(y_first) + sum of H(y_t | y_{t-1}), else by
    the probabilities of all strings of labels. RAISES ValueError [HS143]."""
    if reading.potentials.is_chain:
        sums = np.concatenate([[0.0], np.cumsum(reading.conditional_entropies)])
        later = sums[first + sizes] - sums[first + 1]
        return np.asarray(reading.entropies[first] + np.maximum(later, 0.0))
    entropies = np.zeros(len(first))
    for i, (word, size) in enumerate(zip(first.tolist(), sizes.tolist(), strict=True)):
        is_whole = reading.sentence(word) == range(word, word + size)
        sentence = int(reading.sentence_of[word])
        entropies[i] = (
            reading.sentence_entropies[sentence]
            if is_whole
            else _enumerated_entropy(reading, word, size)
        )
    return entropies


def _enumerated_entropy(reading: Reading, first: int, size: int) -> float:
    n_strings = len(reading.labels) ** size
    if n_strings > MAX_STRINGS:
        raise ValueError(Errors.HS143.format(n=size, n_strings=n_strings, limit=MAX_STRINGS))
    # (n_strings, size)
    strings = np.array(np.unravel_index(np.arange(n_strings), (len(reading.labels),) * size)).T
    places = np.full(n_strings, first), np.full(n_strings, size)
    p = reading.posterior.segments(*places, strings.reshape(-1))
    p = p[p > 0]
    return max(0.0, float(-(p * np.log(p)).sum()))
