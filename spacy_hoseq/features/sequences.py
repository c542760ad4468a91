"""Where one sequence ends and the next begins: sentences where the Doc has them, else the whole Doc."""

from functools import cached_property
from typing import Any, List, Sequence, Sized, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH, SENT_START
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Keys, Lengths, Mask
from ..errors import Errors

WORDS_AND_STARTS = [ORTH, SENT_START]


class ReadOnce(List[Doc]):
    """Docs of a batch that several layers are given one after the other, and that do not change meanwhile: the first
    layer reads them for all."""

    @cached_property
    def words_and_lengths(self) -> Tuple[Keys, Lengths]:
        return _words_and_lengths(self)


def words_and_lengths(docs: Sequence[Doc]) -> Tuple[Keys, Lengths]:
    """`orth` of every token, and the sequences, with one look at each Doc. RETURNS (N,) uint64, (S,) int32 as
    `sequence_lengths`."""
    return docs.words_and_lengths if isinstance(docs, ReadOnce) else _words_and_lengths(docs)


def _words_and_lengths(docs: Sequence[Doc]) -> Tuple[Keys, Lengths]:
    seen = [doc.to_array(WORDS_AND_STARTS) for doc in docs]
    if not seen:
        return np.zeros(0, np.uint64), np.zeros(0, np.int32)
    columns = np.concatenate(seen)  # (N, 2)
    return np.ascontiguousarray(columns[:, 0]), _lengths(columns[:, 1], docs)


def vocab_of(docs: Sequence[Doc]) -> Vocab:
    """That of all docs, at least one. RAISES ValueError [HS008]: they have several."""
    vocab = docs[0].vocab
    for doc in docs:
        if doc.vocab is not vocab:
            raise ValueError(Errors.HS008.format(text=repr(doc.text[:40])))
    return vocab


def names_and_lengths(docs: Sequence[Doc]) -> Tuple[List[bytes], Lengths]:
    """What tells each text from others, its words and sentence starts, and the sequences, with one look at each Doc.
    RETURNS the names, (S,) int32 as `sequence_lengths`."""
    seen = [doc.to_array(WORDS_AND_STARTS) for doc in docs]
    starts = [np.zeros(0, np.uint64), *(columns[:, 1] for columns in seen)]
    return [columns.tobytes() for columns in seen], _lengths(np.concatenate(starts), docs)


def sequence_lengths(docs: Sequence[Doc]) -> Lengths:
    """Lengths of the sequences of all docs, in order; empty docs have none. RETURNS (S,) int32, all >= 1."""
    boundaries: List[NDArray[Any]] = [doc.to_array(SENT_START) for doc in docs]
    return _lengths(np.concatenate([np.zeros(0, np.uint64), *boundaries]), docs)


def sentence_starts(doc: Doc) -> Mask:
    """RETURNS (len(doc),) bool: tokens that begin a sequence. Unknown boundaries (0) are no boundaries."""
    return _starts(doc.to_array(SENT_START), [doc])


def by_doc(array: NDArray[Any], docs: Sequence[Sized]) -> List[NDArray[Any]]:
    """What belongs to each Doc, as views. array (N, ...): of all tokens. (`np.split` takes three times as long.)"""
    ends = np.cumsum([len(doc) for doc in docs]).tolist()
    return [array[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _lengths(boundaries: NDArray[Any], docs: Sequence[Doc]) -> Lengths:
    starts = np.flatnonzero(_starts(boundaries, docs))
    return np.diff(starts, append=len(boundaries)).astype(np.int32)


def _starts(boundaries: NDArray[Any], docs: Sequence[Doc]) -> Mask:
    """boundaries (N,): SENT_START of all tokens, 1 = first of a sentence (0 = unknown). RETURNS (N,) bool."""
    starts: Mask = boundaries == 1
    sizes = np.array([len(doc) for doc in docs], np.intp)
    starts[(np.cumsum(sizes) - sizes)[sizes > 0]] = True
    return starts
