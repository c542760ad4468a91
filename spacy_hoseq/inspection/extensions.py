"""`how_sure`: certainties on Docs, Spans and Tokens, for all components of a pipeline that have
them.

    doc._.hoseq_certainty["hoseq_tagger"]      Certainty
    token._.hoseq_certainty["hoseq_tagger"]    TokenCertainty
    span._.hoseq_certainty["hoseq_chunker"]    SpanCertainty, of spans that the chunker has found

What is kept lies in `doc.user_data` as lists and numbers, so that it is saved with the Doc.
"""

from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch

from ..components import SequenceComponent
from .certainty import BATCH, Certainty, SentenceCertainty, certainties, certainties_of
from .reading import Reading, own_component
from .spans import Places, SpanCertainty, chunk_probabilities

NAME = "hoseq_certainty"  # of the extensions
DATA = "hoseq_certainties"  # the key of `doc.user_data`


class TokenCertainty(NamedTuple):
    """label: the best one. probability: that it is right. entropy, margin: as `Certainty` has
    them."""

    label: str
    probability: float
    entropy: float
    margin: float


def how_sure(
    nlp: Language, docs: Iterable[Doc], names: Optional[Sequence[str]] = None
) -> Iterator[Doc]:
    """Docs that the pipeline has annotated, with how sure its components are.

    names: of components, None = all that can tell. Only probabilities that are calibrated mean what
        they say.
    RAISES ValueError [HS140, HS142] as `certainties`.
    """
    register()
    chosen = (
        [name for name, pipe in nlp.pipeline if can_tell(pipe)] if names is None else list(names)
    )
    for batch in minibatch(docs, BATCH):
        for name in chosen:
            pipe: object = nlp.get_pipe(name)
            reading = Reading(pipe, batch) if own_component(pipe).knows == "sums" else None
            found = list(certainties(pipe, batch)) if reading is None else certainties_of(reading)
            spans: List[List[object]] = [[] for _ in batch]
            if reading is not None and reading.target.of_spans:
                spans = _found_spans(reading)
            for doc, of_doc, of_spans in zip(batch, found, spans, strict=True):
                doc.user_data.setdefault(DATA, {})[name] = {**_plain(of_doc), "spans": of_spans}
        yield from batch


def register() -> None:
    """The extensions; they belong to the process."""
    kinds: List[Tuple[Any, object]] = [(Doc, _of_doc), (Token, _of_token), (Span, _of_span)]
    for kind, getter in kinds:
        if not kind.has_extension(NAME):
            kind.set_extension(NAME, getter=getter)


def can_tell(pipe: object) -> bool:
    """Whether it is a component whose decisions can be looked into."""
    return isinstance(pipe, SequenceComponent) and pipe.knows != "labels"


def _plain(certainty: Certainty) -> Dict[str, object]:
    """As it is saved."""
    arrays = {
        key: value for key, value in certainty._asdict().items() if isinstance(value, np.ndarray)
    }
    return {
        **arrays,
        "labels": certainty.labels,
        "sentences": [list(row) for row in certainty.sentences],
    }


def _found_spans(reading: Reading) -> List[List[object]]:
    """The chunks that are found now in each Doc: first, end, label, and the five probabilities."""
    rows: List[List[object]] = [[] for _ in reading.texts]
    spans = [(i, item) for i in range(len(rows)) for item in reading.items(i)]
    words = [reading.span(i, start, end) for i, (start, end, _) in spans]
    first, sizes = np.array(words, np.intp).reshape(-1, 2).T
    labels = [label for _, (_, _, label) in spans]
    p = (
        chunk_probabilities(reading, Places(first, sizes, labels))
        if spans
        else np.zeros((0, 5))
    )
    for (i, item), row in zip(spans, p.tolist(), strict=True):
        rows[i].append([*item, *row])
    return rows


def _kept(doc: Doc) -> Dict[str, Any]:
    return dict(doc.user_data.get(DATA, {}))


def _of_doc(doc: Doc) -> Dict[str, Certainty]:
    return {
        name: Certainty(
            **{key: value for key, value in kept.items() if key not in ("sentences", "spans")},
            sentences=[SentenceCertainty(*row) for row in kept["sentences"]],
        )
        for name, kept in _kept(doc).items()
    }


def _of_token(token: Token) -> Dict[str, TokenCertainty]:
    columns = ("probabilities", "entropies", "margins")
    return {
        name: TokenCertainty(
            kept["labels"][token.i], *(float(kept[column][token.i]) for column in columns)
        )
        for name, kept in _kept(token.doc).items()
    }


def _of_span(span: Span) -> Dict[str, SpanCertainty]:
    certainties_of_span: Dict[str, SpanCertainty] = {}
    wanted: Tuple[object, ...] = (span.start, span.end, span.label_)
    for name, kept in _kept(span.doc).items():
        rows = [row for row in kept["spans"] if tuple(row[:3]) == wanted]
        if rows:
            certainties_of_span[name] = SpanCertainty(*rows[0][3:])
    return certainties_of_span
