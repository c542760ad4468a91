"""How sure a component is of its labels: of each token, and of all labels of a sentence together.

    of a token       p(y_t = its label | x);  H(y_t | x);  best score less that of the best labelling with another label
    of a sentence    log p(y* | x);  H(y | x);  score of its labels less that of the best other labelling

y* is the best labelling, which the pipeline sets. All numbers are exact under the model, with any
objective; entropies and log probabilities are in nats. Whether the model is right as often as it
says is a question of calibration. Checked against enumeration in tests/inspection/test_certainty.py.

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

DOCS_PER_BATCH = 128
CERTAINTY = "hoseq_certainty"  # the name of the extensions
CERTAINTIES = "hoseq_certainties"  # the key of `doc.user_data`
Place = tuple[int, int, int, str]  # a span: number of its text, tokens first <= i < end, label


class TokenCertainty(NamedTuple):
    """How sure a component is of a token. label: the best one. probability: that it is right.
    entropy, margin: as of `Certainty`."""

    label: str
    probability: float
    entropy: float
    margin: float


class SentenceCertainty(NamedTuple):
    """How sure a component is of a sentence. first, end: tokens first <= i < end. log_probability:
    of its labels. entropy: of all labels together. margin: score of its labels less that of the
    best other labelling, inf if there is none. A tagger that decides word by word has the sum of
    the entropies of its decisions, and the smallest of their margins."""

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
    """How sure a component is of a span.

    exact: there is a chunk of exactly these tokens, with this label. any_label: whatever its label.
    overlap: some chunk, of any label and extent, has a token of the span. begins, ends: some chunk
    begins with the first token, ends with the last one. Of a tagger, `exact` is the probability
    that all tokens of the span have their best labels, and the others are NaN. entropy: of the
    labels of all its tokens together, in nats; NaN where it was not computed."""

    exact: float
    any_label: float
    overlap: float
    begins: float
    ends: float
    entropy: float = float("nan")


def certainties(pipe: object, docs: Iterable[Doc]) -> Iterator[Certainty]:
    """How sure a `hoseq_tagger`, a `hoseq_chunker` or a greedy `hoseq_bidirectional_tagger` is of
    each Doc.

    docs: with what earlier components have set. Numbers of easiest-first decisions hold at the
    moment of each decision, given the neighbours that were decided before: a sentence's log
    probability is that of all its decisions.
    RAISES ValueError [HS140]: a component of another kind, or a strategy without decisions.
    """
    for batch in minibatch(docs, DOCS_PER_BATCH):
        yield from certainties_of(reading_of(pipe, batch))


def how_sure(
    nlp: Language, docs: Iterable[Doc], names: Sequence[str] | None = None
) -> Iterator[Doc]:
    """Docs that the pipeline has annotated, with how sure its components are. names: of components,
    None = all that can tell. RAISES ValueError [HS140] as `certainties`."""
    Doc.set_extension(CERTAINTY, getter=_on_doc, force=True)
    Token.set_extension(CERTAINTY, getter=_on_token, force=True)
    Span.set_extension(CERTAINTY, getter=_on_span, force=True)
    if names is None:
        names = []
        for name, pipe in nlp.pipeline:
            if isinstance(pipe, SequenceComponent) and pipe.knows != "labels":
                names.append(name)
    for batch in minibatch(docs, DOCS_PER_BATCH):
        for name in names:
            _save_certainties(reading_of(nlp.get_pipe(name), batch), name, batch)
        yield from batch


def _save_certainties(reading: Reading, name: str, docs: Sequence[Doc]) -> None:
    """Write the certainties of a component into `user_data`, as lists: a Doc can be saved."""
    for doc, one in zip(docs, certainties_of(reading), strict=True):
        sentences = [list(row) for row in one.sentences]
        saved = {"doc": [*one[:-1], sentences], "spans": []}
        doc.user_data.setdefault(CERTAINTIES, {})[name] = saved
    # decisions one by one have no probability of a span
    if not reading.target.labels_spans or reading.turns is not None:
        return
    places: list[Place] = []
    for text in range(len(docs)):
        for item in reading.items(text):
            places.append((text, *item))
    rows = _span_certainties(reading, places, entropy=False)
    for place, row in zip(places, rows, strict=True):
        saved = docs[place[0]].user_data[CERTAINTIES][name]
        saved["spans"].append([*place[1:], *row])


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
    return _span_certainties(Reading(pipe, list(docs.values())), places, entropy=entropy)


def type_probabilities(reading: Reading, first: Ints, sizes: Ints) -> Floats:
    """p(there is a chunk of exactly these words, of this type) of each type of the component, and
    of each place (types, C)."""
    tags = growing_tags(tuple(reading.labels), str(reading.target.representation))
    kinds = np.array([tags.types.index(name) for name in reading.pipe.labels], np.intp)
    # every place with every type; a type of chunk is one string of tags for each size
    places = first.repeat(len(kinds)), sizes.repeat(len(kinds))
    labels = [tags.complete(kinds, size).reshape(-1) for size in sizes.tolist()]
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
    p = type_probabilities(reading, first, sizes)  # (types, C)
    exact = np.zeros(len(first))
    types = list(reading.pipe.labels)
    for i, label in enumerate(labels):
        if label in types:  # other components may have written other labels
            exact[i] = p[types.index(label), i]
    # a chunk ends with a word whose label the next one does not continue
    lasts = np.repeat(first + sizes - 1, len(inside))
    stops = posterior.segments(
        lasts, np.ones_like(lasts), np.tile(inside, len(first)), reading.pipe.continues
    )
    columns = [
        exact,
        sum(p, np.zeros(len(first))),
        1.0 - posterior.segments(first, sizes, np.full(int(sizes.sum()), outside)),
        posterior.nodes[first][:, inside] @ rules.first[inside],
        stops.reshape(len(first), len(inside)).sum(axis=1),
    ]
    return np.minimum(np.stack(columns, axis=1), 1.0)  # sums are rounded


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
        if reading.sentence(word) == range(word, word + size):
            # the entropy of a sentence needs no strings
            entropies[i] = posterior.sequence_entropies()[reading.sentence_of[word]]
        else:
            entropies[i] = _enumerated_entropy(reading, word, size)
    return entropies


def _enumerated_entropy(reading: Reading, first: int, size: int) -> float:
    """-sum of p log p over all strings of labels at these words. RAISES ValueError [HS143]."""
    n_strings = len(reading.labels) ** size
    most = 10_000
    if n_strings > most:
        raise ValueError(Errors.HS143.format(n=size, n_strings=n_strings, limit=most))
    strings = np.indices((len(reading.labels),) * size).reshape(size, -1).T  # (n_strings, size)
    places = np.full(n_strings, first), np.full(n_strings, size)
    p = reading.posterior.segments(*places, strings.reshape(-1))
    return max(0.0, float(-(p * np.log(np.where(p > 0, p, 1.0))).sum()))


def certainties_of(reading: Reading) -> Iterator[Certainty]:
    """Certainties of each text that was read."""
    names = [*reading.labels, ""]  # label -1, of white space, is the last one
    begins = reading.ends - reading.lengths
    margins = np.zeros(0)
    if len(begins):
        margins = np.minimum.reduceat(reading.margins, begins)
    columns = [reading.log_p, reading.posterior.sequence_entropies(), margins]
    sentences: list[list[SentenceCertainty]] = [[] for _ in reading.texts]
    for first, end, *row in zip(begins.tolist(), reading.ends.tolist(), *columns, strict=True):
        one = SentenceCertainty(*reading.tokens(first, end), *map(float, row))
        sentences[reading.text_of[first]].append(one)
    by_doc = zip(
        reading.label_ids,
        reading.by_token(reading.confidences()),
        reading.by_token(reading.posterior.entropies()),
        reading.by_token(reading.margins),
        sentences,
        strict=True,
    )
    for label_ids, p, entropies, doc_margins, doc_sentences in by_doc:
        labels = [names[y] for y in label_ids.tolist()]
        yield Certainty(labels, p, entropies, doc_margins, doc_sentences)


def _span_certainties(
    reading: Reading, places: Sequence[Place], *, entropy: bool
) -> list[SpanCertainty]:
    """Certainties of spans of the texts that were read."""
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


def _on_doc(doc: Doc) -> dict[str, Certainty]:
    """`doc._.hoseq_certainty`: by component."""
    certainties = {}
    for name, saved in doc.user_data.get(CERTAINTIES, {}).items():
        one = Certainty._make(saved["doc"])
        # a Doc that was saved has lists for tuples
        sentences = [SentenceCertainty(*row) for row in one.sentences]
        certainties[name] = one._replace(sentences=sentences)
    return certainties


def _on_token(token: Token) -> dict[str, TokenCertainty]:
    """`token._.hoseq_certainty`: by component."""
    i = token.i
    certainties = {}
    for name, one in _on_doc(token.doc).items():
        numbers = float(one.probabilities[i]), float(one.entropies[i]), float(one.margins[i])
        certainties[name] = TokenCertainty(one.labels[i], *numbers)
    return certainties


def _on_span(span: Span) -> dict[str, SpanCertainty]:
    """`span._.hoseq_certainty`: by component, of spans that it has found."""
    certainties = {}
    for name, saved in span.doc.user_data.get(CERTAINTIES, {}).items():
        for start, end, label, *numbers in saved["spans"]:
            # several spans can have the same tokens, with different labels
            if (start, end, label) == (span.start, span.end, span.label_):
                certainties[name] = SpanCertainty(*numbers)
    return certainties
