"""What a component made of some Docs: its labels, and how sure it is of them."""

from functools import cached_property
from typing import Any, List, Optional

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Floats32, Labels
from ..decoders.answers import Asked
from ..errors import Errors
from ..features.sequences import WordDocs, on_tokens
from .targets.target import Target

LABELS = Asked()  # nothing else


def wants_labels_alone(asked: Asked) -> bool:
    return not asked.nodes and asked.continues is None and asked.probable is None


class LabelsAlone:
    """The answers of who knows the best labels (N,), and no p(y | x). name: of the component.
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
    """What a component made of some Docs.

    docs: their words, without white space: N in all. target: where the labels stand. labels: names
    of all labels, by id; of chunks, their tags. answers: p(y | x) of all labellings of these words;
    of a `hoseq_bidirectional_tagger`, what it decided. best (N,): label ids of the words, end to
    end; those of `answers`, or of another decoder.
    """

    def __init__(
        self,
        docs: WordDocs,
        target: Target,
        labels: List[str],
        answers: Any,
        best: Optional[Labels] = None,
    ) -> None:
        self.docs = docs
        self.target = target
        self.labels = labels
        self.answers = answers
        if best is not None:
            self.best = best

    @cached_property
    def best(self) -> Labels:
        return self.answers.best

    @cached_property
    def label_ids(self) -> List[Labels]:
        """Of each Doc, the label ids of its tokens (len(doc),), -1 at white space."""
        return on_tokens(self.best, self.docs, -1)

    def confidences(self) -> Floats:
        """How probable the label of each word is (N,): p(y_t = its label | x), exact under the
        model. RAISES ValueError [HS105]: nothing is known of that."""
        nodes: Floats = self.answers.nodes
        return nodes[np.arange(len(self.best)), self.best]

    def marginals(self) -> List[Floats32]:
        """Of each Doc, p(y_t = y | x) of its tokens (len(doc), L); 0 at white space."""
        return on_tokens(self.answers.nodes.astype(np.float32), self.docs, 0)

    def of_tokens(self, of_words: NDArray[np.generic], absent: float = 0) -> List[NDArray[Any]]:
        """What belongs to each Doc, by token: `absent` at white space. of_words (N, ...)."""
        return on_tokens(of_words, self.docs, absent)
