"""A batch of docs as a bidirectional tagger decides them: what each decision knew, and how it chose."""

from functools import cached_property
from typing import Optional, Sequence

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Mask
from ..components.bidirectional_tagger import HoseqBidirectionalTagger
from ..components.strategies import GREEDY
from ..decoders.bidirectional.easiest_first import decision_order, decode_easiest_first
from ..decoders.bidirectional.local import OFFSETS, contexts_of, edge_contexts, log_probabilities
from ..errors import Errors
from ..features.sequences import words_of
from ..layers.scorer import scorer_of
from .reading import Words


class Decisions(Words):
    """pipe: with the strategy easiest_first or easiest_last. docs: what the component has set on them constrains
    nothing.

    labels (N,): ids. names: of labels, by id. turns (N,): when
    each word was decided, 1 = first of its sentence. visible (N,): which neighbours were decided by then, a bit for
    each slot; contexts (N, 2k): their labels (`decoders/bidirectional/local.py`).
    RAISES ValueError [HS142]: another strategy.
    """

    def __init__(self, pipe: HoseqBidirectionalTagger, docs: Sequence[Doc]) -> None:
        strategy, order = pipe.cfg["strategy"], scorer_of(pipe.model).order
        if strategy not in GREEDY:
            raise ValueError(Errors.HS142.format(name=pipe.name, strategy=strategy))
        super().__init__(docs, words_of(list(docs)))
        self.pipe, self.names, self.order = pipe, list(pipe.labels), order
        self.local = pipe.model.predict(self.words)
        self.allowed: Optional[Mask] = pipe.permitted(self.words)
        hardest = strategy == "easiest_last"
        path = decode_easiest_first(self.local, self.lengths, order, allowed=self.allowed, hardest=hardest)
        self.labels: Ints = path.labels.astype(np.intp)
        self.turns = decision_order(path, hardest=hardest)
        self.visible, _ = edge_contexts(self.lengths, order, len(self.names))
        self.contexts = contexts_of(self.labels, self.lengths, order, len(self.names))
        inner = self.contexts < len(self.names)
        for slot, offset in enumerate(OFFSETS[order]):
            words = np.flatnonzero(inner[:, slot])
            earlier = self.turns[words + offset] < self.turns[words]
            self.visible[words[earlier]] |= 1 << slot

    @cached_property
    def log_probabilities(self) -> Floats:
        """log p(y | o, the neighbours decided before) of each word at its turn (N, L)."""
        return self.at(np.arange(len(self.labels)), self.visible, self.contexts)

    def at(self, words: Ints, visible: Ints, contexts: Ints) -> Floats:
        """The same of some words (n,) with other neighbours: visible (n,), contexts (n, 2k). RETURNS (n, L)."""
        scores = self.local(words, visible, np.arange(len(words)), contexts)
        return log_probabilities(scores, words, self.allowed)
