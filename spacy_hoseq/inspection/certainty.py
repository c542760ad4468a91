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

from ..arrays import Floats, Labels
from ..components import SequenceComponent
from .reading import Decisions, Reading, ReadTexts, own_component
from .spans import SpanCertainty, chunk_probabilities

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
    together, NaN where there is no distribution of labellings. margin: score of its labels less
    that of the best other labelling, inf if there is none."""

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


def certainties(pipe: object, docs: Iterable[Doc]) -> Iterator[Certainty]:
    """How sure a `hoseq_tagger`, a `hoseq_chunker` or a greedy `hoseq_bidirectional_tagger` is of
    each Doc.

    docs: with what earlier components have set. Of easiest-first decisions all is meant at the
    moment of the decision, given the neighbours that were decided before: a sentence's log
    probability is that of all its decisions.
    RAISES ValueError [HS140]: a component of another kind; [HS142]: a strategy without decisions.
    """
    for batch in minibatch(docs, BATCH):
        yield from _certainties(_read(pipe, batch))


def how_sure(
    nlp: Language, docs: Iterable[Doc], names: Optional[Sequence[str]] = None
) -> Iterator[Doc]:
    """Docs that the pipeline has annotated, with how sure its components are. names: of components,
    None = all that can tell. RAISES ValueError [HS140, HS142] as `certainties`."""
    register()
    own = [(name, pipe) for name, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    chosen = [name for name, pipe in own if pipe.knows != "labels"] if names is None else names
    for batch in minibatch(docs, BATCH):
        for name in chosen:
            reading = _read(nlp.get_pipe(name), batch)
            spans = _found_spans(reading)
            for doc, one, of_spans in zip(batch, _certainties(reading), spans, strict=True):
                data = one._asdict()
                data["sentences"] = [list(row) for row in one.sentences]
                data["spans"] = of_spans
                doc.user_data.setdefault(DATA, {})[name] = data
        yield from batch


def register() -> None:
    """The extensions; they belong to the process."""
    kinds: List[Tuple[Any, object]] = [(Doc, _of_doc), (Token, _of_token), (Span, _of_span)]
    for kind, getter in kinds:
        if not kind.has_extension(NAME):
            kind.set_extension(NAME, getter=getter)


def token_margins(scores: Floats, labels: Labels) -> Floats:
    """The score of each label less the largest one beside it, inf if there is none. scores (N, L),
    labels (N,) -> (N,)."""
    here = np.arange(len(labels)), labels
    others = scores.copy()
    others[here] = -np.inf
    return np.asarray(scores[here] - others.max(axis=1, initial=-np.inf))


def _read(pipe: Any, docs: Sequence[Doc]) -> ReadTexts:
    is_sum = own_component(pipe).knows == "sums"
    return Reading(pipe, docs) if is_sum else Decisions(pipe, docs)


def _certainties(reading: Any) -> Iterator[Certainty]:
    is_sum = isinstance(reading, Reading)
    columns, rows = _by_sums(reading) if is_sum else _by_decisions(reading)
    names = [*reading.labels, ""]
    sentences: List[List[SentenceCertainty]] = [[] for _ in reading.texts]
    for end, size, row in zip(reading.ends.tolist(), reading.lengths.tolist(), rows, strict=True):
        bounds = reading.tokens(end - size, end)
        sentences[reading.text_of[end - 1]].append(SentenceCertainty(*bounds, *row))
    parts = zip(*(reading.of_tokens(column) for column in columns), strict=True)
    for ids, of_doc, of_sentences in zip(reading.label_ids, parts, sentences, strict=True):
        labels = [names[y] for y in ids.tolist()]
        yield Certainty._make([labels, *of_doc, of_sentences])


# four columns (N,), and a row of three for each sentence
Columns = Tuple[Tuple[Floats, Floats, Floats, Floats], List[List[float]]]


def _by_sums(reading: Reading) -> Columns:
    margins = token_margins(reading.best_with, reading.best)
    begins = reading.ends - reading.lengths
    second = np.minimum.reduceat(margins, begins) if len(begins) else np.zeros(0)
    conditional = reading.conditional_entropies
    entropies = np.bincount(reading.sentence_of, conditional, minlength=len(begins))
    log_p = np.minimum(reading.best_scores - reading.posterior.log_z, 0.0)
    columns = reading.confidences(), reading.entropies, margins, conditional
    return columns, np.stack([log_p, entropies, second], axis=1).tolist()


def _by_decisions(reading: Decisions) -> Columns:
    log_p = reading.log_probabilities
    p = np.exp(log_p)
    entropies = np.maximum(-(p * np.where(p > 0, log_p, 0.0)).sum(axis=1), 0.0)
    chosen = log_p[np.arange(len(log_p)), reading.best]
    together = np.bincount(reading.sentence_of, chosen, minlength=len(reading.ends))
    columns = np.exp(chosen), entropies, token_margins(log_p, reading.best), entropies
    return columns, [[x, float("nan"), float("nan")] for x in together.tolist()]


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
