"""Docs of sentences: words, tags, boundaries, chunks and entities."""

from typing import Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from .sentences import LabelledSpan, Sentence

UNSPACED = ("zh", "ja")  # languages without spaces between words


def sentences_to_doc(
    vocab: Vocab, sentences: Sequence[Sentence], lang: str, chunks_key: str = "chunks", entities_key: str = ""
) -> Doc:
    """A Doc of sentences that have the same annotation; their beginnings are marked.

    lang: words of Chinese and Japanese are not separated; of others it is not known (spaCy's `has_unknown_spaces`).
    chunks_key: chunks go to `doc.spans[chunks_key]`. entities_key: entities go to these spans; "" = `doc.ents`.
    """
    words = [word for sentence in sentences for word in sentence.words]
    starts: List[Union[bool, int, None]] = [i == 0 for sentence in sentences for i in range(len(sentence.words))]
    spaces = [False] * len(words) if lang in UNSPACED else None
    doc = Doc(vocab, words=words, spaces=spaces, sent_starts=starts)
    tags = [tag for sentence in sentences for tag in sentence.tags or ()]
    if tags:
        ids = [vocab.strings.add(tag) for tag in tags]
        for token, tag in zip(doc, ids, strict=True):
            token.tag = tag
    chunks = _spans(doc, [(len(sentence.words), sentence.chunks) for sentence in sentences])
    entities = _spans(doc, [(len(sentence.words), sentence.entities) for sentence in sentences])
    if chunks is not None:
        doc.spans[chunks_key] = chunks
    if entities is not None and entities_key:
        doc.spans[entities_key] = entities
    elif entities is not None:
        doc.set_ents(entities, default="outside")
    return doc


def _spans(doc: Doc, labelled: Iterable[Tuple[int, Optional[List[LabelledSpan]]]]) -> Optional[List[Span]]:
    """The chunks or entities of sentences of these lengths; None if no sentence has any annotation of the kind."""
    spans: List[Span] = []
    start, known = 0, False
    for length, spans_of_sentence in labelled:
        known = known or spans_of_sentence is not None
        spans += [Span(doc, start + first, start + end, name) for first, end, name in spans_of_sentence or ()]
        start += length
    return spans if known else None


def grouped(sentences: Iterable[Sentence], size: int) -> Iterator[List[Sentence]]:
    """Groups of so many sentences; 0: all in one. Sentences without words are left out."""
    group: List[Sentence] = []
    for sentence in sentences:
        if sentence.words:
            group.append(sentence)
        if size and len(group) == size:
            yield group
            group = []
    if group:
        yield group
