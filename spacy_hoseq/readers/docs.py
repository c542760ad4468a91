"""Docs of sentences: words, tags, boundaries, chunks and entities."""

from operator import attrgetter
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Union

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
    words = [word for sentence in sentences for word in sentence.words]
    starts: Optional[List[Union[bool, int, None]]] = None
    if not any(sentence.is_text for sentence in sentences):
        starts = [i == 0 for sentence in sentences for i in range(len(sentence.words))]
    doc = Doc(vocab, words=words, spaces=_spaces(sentences, lang), sent_starts=starts)
    _set_tokens(doc, sentences)
    lengths = [len(sentence.words) for sentence in sentences]
    chunks = _spans(doc, lengths, [sentence.chunks for sentence in sentences])
    entities = _spans(doc, lengths, [sentence.entities for sentence in sentences])
    unknown = _spans(doc, lengths, [sentence.unknown for sentence in sentences])
    if chunks is not None:
        doc.spans[chunks_key] = chunks
    if entities is not None and entities_key:
        doc.spans[entities_key] = entities
    elif entities is not None:
        doc.set_ents(entities, missing=unknown, default="outside")
    return doc


def _spaces(sentences: Sequence[Sentence], lang: str) -> Optional[List[bool]]:
    """Whether a space follows each word; None if it is not known."""
    if all(sentence.spaces is not None for sentence in sentences):
        return [space for sentence in sentences for space in sentence.spaces or ()]
    return [False for sentence in sentences for _ in sentence.words] if lang in UNSPACED else None


def _set_tokens(doc: Doc, sentences: Sequence[Sentence]) -> None:
    """Tags, parts of speech, features, lemmas, heads and relations, as far as the sentences have
    them."""
    starts = np.cumsum([0, *(len(sentence.words) for sentence in sentences)]).tolist()
    for start, sentence in zip(starts, sentences, strict=False):
        tokens = doc[start : start + len(sentence.words)]
        columns = {"tag_": sentence.tags, "pos_": sentence.pos, "lemma_": sentence.lemmas}
        for name, column in columns.items():
            for token, value in zip(tokens, column or (), strict=False):
                setattr(token, name, value)
        for token, features in zip(tokens, sentence.morphs or (), strict=False):
            token.set_morph(features)  # type: ignore[attr-defined]  # (missing in spaCy's stub file)
    if any(sentence.heads is None for sentence in sentences):
        return
    heads = [
        start + head for start, s in zip(starts, sentences, strict=False) for head in s.heads or ()
    ]
    relations = [
        doc.vocab.strings.add(dep) for sentence in sentences for dep in sentence.deps or ()
    ]
    offsets = np.array(heads, np.int64) - np.arange(len(doc))
    values: Any = np.stack([offsets.astype(np.uint64), np.array(relations, np.uint64)], axis=1)
    doc.from_array(["HEAD", "DEP"], values)


def _spans(
    doc: Doc, lengths: Sequence[int], labelled: Sequence[Optional[Sequence[LabelledSpan]]]
) -> Optional[List[Span]]:
    """The spans of sentences of these lengths; None if no sentence has annotation of the kind."""
    if all(of_sentence is None for of_sentence in labelled):
        return None
    starts = np.cumsum([0, *lengths]).tolist()
    return [
        Span(doc, start + first, start + end, name)
        for start, of_sentence in zip(starts, labelled, strict=False)
        for first, end, name in of_sentence or ()
    ]


def grouped(sentences: Iterable[Sentence], size: int) -> Iterator[List[Sentence]]:
    """Groups of so many sentences; 0: all in one. Sentences without words are left out. A text is a
    group of its own; sentences with heads and those without are not together."""
    group: List[Sentence] = []
    for sentence in filter(attrgetter("words"), sentences):
        other = group and (group[0].heads is None) != (sentence.heads is None)
        if group and (len(group) == size or other or sentence.is_text or group[0].is_text):
            yield group
            group = []
        group.append(sentence)
    if group:
        yield group
