"""Training data with gold tokens, and with some of the gold annotation given: tags that are not to be found.

`spacy.Corpus.v1` gives predicted docs without annotation, and with `gold_preproc` loses the span groups of the
reference. This reader cuts texts into their sentences, too, and keeps both; and it reads the files once (`kept.py`).
"""

import warnings
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Sequence, Union

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.corpus import FILE_TYPE, walk_corpus
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..features.sequences import sentence_starts
from .kept import kept

KNOWN = ("tag", "pos", "lemma", "ent_iob", "ent_type")
NO_USER_DATA = b"\x80"  # an empty mapping in msgpack, which spaCy takes ten times longer to read than the Doc it is of


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
        references = (part for doc in read_docs(files, nlp.vocab, limit) for part in sentences(doc))
        for reference in kept(nlp, limit, files, references):
            yield Example(given(reference, attributes), reference)

    return read


def read_docs(files: Sequence[Path], vocab: Vocab, limit: int) -> Iterator[Doc]:
    """Docs of .spacy files that are not empty. limit (int): so many of all; 0 = no limit."""
    n_read = 0
    for file in files:
        stored = DocBin().from_disk(file)
        stored.user_data = [None if data == NO_USER_DATA else data for data in stored.user_data]
        for doc in filter(len, stored.get_docs(vocab)):
            yield doc
            n_read += 1
            if n_read == limit:
                return


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
    starts = np.flatnonzero(sentence_starts(doc)).tolist()
    if len(starts) == 1:
        yield doc
        return
    for key, group in doc.spans.items():
        for span in group:
            if any(span.start < start < span.end for start in starts):
                warnings.warn(Warnings.HW002.format(key=key, span=repr(span.text)), stacklevel=2)
    for sentence in doc.sents:
        part = sentence.as_doc()
        part.has_unknown_spaces = doc.has_unknown_spaces
        for key, group in doc.spans.items():
            inside = [span for span in group if sentence.start <= span.start and span.end <= sentence.end]
            shift = sentence.start
            part.spans[key] = [Span(part, s.start - shift, s.end - shift, s.label, s.kb_id) for s in inside]
        yield part


def given(reference: Doc, attributes: List[str]) -> Doc:
    """The words of a reference, with these attributes."""
    words, spaces = (reference.to_array([name]).reshape(len(reference)).tolist() for name in ("ORTH", "SPACY"))
    doc = Doc(reference.vocab, words=words, spaces=spaces)
    names = [name.upper() for name in attributes]
    if not names:
        return doc
    return doc.from_array(names, reference.to_array(names))  # type: ignore[arg-type]
