"""How sure a component is of its labels: of each token, and of all labels of a sentence together.

    of a token       p(y_t = its label | x);  H(y_t | x);  best score less that of the best labelling with another label
    of a sentence    log p(y* | x);  H(y | x);  score of its labels less that of the best other labelling

y* are the labels that the pipeline sets, the best labelling. All are
exact under the model, with any objective; entropies and log probabilities are in nats. Whether the
model is right as often as it says is a question of calibration. Checked against enumeration in
tests/inspection/test_certainty.py.

`how_sure` keeps them in `doc.user_data`, so that they are saved with the Doc:

    doc._.hoseq_certainty["hoseq_tagger"]      Certainty
    token._.hoseq_certainty["hoseq_tagger"]    TokenCertainty
    span._.hoseq_certainty["hoseq_chunker"]    SpanCertainty, of spans that the chunker has found
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch

from ..arrays import Floats, Ints
from ..chunks import OUTSIDE, grammar
from ..components.base import SequenceComponent
from ..components.expected_spans import growing_tags
from ..decoders.problem import ranges
from ..errors import Errors
from .reading import Reading, reading_of

MAX_STRINGS = 10_000
BATCH = 128  # docs that are read together
NAME = "hoseq_certainty"  # of the extensions
DATA = "hoseq_certainties"  # the key of `doc.user_data`
Place = tuple[int, int, int, str]  # a span: number of its text, tokens first <= i < end, label


class TokenCertainty(NamedTuple):
    """label: the best one. probability: that it is right. entropy, margin: as of `Certainty`."""

    label: str
    probability: float
    entropy: float
    margin: float


class SentenceCertainty(NamedTuple):
    """first, end: tokens first <= i < end. log_probability: of its labels. entropy: of all labels
    together. margin: score of its labels less that of the best other labelling, inf if there is
    none. Of decisions: the sum of their entropies, the smallest of their margins."""

    first: int
    end: int
    log_probability: float
    entropy: float
    margin: float


class Certainty(NamedTuple):
    """Certainties of a Doc of n tokens; white space has no label, and zeros. labels: of each token.
    probabilities, entropies, margins (n,). sentences: those that have words."""

    labels: list[str]
    probabilities: Floats
    entropies: Floats
    margins: Floats
    sentences: list[SentenceCertainty]


class SpanCertainty(NamedTuple):
    """Meaning of a probability "of the chunk":

    exact: there is a chunk of exactly these tokens, with this label. any_label: whatever its label.
    overlap: some chunk, of any label and extent, has a token of the span. begins, ends: some chunk
    begins with the first token, ends with the last one. Of a tagger, `exact` is the probability
    that all tokens of the span have their best labels, and the others are NaN. entropy: of the
    labels of all its tokens together, in nats; NaN where it was not asked for."""

    exact: float
    any_label: float
    overlap: float
    begins: float
    ends: float
    entropy: float = float("nan")


def certainties(pipe: object, docs: Iterable[Doc]) -> Iterator[Certainty]:
    """How sure a `hoseq_tagger`, a `hoseq_chunker` or a greedy `hoseq_bidirectional_tagger` is of
    each Doc.

    docs: with what earlier components have set. Of easiest-first decisions all is meant at the
    moment of the decision, given the neighbours that were decided before: a sentence's log
    probability is that of all its decisions.
    RAISES ValueError [HS140]: a component of another kind, or a strategy without decisions.
    """
    for batch in minibatch(docs, BATCH):
        yield from certainties_of(reading_of(pipe, batch))


def how_sure(
    nlp: Language, docs: Iterable[Doc], names: Sequence[str] | None = None
) -> Iterator[Doc]:
    """Docs that the pipeline has annotated, with how sure its components are. names: of components,
    None = all that can tell. RAISES ValueError [HS140] as `certainties`."""
    Doc.set_extension(NAME, getter=_of_doc, force=True)
    Token.set_extension(NAME, getter=_of_token, force=True)
    Span.set_extension(NAME, getter=_of_span, force=True)
    own = [(name, pipe) for name, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    chosen = [name for name, pipe in own if pipe.knows != "labels"] if names is None else names
    for batch in minibatch(docs, BATCH):
        for name in chosen:
            reading = reading_of(nlp.get_pipe(name), batch)
            for doc, one in zip(batch, certainties_of(reading), strict=True):
                of_doc = [*one[:-1], [list(row) for row in one.sentences]]
                doc.user_data.setdefault(DATA, {})[name] = {"doc": of_doc, "spans": []}
            if reading.target.labels_spans and reading.turns is None:
                places = [(i, *item) for i in range(len(batch)) for item in reading.items(i)]
                sure = _of_places(reading, places, entropy=False)
                for (text, *item), one_span in zip(places, sure, strict=True):
                    batch[text].user_data[DATA][name]["spans"].append([*item, *one_span])
        yield from batch


def span_certainties(
    pipe: object, spans: Iterable[Span], *, entropy: bool = True
) -> list[SpanCertainty]:
    """Certainties of spans of any docs, with their labels. pipe: a `hoseq_tagger` or
    `hoseq_chunker`. entropy (bool): that of the labels of all tokens together, too.

    RAISES ValueError [HS140]: a component of another kind; [HS141]: a span that begins or ends with
    white space; [HS106]: one that crosses the end of a sentence; [HS143]: the entropy of a long
    span, by a model with label patterns.
    """
    spans = list(spans)
    docs = {id(span.doc): span.doc for span in spans}
    numbers = {key: i for i, key in enumerate(docs)}
    places = [(numbers[id(span.doc)], span.start, span.end, span.label_) for span in spans]
    return _of_places(Reading(pipe, list(docs.values())), places, entropy=entropy)


def type_probabilities(reading: Reading, first: Ints, sizes: Ints) -> Floats:
    """p(there is a chunk of exactly these words, of this type) of each type of the component, and
    of each place (types, C)."""
    tags = growing_tags(tuple(reading.labels), str(reading.target.representation))
    kinds = np.array([tags.types.index(name) for name in reading.pipe.labels], np.intp)
    labels = [tags.whole(kinds, size).reshape(-1) for size in sizes.tolist()]
    places = first.repeat(len(kinds)), sizes.repeat(len(kinds))
    ids = np.concatenate([np.zeros(0, np.intp), *labels])
    p = reading.posterior.segments(*places, ids, tags.continues)
    return p.reshape(len(first), len(kinds)).T


def chunk_probabilities(
    reading: Reading, first: Ints, sizes: Ints, labels: Sequence[str]
) -> Floats:
    """exact, any_label, overlap, begins, ends of chunks (C, 5)."""
    posterior = reading.posterior
    rules = grammar(reading.labels, str(reading.target.representation))
    outside = reading.labels.index(OUTSIDE)
    inside = np.delete(np.arange(len(reading.labels)), outside)
    of_types = dict(
        zip(reading.pipe.labels, type_probabilities(reading, first, sizes), strict=True)
    )
    nothing = np.zeros(len(first))
    lasts = np.repeat(first + sizes - 1, len(inside))
    stops = posterior.segments(
        lasts, np.ones_like(lasts), np.tile(inside, len(first)), reading.pipe.continues
    )
    columns = [
        np.array([of_types.get(label, nothing)[i] for i, label in enumerate(labels)]),
        sum(of_types.values(), nothing),
        1.0 - posterior.segments(first, sizes, np.full(int(sizes.sum()), outside)),
        posterior.nodes[first][:, inside] @ rules.first[inside],
        stops.reshape(len(first), len(inside)).sum(axis=1),
    ]
    return np.minimum(np.stack(columns, axis=1), 1.0)


def span_entropies(reading: Reading, first: Ints, sizes: Ints) -> Floats:
    """H(y_first..y_last | x) in nats (C,): of a chain H(y_first) + sum of H(y_t | y_{t-1}), else by
    the probabilities of all strings of labels. RAISES ValueError [HS143]."""
    posterior = reading.posterior
    if reading.potentials.is_chain:
        sums = np.concatenate([[0.0], np.cumsum(posterior.conditional_entropies())])
        later = sums[first + sizes] - sums[first + 1]
        return np.asarray(posterior.entropies()[first] + np.maximum(later, 0.0))
    entropies = np.zeros(len(first))
    for i, (word, size) in enumerate(zip(first.tolist(), sizes.tolist(), strict=True)):
        is_whole = reading.sentence(word) == range(word, word + size)
        entropies[i] = (
            posterior.sequence_entropies()[reading.sentence_of[word]]
            if is_whole
            else _enumerated_entropy(reading, word, size)
        )
    return entropies


def _enumerated_entropy(reading: Reading, first: int, size: int) -> float:
    n_strings = len(reading.labels) ** size
    if n_strings > MAX_STRINGS:
        raise ValueError(Errors.HS143.format(n=size, n_strings=n_strings, limit=MAX_STRINGS))
    strings = np.indices((len(reading.labels),) * size).reshape(size, -1).T  # (n_strings, size)
    places = np.full(n_strings, first), np.full(n_strings, size)
    p = reading.posterior.segments(*places, strings.reshape(-1))
    return max(0.0, float(-(p * np.log(np.where(p > 0, p, 1.0))).sum()))


def certainties_of(reading: Reading) -> Iterator[Certainty]:
    """Certainties of each text that was read."""
    names = [*reading.labels, ""]
    begins = reading.ends - reading.lengths
    margins = np.minimum.reduceat(reading.margins, begins) if len(begins) else np.zeros(0)
    columns = [reading.log_p, reading.posterior.sequence_entropies(), margins]
    sentences: list[list[SentenceCertainty]] = [[] for _ in reading.texts]
    for first, end, *row in zip(begins.tolist(), reading.ends.tolist(), *columns, strict=True):
        one = SentenceCertainty(*reading.tokens(first, end), *map(float, row))
        sentences[reading.text_of[first]].append(one)
    of_words = (reading.confidences(), reading.posterior.entropies(), reading.margins)
    parts = map(reading.by_token, of_words)
    for ids, *row in zip(reading.label_ids, *parts, sentences, strict=True):
        yield Certainty._make([[names[y] for y in ids.tolist()], *row])


def _of_places(reading: Reading, places: list[Place], *, entropy: bool) -> list[SpanCertainty]:
    words = [reading.span(text, start, end) for text, start, end, _ in places]
    first, sizes = np.array(words, np.intp).reshape(-1, 2).T
    rows = np.full((len(places), 6), np.nan)
    if reading.target.labels_spans:
        rows[:, :5] = chunk_probabilities(reading, first, sizes, [place[3] for place in places])
    else:
        labels = reading.best[ranges(first, sizes)]
        rows[:, 0] = reading.posterior.segments(first, sizes, labels)
    if entropy:
        rows[:, 5] = span_entropies(reading, first, sizes)
    return [SpanCertainty(*row) for row in rows.tolist()]


def _of_doc(doc: Doc) -> dict[str, Certainty]:
    found = {}
    for name, kept in doc.user_data.get(DATA, {}).items():
        one = Certainty._make(kept["doc"])
        found[name] = one._replace(sentences=[SentenceCertainty(*row) for row in one.sentences])
    return found


def _of_token(token: Token) -> dict[str, TokenCertainty]:
    i = token.i
    return {
        name: TokenCertainty(one.labels[i], *(float(numbers[i]) for numbers in one[1:4]))
        for name, one in _of_doc(token.doc).items()
    }


def _of_span(span: Span) -> dict[str, SpanCertainty]:
    wanted = [span.start, span.end, span.label_]
    return {
        name: SpanCertainty(*row[3:])
        for name, kept in span.doc.user_data.get(DATA, {}).items()
        for row in kept["spans"]
        if list(row[:3]) == wanted
    }
