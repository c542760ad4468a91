"""Predictions for a batch of Docs: label ids and probabilities; tag dictionaries."""

from functools import cached_property
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Floats, Floats32, Labels, Mask
from ..decoders.answers import best_labels, posterior
from ..decoders.problem import Potentials
from ..errors import Errors
from ..features.index import ExactIndex
from ..features.sequences import WordDocs, on_tokens, words_and_lengths
from .targets.target import Target


class TagDictionary:
    """Words that can have some labels only; all other words can have any.

    entries: word (as written) -> labels. Labels that are unknown are left out of an entry.
    RAISES ValueError [HS027]: an entry without any known label.
    """

    def __init__(self, entries: Dict[str, List[str]], labels: Sequence[str]) -> None:
        ids = {label: i for i, label in enumerate(labels)}
        row_of: Dict[FrozenSet[int], int] = {}  # many words of a lexicon can have the same labels
        rows: List[int] = []
        for word, names in entries.items():
            known = frozenset(ids[name] for name in names if name in ids)
            if not known:
                entry = f'tag dictionary entry "{word}"'
                expected = f"one of {', '.join(labels)}"
                raise ValueError(Errors.HS027.format(name=entry, value=names, expected=expected))
            rows.append(row_of.setdefault(known, len(row_of)))
        self._masks = np.ones((len(row_of) + 1, len(labels)), bool)  # last row: any other word
        for known, row in row_of.items():
            self._masks[row] = np.isin(np.arange(len(labels)), list(known))
        self._rows = np.array([*rows, len(row_of)], np.intp)
        self._index = ExactIndex(np.array([get_string_id(word) for word in entries], np.uint64))

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """RETURNS (N, L) bool."""
        orths, _ = words_and_lengths(docs)
        return self._masks[self._rows[self._index.lookup(orths)]]


def together(first: Optional[Mask], second: Optional[Mask]) -> Optional[Mask]:
    """Labels that both permit (N, L), or the first where that is none; None = all."""
    if first is None or second is None:
        return second if first is None else first
    both = first & second
    return np.where(both.any(axis=1, keepdims=True), both, first)


class LabelsAlone:
    """The best labels (N,), and no p(y | x). name: of the component.
    reason: why.

    RAISES ValueError [HS105]: whatever else is asked for.
    """

    def __init__(self, best: Labels, name: str, reason: str) -> None:
        self.best = best
        self.name = name
        self.reason = reason

    def __getattr__(self, asked: str) -> object:
        if asked.startswith("_"):
            raise AttributeError(asked)
        raise ValueError(Errors.HS105.format(name=self.name, asked=asked, reason=self.reason))


class Reading:
    """Predictions of a component for some Docs.

    docs: their words, without white space: N in all. target: where the labels stand. labels: names
    of all labels, by id; of chunks, their tags. source: potentials of these words, or what else
    knows their labels; of a `hoseq_bidirectional_tagger`, what it decided. best (N,): label ids of
    the words, end to end; None = the best ones. posterior: p(y | x) of all labellings.
    """

    def __init__(
        self,
        docs: WordDocs,
        target: Target,
        labels: List[str],
        source: Union[Potentials, LabelsAlone],
        best: Optional[Labels] = None,
    ) -> None:
        self.docs = docs
        self.target = target
        self.labels = labels
        self._source = source
        if best is not None:
            self.best = best

    @cached_property
    def best(self) -> Labels:
        source = self._source
        if not isinstance(source, Potentials):
            return source.best
        return best_labels(source)

    @cached_property
    def posterior(self) -> Any:
        source = self._source
        return posterior(source) if isinstance(source, Potentials) else source

    @cached_property
    def label_ids(self) -> List[Labels]:
        """Label ids of the tokens of each Doc (len(doc),), -1 at white space."""
        return self.of_tokens(self.best, -1)

    def confidences(self) -> Floats:
        """Probability of the label of each word (N,): p(y_t = its label | x), exact under the
        model. RAISES ValueError [HS105]: nothing is known of that."""
        nodes: Floats = self.posterior.nodes
        return nodes[np.arange(len(self.best)), self.best]

    def marginals(self) -> List[Floats32]:
        """Probabilities p(y_t = y | x) of the tokens of each Doc (len(doc), L); 0 at white space."""
        return self.of_tokens(self.posterior.nodes.astype(np.float32))

    def of_tokens(self, of_words: NDArray[np.generic], absent: float = 0) -> List[NDArray[Any]]:
        """Values of words cut by Doc, on its tokens: `absent` at white space. of_words (N, ...)."""
        return on_tokens(of_words, self.docs, absent)
