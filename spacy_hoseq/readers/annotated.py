"""Training data with gold tokens, and with some of the gold annotation given: tags that are not to be found.

`spacy.Corpus.v1` gives predicted docs without annotation, and with `gold_preproc` loses the span groups of the
reference. This reader cuts texts into their sentences, too, and keeps both.
"""

import warnings
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Union

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from spacy.training.corpus import FILE_TYPE, walk_corpus
from spacy.util import ensure_path

from ..errors import Errors, Warnings

KNOWN = ("tag", "pos", "lemma", "ent_iob", "ent_type")


def annotated_corpus(
    path: Optional[Union[str, Path]], attributes: List[str], limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Examples sentence by sentence, with the tokens of the reference.

    path: a .spacy file or a folder of them. attributes: token attributes that the predicted docs have, too ("tag").
    limit (int): read so many docs only; 0 = all.
    RAISES ValueError [E913]: no path; [HS072]: an attribute that cannot be copied.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    check_attributes(attributes)

    def read(nlp: Language) -> Iterator[Example]:
        files = walk_corpus(ensure_path(path), FILE_TYPE)
        for doc in Corpus(path, limit=limit).read_docbin(nlp.vocab, files):
            for reference in sentences(doc):
                yield Example(given(reference, attributes), reference)

    return read


def check_attributes(attributes: List[str]) -> None:
    """RAISES ValueError [HS072]: an attribute that cannot be copied."""
    if not set(attributes) <= set(KNOWN):
        raise ValueError(Errors.HS072.format(attributes=attributes, known=", ".join(KNOWN)))


def sentences(doc: Doc) -> Iterator[Doc]:
    """Each sentence as a Doc, with the spans that lie within; the Doc itself if its sentences are not known.

    WARNS [HW002] of spans that cross the end of a sentence.
    """
    if not doc.has_annotation("SENT_START"):
        yield doc
        return
    starts = [token.i for token in doc if token.is_sent_start]
    for key, group in doc.spans.items():
        for span in group:
            if any(span.start < start < span.end for start in starts):
                warnings.warn(Warnings.HW002.format(key=key, span=repr(span.text)), stacklevel=2)
    for sentence in doc.sents:
        part = sentence.as_doc()
        for key, group in doc.spans.items():
            inside = [span for span in group if sentence.start <= span.start and span.end <= sentence.end]
            shift = sentence.start
            part.spans[key] = [Span(part, s.start - shift, s.end - shift, s.label, s.kb_id) for s in inside]
        yield part


def given(reference: Doc, attributes: List[str]) -> Doc:
    """The words of a reference, with these attributes."""
    words, spaces = [token.text for token in reference], [bool(token.whitespace_) for token in reference]
    doc = Doc(reference.vocab, words=words, spaces=spaces)
    names = [name.upper() for name in attributes]
    if not names:
        return doc
    return doc.from_array(names, reference.to_array(names))  # type: ignore[arg-type]
