"""Where one sequence ends and the next begins: sentences where the Doc has them, else the whole
Doc. White space is no part of it."""

from collections.abc import Sequence, Sized
from itertools import pairwise
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IS_SPACE, ORTH, SENT_START
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Lengths, Mask, distinct
from ..caches import cached_property
from ..errors import Errors
from ..words import without


class WordDocs(list[Doc]):
    """The docs of a batch, those with white-space tokens as `Words`. Several layers read them, one
    after the other, and they do not change meanwhile; so their values are read once.

    attributes: spaCy's, which layers will read beside words and sentences.
    values: of each attribute that was read, at all words (N,).
    sizes (D,): tokens of each Doc, with white space. orths, is_space (M,): of all these tokens.
    """

    def __init__(self, docs: Sequence[Doc], attributes: Sequence[Any] = ()) -> None:
        super().__init__(docs)
        wanted = [*dict.fromkeys([ORTH, SENT_START, IS_SPACE, *attributes])]
        parts = [doc.to_array(wanted) for doc in docs]  # (len(doc), A) each
        columns = np.concatenate([np.zeros((0, len(wanted)), np.uint64), *parts])
        self.sizes = _sizes(docs)
        self.orths: Keys = columns[:, 0]
        self.is_space: Mask = columns[:, 2] != 0
        self._has_spaces = bool(self.is_space.any())
        if self._has_spaces:
            for i, spaces in enumerate(self._split(self.is_space)):
                if spaces.any():
                    words = without(docs[i], spaces)
                    self[i] = words
                    parts[i] = words.to_array(wanted)
            columns = np.concatenate(parts)
        rows = np.ascontiguousarray(columns.T)
        self.values: dict[Any, Keys] = dict(zip(wanted, rows, strict=True))

    @cached_property
    def words_and_lengths(self) -> tuple[Keys, Lengths]:
        """What the function of this name returns, computed once."""
        return self.values[ORTH], _lengths(self.values[SENT_START], self)

    @cached_property
    def n_words(self) -> Ints:
        """Words of each Doc (D,)."""
        return _sizes(self) if self._has_spaces else self.sizes

    @cached_property
    def places(self) -> Ints:
        """The token of each word, counted within its Doc (N,)."""
        starts = np.cumsum(self.sizes) - self.sizes
        places: Ints = np.arange(len(self.is_space)) - starts.repeat(self.sizes)
        return places[~self.is_space]

    @cached_property
    def vocab(self) -> Vocab:
        """What `vocab_of` returns, found once."""
        return vocab_of([*self])

    def are(self, docs: Sequence[Doc]) -> bool:
        """True if these are the docs themselves, without white space."""
        return all(map(is_, self, docs))

    def on_tokens(self, values: NDArray[Any], absent: float) -> NDArray[Any]:
        """Values of all tokens (M, ...), `absent` at white space. values (N, ...): of the words."""
        if not self._has_spaces:
            return values
        spread = np.full((len(self.is_space), *values.shape[1:]), absent, values.dtype)
        spread[~self.is_space] = values
        return spread

    def by_token(self, values: NDArray[Any], absent: float) -> list[NDArray[Any]]:
        """The same as one array for each Doc."""
        return self._split(self.on_tokens(values, absent))

    def _split(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        return _parts(array, self.sizes)


def words_of(docs: Sequence[Doc], attributes: Sequence[Any] = ()) -> WordDocs:
    """The docs without white space. A Doc that has none stays itself."""
    return docs if isinstance(docs, WordDocs) else WordDocs(docs, attributes)


def values_of(docs: Sequence[Doc], attributes: Sequence[Any]) -> list[Keys]:
    """Values of spaCy's attributes at all tokens, (N,) of each."""
    if isinstance(docs, WordDocs) and docs.values.keys() >= {*attributes}:
        return [docs.values[attribute] for attribute in attributes]
    parts = [doc.to_array([*attributes]).reshape(-1, len(attributes)) for doc in docs]
    columns = np.concatenate([np.zeros((0, len(attributes)), np.uint64), *parts])
    return [*np.ascontiguousarray(columns.T)]


def words_and_lengths(docs: Sequence[Doc]) -> tuple[Keys, Lengths]:
    """`orth` of every token, and the lengths of sequences, with one look at each Doc. RETURNS (N,)
    uint64, (S,) int32 as `sequence_lengths`."""
    if isinstance(docs, WordDocs):
        return docs.words_and_lengths
    orths, boundaries = values_of(docs, [ORTH, SENT_START])
    return orths, _lengths(boundaries, docs)


def vocab_of(docs: Sequence[Doc]) -> Vocab:
    """The vocabulary of all docs, at least one. RAISES ValueError [HS008]: they have several."""
    if isinstance(docs, WordDocs):
        return docs.vocab
    vocab: Vocab = docs[0].vocab
    for doc in docs:
        if doc.vocab is not vocab:
            raise ValueError(Errors.HS008.format(text=repr(doc.text[:40])))
    return vocab


def names_and_lengths(docs: Sequence[Doc]) -> tuple[list[bytes], Lengths]:
    """Words and sentence starts of each text as bytes, and the lengths of the sequences.
    RETURNS a list, (S,) int32 as `sequence_lengths`."""
    columns = np.stack(values_of(docs, [ORTH, SENT_START]), axis=1)
    return [part.tobytes() for part in by_doc(columns, docs)], sequence_lengths(docs)


def sequence_lengths(docs: Sequence[Doc]) -> Lengths:
    """Lengths of the sequences of all docs, in order; empty docs have none. RETURNS (S,) int32, all
    >= 1."""
    return words_and_lengths(docs)[1]


def sentence_starts(doc: Doc) -> Mask:
    """Which tokens begin a sequence. RETURNS (len(doc),) bool. Unknown boundaries (0) are no
    boundaries."""
    return _starts(doc.to_array(SENT_START), [doc])


def pieces_of(doc: Doc, n_tokens: int) -> list[Doc]:
    """Pieces of a Doc, cut between sentences: copies of about `n_tokens` tokens each. A Doc that is
    less than twice as long, or has no sentences, is its only piece."""
    if len(doc) <= 2 * n_tokens:
        return [doc]
    starts = np.flatnonzero(sentence_starts(doc))
    # the first sentence at or after each multiple; none near the beginning or the end
    wanted = np.arange(n_tokens, len(doc) - n_tokens, n_tokens)
    cuts = starts.take(np.searchsorted(starts, wanted), mode="clip")
    bounds = [0, *distinct(cuts[cuts >= n_tokens]).tolist(), len(doc)]
    if len(bounds) == 2:
        return [doc]
    return [doc[a:b].as_doc(copy_user_data=bool(doc.user_data)) for a, b in pairwise(bounds)]


def by_doc(array: NDArray[Any], docs: Sequence[Sized]) -> list[NDArray[Any]]:
    """Parts of an array, one for each Doc, as views. array (N, ...): for all tokens."""
    return _parts(array, docs.n_words if isinstance(docs, WordDocs) else _sizes(docs))


def _parts(array: NDArray[Any], sizes: Ints) -> list[NDArray[Any]]:
    """Parts of these sizes. (`np.split` takes three times as long.)"""
    if len(sizes) == 1:
        return [array]
    ends = np.cumsum(sizes).tolist()
    return [array[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _sizes(docs: Sequence[Sized]) -> Ints:
    return np.array([*map(len, docs)], np.intp)


def _lengths(boundaries: NDArray[Any], docs: Sequence[Doc]) -> Lengths:
    """Lengths of the sequences (S,). boundaries (N,): as in `_starts`."""
    starts = np.flatnonzero(_starts(boundaries, docs))
    return np.diff(starts, append=len(boundaries)).astype(np.int32)


def _starts(boundaries: NDArray[Any], docs: Sequence[Doc]) -> Mask:
    """Which tokens begin a sequence or a Doc (N,). boundaries (N,): SENT_START of all tokens, 1 =
    first of a sentence, 0 = unknown."""
    starts: Mask = boundaries == 1
    sizes = docs.n_words if isinstance(docs, WordDocs) else _sizes(docs)
    starts[(np.cumsum(sizes) - sizes)[sizes > 0]] = True
    return starts
