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

from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch

from ..arrays import Floats, Ints
from ..chunks import LETTERS, OUTSIDE, grammar
from ..components import SequenceComponent
from ..decoders.problem import ranges
from ..errors import Errors
from .reading import Certain, Reading, ReadTexts, certain_reading

MAX_STRINGS = 10_000
BATCH = 128  # docs that are read together
NAME = "hoseq_certainty"  # of the extensions
DATA = "hoseq_certainties"  # the key of `doc.user_data`


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
    """Of one Doc of n tokens; white space has no label, and zeros. labels: of each token.
    probabilities, entropies, margins, conditional_entropies (n,). sentences: those that have
    words."""

    labels: List[str]
    probabilities: Floats
    entropies: Floats
    margins: Floats
    conditional_entropies: Floats
    sentences: List[SentenceCertainty]


class SpanCertainty(NamedTuple):
    """What a probability "of the chunk" means:

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
    RAISES ValueError [HS140]: a component of another kind; [HS140]: a strategy without decisions.
    """
    for batch in minibatch(docs, BATCH):
        yield from _certainties(certain_reading(pipe, batch))


def how_sure(
    nlp: Language, docs: Iterable[Doc], names: Optional[Sequence[str]] = None
) -> Iterator[Doc]:
    """Docs that the pipeline has annotated, with how sure its components are. names: of components,
    None = all that can tell. RAISES ValueError [HS140] as `certainties`."""
    register()
    own = [(name, pipe) for name, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    chosen = [name for name, pipe in own if pipe.knows != "labels"] if names is None else names
    for batch in minibatch(docs, BATCH):
        for name in chosen:
            reading = certain_reading(nlp.get_pipe(name), batch)
            spans = _found_spans(reading)
            for doc, one, of_spans in zip(batch, _certainties(reading), spans, strict=True):
                data = one._asdict()
                data["sentences"] = [list(row) for row in one.sentences]
                data["spans"] = of_spans
                doc.user_data.setdefault(DATA, {})[name] = data
        yield from batch


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


def register() -> None:
    """The extensions; they belong to the process."""
    kinds: List[Tuple[Any, object]] = [(Doc, _of_doc), (Token, _of_token), (Span, _of_span)]
    for kind, getter in kinds:
        if not kind.has_extension(NAME):
            kind.set_extension(NAME, getter=getter)


def _certainties(reading: Certain) -> Iterator[Certainty]:
    names = [*reading.labels, ""]
    begins = reading.ends - reading.lengths
    margins = np.minimum.reduceat(reading.margins, begins) if len(begins) else np.zeros(0)
    rows = np.stack([reading.log_p, reading.sentence_entropies, margins], axis=1).tolist()
    sentences: List[List[SentenceCertainty]] = [[] for _ in reading.texts]
    for first, end, row in zip(begins.tolist(), reading.ends.tolist(), rows, strict=True):
        bounds = reading.tokens(first, end)
        sentences[reading.text_of[first]].append(SentenceCertainty(*bounds, *row))
    columns = (reading.confidences(), reading.entropies, reading.margins)
    parts = map(reading.of_tokens, (*columns, reading.conditional_entropies))
    for ids, *of_doc, of_sentences in zip(reading.label_ids, *parts, sentences, strict=True):
        yield Certainty._make([[names[y] for y in ids.tolist()], *of_doc, of_sentences])


def _found_spans(reading: ReadTexts) -> List[List[List[object]]]:
    """The chunks that stand on each Doc: first, end, label, and the five probabilities."""
    rows: List[List[List[object]]] = [[] for _ in reading.texts]
    if not isinstance(reading, Reading) or not reading.target.of_spans:
        return rows
    found = [(i, item) for i in range(len(rows)) for item in reading.items(i)]
    words = [reading.span(i, start, end) for i, (start, end, _) in found]
    first, sizes = np.array(words, np.intp).reshape(-1, 2).T
    p = chunk_probabilities(reading, first, sizes, [label for _, (_, _, label) in found])
    for (i, item), row in zip(found, p.tolist(), strict=True):
        rows[i].append([*item, *row])
    return rows


def _kept(doc: Doc) -> Dict[str, Any]:
    return dict(doc.user_data.get(DATA, {}))


def _of_doc(doc: Doc) -> Dict[str, Certainty]:
    return {
        name: Certainty(
            **{key: kept[key] for key in Certainty._fields if key != "sentences"},
            sentences=[SentenceCertainty(*row) for row in kept["sentences"]],
        )
        for name, kept in _kept(doc).items()
    }


def _of_token(token: Token) -> Dict[str, TokenCertainty]:
    columns = ("probabilities", "entropies", "margins")
    return {
        name: TokenCertainty(kept["labels"][token.i], *(float(kept[c][token.i]) for c in columns))
        for name, kept in _kept(token.doc).items()
    }


def _of_span(span: Span) -> Dict[str, SpanCertainty]:
    wanted = [span.start, span.end, span.label_]
    return {
        name: SpanCertainty(*row[3:])
        for name, kept in _kept(span.doc).items()
        for row in kept["spans"]
        if list(row[:3]) == wanted
    }
