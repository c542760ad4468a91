"""`doc.noun_chunks` of Docs without a parse: the NP chunks of a chunker; and `merge_noun_chunks`.

spaCy takes the function from the vocabulary of a Doc, which has it from its language.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from spacy.errors import Errors as SpacyErrors
from spacy.lang.en import English
from spacy.pipeline.functions import merge_noun_chunks as merge_parsed
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

NOUN_PHRASE = "NP"
GROUP = "chunks"

Phrases = Iterator[tuple[int, int, int]]


class NounChunks(NamedTuple):
    """Noun phrases of a Doc or Span, as (start, end, label): those of the parser if it has run,
    else the NPs of a span group. key: of the group. of_parser: the language's own function, if it
    has one. RAISES as the language does where there is neither."""

    key: str
    of_parser: Callable[[Any], Phrases] | None

    def __call__(self, part: Doc | Span) -> Phrases:
        doc = part.doc
        is_parsed = self.of_parser is not None and doc.has_annotation("DEP")
        if self.key in doc.spans and not is_parsed:
            first, end = (part.start, part.end) if isinstance(part, Span) else (0, len(doc))
            for span in doc.spans[self.key]:
                if span.label_ == NOUN_PHRASE and first <= span.start and span.end <= end:
                    yield span.start, span.end, span.label
        elif self.of_parser is not None:
            yield from self.of_parser(part)
        else:
            raise NotImplementedError(SpacyErrors.E894.format(lang=doc.vocab.lang))


def offer_noun_chunks(vocab: Vocab, key: str) -> None:
    """From now on, Docs of the vocabulary have the noun phrases of this span group."""
    before: Any = vocab.get_noun_chunks  # (a wrong type in spaCy)
    of_parser = before.of_parser if isinstance(before, NounChunks) else before
    chunks: Any = NounChunks(key, of_parser)
    vocab.get_noun_chunks = chunks


def merge_noun_chunks(doc: Doc) -> Doc:
    """The Doc with each noun phrase as one token, with the tag of its last word; span groups follow.
    (spaCy's own `merge_noun_chunks` does nothing to a Doc without a parse.)"""
    noun_chunks = doc.vocab.get_noun_chunks
    if doc.has_annotation("DEP") or not isinstance(noun_chunks, NounChunks):
        return merge_parsed(doc)
    if noun_chunks.key not in doc.spans:
        return doc
    bounds = {
        key: [(span.start_char, span.end_char, span.label) for span in group]
        for key, group in doc.spans.items()
    }
    with doc.retokenize() as retokenizer:
        for phrase in doc.noun_chunks:
            head = phrase[-1]
            retokenizer.merge(phrase, attrs={"TAG": head.tag, "POS": head.pos})
    for key, of_group in bounds.items():
        found = [doc.char_span(*each, alignment_mode="expand") for each in of_group]
        spans = [span for span in found if span is not None]
        attrs = doc.spans[key].attrs
        doc.spans[key] = SpanGroup(doc, name=key, spans=spans, attrs=attrs)
    return doc


# English Docs are often read without a pipeline, such as `DocBin.get_docs(spacy.blank("en").vocab)`
of_english: Any = NounChunks(GROUP, English.Defaults.syntax_iterators["noun_chunks"])
English.Defaults.syntax_iterators = {
    **English.Defaults.syntax_iterators,
    "noun_chunks": of_english,
}
English.component(
    "merge_noun_chunks",
    requires=["token.tag", "token.pos"],
    retokenizes=True,
    func=merge_noun_chunks,
)
