"""Docs of sentences: words, tags, boundaries, chunks and entities."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import numpy as np
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
    """A Doc of sentences that have the same annotation; their beginnings are marked.

    lang: words of Chinese and Japanese are not separated; of others it is not known (spaCy's
        `has_unknown_spaces`).
    chunks_key: chunks go to `doc.spans[chunks_key]`. entities_key: entities go to these spans; "" =
        `doc.ents`.
    """
    lengths = [len(sentence.words) for sentence in sentences]
    columns = {
        name: [
            value
            for sentence, length in zip(sentences, lengths, strict=True)
            for value in getattr(sentence, name) or [""] * length
        ]
        for name in ("tags", "pos", "morphs", "lemmas", "deps")
        if any(getattr(sentence, name) is not None for sentence in sentences)
    }
    heads: list[int] | None = None
    first = np.cumsum([0, *lengths]).tolist()
    if all(sentence.heads is not None for sentence in sentences):
        heads = [i + head for i, s in zip(first, sentences, strict=False) for head in s.heads or ()]
    else:
        columns.pop("deps", None)
    starts: list[bool | int | None] | None = None
    if not any(sentence.is_text for sentence in sentences):
        starts = [i == 0 for length in lengths for i in range(length)]
    words = [word for sentence in sentences for word in sentence.words]
    spaces = _spaces(sentences, lang)
    doc = Doc(vocab, words, spaces, sent_starts=starts, heads=heads, **columns)  # type: ignore[arg-type]
    chunks, entities, unknown = (
        _spans(doc, first, [getattr(sentence, name) for sentence in sentences])
        for name in ("chunks", "entities", "unknown")
    )
    if chunks is not None:
        doc.spans[chunks_key] = chunks
    if entities is not None and entities_key:
        doc.spans[entities_key] = entities
    elif entities is not None:
        doc.set_ents(entities, missing=unknown, default="outside")
    return doc


def _spaces(sentences: Sequence[Sentence], lang: str) -> list[bool] | None:
    """True where a space follows a word; None if it is not known."""
    if all(sentence.spaces is not None for sentence in sentences):
        return [space for sentence in sentences for space in sentence.spaces or ()]
    return [False for sentence in sentences for _ in sentence.words] if lang in UNSPACED else None


def _spans(
    doc: Doc, starts: Sequence[int], labelled: Sequence[Sequence[LabelledSpan] | None]
) -> list[Span] | None:
    """The spans of sentences that begin there; None if no sentence has annotation of the kind."""
    if all(of_sentence is None for of_sentence in labelled):
        return None
    return [
        Span(doc, start + first, start + end, name)
        for start, of_sentence in zip(starts, labelled, strict=False)
        for first, end, name in of_sentence or ()
    ]


def grouped(sentences: Iterable[Sentence], size: int) -> Iterator[list[Sentence]]:
    """Groups of so many sentences; 0: all in one. Sentences without words are left out. A text is a
    group of its own; sentences with heads and those without are not together."""
    group: list[Sentence] = []
    for sentence in filter(attrgetter("words"), sentences):
        other = group and (group[0].heads is None) != (sentence.heads is None)
        if group and (len(group) == size or other or sentence.is_text or group[0].is_text):
            yield group
            group = []
        group.append(sentence)
    if group:
        yield group
