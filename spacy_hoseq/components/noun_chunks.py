"""Noun phrases of Docs without a parse: the NP chunks of a chunker.

`doc.noun_chunks` takes its function from the vocabulary of the Doc. A pipeline with a
`hoseq_chunker` sets it there, as the languages of spaCy do. `noun_chunks` and
`hoseq_merge_noun_chunks` work on any Doc with chunks, whatever its vocabulary is.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from spacy.errors import Errors as SpacyErrors
from spacy.pipeline.functions import merge_noun_chunks as merge_parsed
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

from ..errors import Errors

NOUN_PHRASE = "NP"
DEFAULT_KEY = "chunks"  # of the span group

Phrases = Iterator[tuple[int, int, int]]


class NounChunks(NamedTuple):
    """A function for `vocab.get_noun_chunks`: noun phrases of a Doc or Span, as (start, end, label).

    They are those of the parser if it has run, else the NPs of a span group. key: of the group.
    parsed: the function of the language, if it has one; it raises where there is no parse.
    """

    key: str
    parsed: Callable[[Any], Phrases] | None

    def __call__(self, part: Doc | Span) -> Phrases:
        doc = part.doc
        is_parsed = self.parsed is not None and doc.has_annotation("DEP")
        if self.key in doc.spans and not is_parsed:
            for span in phrases_in(part, self.key):
                yield span.start, span.end, span.label
        elif self.parsed is not None:
            yield from self.parsed(part)
        else:
            raise NotImplementedError(SpacyErrors.E894.format(lang=doc.vocab.lang))


def noun_chunks(part: Doc | Span, key: str = DEFAULT_KEY) -> Iterator[Span]:
    """Noun phrases of any Doc or Span that carries chunks: those of the parser if it has run, else
    the chunks of the type NP.

        [phrase.text for phrase in spacy_hoseq.noun_chunks(doc)]

    key (str): of the span group. RAISES ValueError [HS200]: there is neither.
    """
    doc = part.doc
    if doc.has_annotation("DEP"):
        yield from part.noun_chunks
    elif key in doc.spans:
        yield from phrases_in(part, key)
    else:
        raise ValueError(Errors.HS200.format(key=key, there=", ".join(doc.spans) or "none"))


def phrases_in(part: Doc | Span, key: str) -> Iterator[Span]:
    """The NPs of a span group that lie in a Doc or Span."""
    start = 0
    end = len(part.doc)
    if isinstance(part, Span):
        start = part.start
        end = part.end
    for span in part.doc.spans[key]:
        if span.label_ == NOUN_PHRASE and start <= span.start and span.end <= end:
            yield span


def offer_noun_chunks(vocab: Vocab, key: str) -> None:
    """Let Docs of a vocabulary have the noun phrases of this span group."""
    parsed: Any = vocab.get_noun_chunks  # (a wrong type in spaCy)
    if isinstance(parsed, NounChunks):
        if parsed.key == key:
            return
        parsed = parsed.parsed
    chunks: Any = NounChunks(key, parsed)
    vocab.get_noun_chunks = chunks


def offer_to_docs(docs: Sequence[Any]) -> None:
    """The same for Docs that a tokenizer made before the chunker first saw their vocabulary: a Doc
    takes the function when it is made."""
    for doc in docs:
        if doc.noun_chunks_iterator is not doc.vocab.get_noun_chunks:
            doc.noun_chunks_iterator = doc.vocab.get_noun_chunks


def merge_noun_chunks(doc: Doc) -> Doc:
    """The Doc with each noun phrase as one token, with the tag of its last word; span groups follow.
    (spaCy's `merge_noun_chunks` does nothing to a Doc without a parse.)"""
    if doc.has_annotation("DEP"):
        return merge_parsed(doc)
    key = DEFAULT_KEY
    offered: Any = doc.vocab.get_noun_chunks
    if isinstance(offered, NounChunks):
        key = offered.key
    if key not in doc.spans:
        return doc
    bounds = {}
    for name, group in doc.spans.items():
        bounds[name] = [(span.start_char, span.end_char, span.label) for span in group]
    with doc.retokenize() as retokenizer:
        for phrase in phrases_in(doc, key):
            head = phrase[-1]
            retokenizer.merge(phrase, attrs={"TAG": head.tag, "POS": head.pos})
    for name, places in bounds.items():
        spans: Any = [doc.char_span(*place, alignment_mode="expand") for place in places]
        attrs = doc.spans[name].attrs
        doc.spans[name] = SpanGroup(doc, name=name, spans=spans, attrs=attrs)
    return doc
