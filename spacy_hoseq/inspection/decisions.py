"""A batch of docs as a bidirectional tagger decides them: what each decision knew, and how it
chose."""

from functools import cached_property
from typing import Any, Optional, Sequence

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Mask
from ..decoders.bidirectional import OFFSETS, contexts_of, edge_contexts, log_probabilities
from ..errors import Errors
from ..layers.scorer import scorer_of
from .reading import ReadTexts, own_component


class Decisions(ReadTexts):
    """pipe: with the strategy easiest_first or easiest_last. texts: what the component has set on
    them constrains nothing.

    turns (N,): when each word was decided, 1 = first of its sentence. visible (N,): which
    neighbours were decided by then, a bit for each slot; contexts (N, 2k): their labels
    (`decoders/bidirectional/local.py`).
    RAISES ValueError [HS140]: a component of another package; [HS142]: another strategy.
    """

    def __init__(self, pipe: Any, texts: Sequence[Doc]) -> None:
        if own_component(pipe).knows != "decisions":
            raise ValueError(Errors.HS142.format(name=pipe.name, strategy=pipe.cfg.get("strategy")))
        super().__init__(pipe, texts, pipe.read(texts, preset=False))
        self.order: int = scorer_of(pipe.model).order
        self.turns = self.posterior.order
        self.local = pipe.model.predict(self.docs)
        self.allowed: Optional[Mask] = pipe.permitted(self.docs)
        n_labels = len(self.labels)
        self.visible, _ = edge_contexts(self.lengths, self.order, n_labels)
        self.contexts = contexts_of(self.best.astype(np.intp), self.lengths, self.order, n_labels)
        inner = self.contexts < n_labels
        for slot, offset in enumerate(OFFSETS[self.order]):
            words = np.flatnonzero(inner[:, slot])
            earlier = self.turns[words + offset] < self.turns[words]
            self.visible[words[earlier]] |= 1 << slot

    @cached_property
    def log_probabilities(self) -> Floats:
        """log p(y | o, the neighbours decided before) of each word at its turn (N, L)."""
        return self.at(np.arange(len(self.best)), self.visible, self.contexts)

    def at(self, words: Ints, visible: Ints, contexts: Ints) -> Floats:
        """The same of some words (n,) with other neighbours: visible (n,), contexts (n, 2k).
        RETURNS (n, L)."""
        scores = self.local(words, visible, np.arange(len(words)), contexts)
        return log_probabilities(scores, words, self.allowed)
