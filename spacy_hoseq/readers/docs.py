"""Docs made of sentences."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from .sentences import LabelledSpan, Sentence

UNSPACED = ("zh", "ja")  # languages without spaces between words
ATTRIBUTES = (  # of `DocBin`: all that a corpus may have
    "ORTH",
    "TAG",
    "POS",
    "MORPH",
    "LEMMA",
    "HEAD",
    "DEP",
    "SENT_START",
    "ENT_IOB",
    "ENT_TYPE",
)


def sentences_to_doc(
    vocab: Vocab,
    sentences: Sequence[Sentence],
    lang: str,
    chunks_key: str = "chunks",
    entities_key: str = "",
) -> Doc:
    """A Doc of sentences with the same kinds of annotation, with their sentence starts.

    lang: words of Chinese and Japanese are not separated; of others it is not known (spaCy's
        `has_unknown_spaces`).
    chunks_key: chunks go to `doc.spans[chunks_key]`. entities_key: entities go to these spans; "" =
        `doc.ents`.
    """
    heads = _heads(sentences)
    deps = None
    if heads is not None:  # spaCy takes no relations without heads
        deps = _column(sentences, "deps")
    doc = Doc(
        vocab,
        list(chain.from_iterable(sentence.words for sentence in sentences)),
        _spaces(sentences, lang),
        tags=_column(sentences, "tags"),
        pos=_column(sentences, "pos"),
        morphs=_column(sentences, "morphs"),
        lemmas=_column(sentences, "lemmas"),
        heads=heads,
        deps=deps,
        sent_starts=_starts(sentences),
    )
    chunks = _spans(doc, sentences, "chunks")
    if chunks is not None:
        doc.spans[chunks_key] = chunks
    entities = _spans(doc, sentences, "entities")
    if entities is not None and entities_key:
        doc.spans[entities_key] = entities
    # words of spans that could not be read are missing, not outside
    elif entities is not None:
        doc.set_ents(entities, missing=_spans(doc, sentences, "unknown"), default="outside")
    return doc


def _heads(sentences: Sequence[Sentence]) -> list[int] | None:
    """Heads as places in the Doc; None if a sentence has no heads."""
    heads: list[int] = []
    for sentence in sentences:
        if sentence.heads is None:
            return None
        start = len(heads)
        heads += [start + head for head in sentence.heads]
    return heads


def _starts(sentences: Sequence[Sentence]) -> list[bool | int | None] | None:
    """True where a sentence begins; None if that is not known."""
    starts: list[bool | int | None] = []
    for sentence in sentences:
        if sentence.is_text and not sentence.starts:
            return None
        begins = {0, *sentence.starts}
        starts += [i in begins for i in range(len(sentence.words))]
    return starts


def _column(sentences: Sequence[Sentence], name: str) -> list[str] | None:
    """One annotation of all words, "" in sentences without it; None if no sentence has it."""
    column: list[str] = []
    is_annotated = False
    for sentence in sentences:
        values = getattr(sentence, name)
        is_annotated |= values is not None
        column += values or [""] * len(sentence.words)
    if not is_annotated:
        return None
    return column


def _spaces(sentences: Sequence[Sentence], lang: str) -> list[bool] | None:
    """True where a space follows a word; None if it is not known."""
    spaces = []
    for sentence in sentences:
        if sentence.spaces is not None:
            spaces += sentence.spaces
        elif lang in UNSPACED:
            spaces += [False] * len(sentence.words)
        else:
            return None
    return spaces


def _spans(doc: Doc, sentences: Sequence[Sentence], name: str) -> list[Span] | None:
    """The spans of all sentences; None if no sentence has this kind."""
    spans = []
    start = 0
    is_annotated = False
    for sentence in sentences:
        labelled: Sequence[LabelledSpan] | None = getattr(sentence, name)
        is_annotated |= labelled is not None
        spans += [
            Span(doc, start + span.first, start + span.end, span.name) for span in labelled or ()
        ]
        start += len(sentence.words)
    if not is_annotated:
        return None
    return spans


def grouped(sentences: Iterable[Sentence], size: int) -> Iterator[list[Sentence]]:
    """Groups of `size` sentences; 0 = all in one. Sentences without words are left out. A text is a
    group of its own. A group has heads in all of its sentences, or in none."""
    group: list[Sentence] = []
    for sentence in filter(attrgetter("words"), sentences):
        # spaCy wants heads of all words of a Doc, or of none
        other = group and (group[0].heads is None) != (sentence.heads is None)
        if group and (len(group) == size or other or sentence.is_text or group[0].is_text):
            yield group
            group = []
        group.append(sentence)
    if group:
        yield group
