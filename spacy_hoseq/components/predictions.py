"""Predictions for a batch of Docs: label ids and probabilities; tag dictionaries."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Labels, Mask
from ..caches import cached_property
from ..decoders.answers import Posterior, best_beside, best_labels, posterior
from ..decoders.choice import Decoder, decode_exact
from ..decoders.problem import Potentials, is_permitted
from ..errors import Errors, wrong_value
from ..features.index import ExactIndex
from ..features.sequences import WordDocs, values_of
from ..layers.candidates import CandidateLists


class TagDictionary:
    """Labels that some words can have; all other words can have any.

    entries: labels of each word, as it is written. Labels that are not among `labels` do not count.
    attribute: of spaCy's, which holds what is looked up in place of the word, such as its tag.
    RAISES ValueError [HS027]: an entry without any known label.
    """

    def __init__(
        self, entries: dict[str, list[str]], labels: Sequence[str], attribute: int = ORTH
    ) -> None:
        self._attribute = attribute
        label_ids = {label: i for i, label in enumerate(labels)}
        # many words of a lexicon have the same labels, and share a row of the masks
        rows: dict[frozenset[int], int] = {}
        word_rows = []
        for word, names in entries.items():
            permitted = frozenset(label_ids[name] for name in names if name in label_ids)
            if not permitted:
                raise wrong_value(
                    f'tag dictionary entry "{word}"', names, f"one of {', '.join(labels)}"
                )
            word_rows.append(rows.setdefault(permitted, len(rows)))
        # the last row permits everything: all other words
        self._masks = np.zeros((len(rows) + 1, len(labels)), bool)
        for permitted, row in rows.items():
            self._masks[row, list(permitted)] = True
        self._masks[-1] = True
        self._rows = np.array([*word_rows, -1], np.intp)
        self._index = ExactIndex(np.array([get_string_id(word) for word in entries], np.uint64))

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """Labels permitted at the words of the docs (N, L)."""
        return self._masks[self.rows(docs)]

    def rows(self, docs: Sequence[Doc]) -> Ints:
        """The list of each word (N,), -1 where there is no entry."""
        (values,) = values_of(docs, [self._attribute])
        return self._rows[self._index.lookup(values)]

    @cached_property
    def lists(self) -> CandidateLists:
        """The labels of each list."""
        return CandidateLists([np.flatnonzero(mask) for mask in self._masks[:-1]])


def intersection(first: Mask | None, second: Mask | None) -> Mask | None:
    """Labels that two masks permit (N, L); where there is no such label, those of the first. None
    = all."""
    if first is None:
        return second
    if second is None:
        return first
    # labels that are set already, say, and a dictionary that knows none of them
    both = first & second
    return np.where(both.any(axis=1, keepdims=True), both, first)


class Predictions:
    """Predictions of a component for some Docs.

    docs: their words, without white space: N in all. name: of the component. labels: names of all
    labels, by id; of chunks, their tags. potentials: of these words; None = only their labels are
    known, and no_sums says why there is no p(y | x). best (N,): label ids of the words, end to end;
    None = those that `decoder` finds.
    """

    def __init__(
        self,
        docs: WordDocs,
        name: str,
        labels: list[str],
        potentials: Potentials | None,
        best: Labels | None = None,
        no_sums: str = "",
        decoder: Decoder = decode_exact,
    ) -> None:
        self.docs = docs
        self.name = name
        self.labels = labels
        self._potentials = potentials
        self._no_sums = no_sums
        self.decoder = decoder
        if best is not None:
            self.best = best

    @property
    def potentials(self) -> Potentials:
        """RAISES ValueError [HS105]: only labels are known."""
        if self._potentials is None:
            reason = self._no_sums
            raise ValueError(Errors.HS105.format(name=self.name, asked="p(y | x)", reason=reason))
        return self._potentials

    @cached_property
    def best(self) -> Labels:
        """Label ids of the words, end to end (N,). RAISES ValueError [HS028]: the decoder returns
        labels that the potentials do not permit."""
        potentials = self.potentials
        if self.decoder is decode_exact or not len(potentials.scores):
            if "posterior" in self.__dict__ and len(potentials.scores):
                return best_beside(potentials, self.posterior)
            return best_labels(potentials)
        # a decoder from outside may return anything
        labels = np.asarray(self.decoder(potentials).labels)
        if not is_permitted(potentials, labels):
            size = {"n_tokens": len(potentials.scores), "n_labels": potentials.scores.shape[1]}
            raise ValueError(Errors.HS028.format(name=self.name, **size))
        return labels.astype(np.int32, copy=False)

    @cached_property
    def posterior(self) -> Posterior:
        """p(y | x) of all label sequences. RAISES ValueError [HS105]: it is not known."""
        return posterior(self.potentials)

    @cached_property
    def label_ids(self) -> list[Labels]:
        """Label ids of the tokens of each Doc (len(doc),), -1 at white space."""
        return self.by_token(self.best, -1)

    def confidences(self) -> Floats:
        """Probability of the label of each word (N,): p(y_t = its label | x), exact under the
        model. RAISES ValueError [HS105]: it is not known."""
        nodes: Floats = self.posterior.nodes
        return nodes[np.arange(len(self.best)), self.best]

    def by_token(self, values: NDArray[np.generic], absent: float = 0) -> list[NDArray[Any]]:
        """Values of the words (N, ...) as one array per Doc, by token: `absent` at white space."""
        return self.docs.by_token(values, absent)
