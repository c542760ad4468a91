"""The strategies of bidirectional inference by name, for the docs of a batch."""

from typing import List, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Floats32, Mask
from ..decoders.bidirectional.decompositions import check_prune, classifiers_of, decode_decompositions
from ..decoders.bidirectional.easiest_first import decision_order, decode_easiest_first
from ..decoders.bidirectional.local import LocalScores
from ..errors import Errors
from ..features.sequences import on_tokens, sequence_lengths

GREEDY = ("easiest_first", "easiest_last")


class Decided(NamedTuple):
    """Predictions for docs. labels: (len(doc),) int32 each, -1 at white space. order, probabilities: when each token
    was decided, and how probable its label was then, if asked for; 0 at white space."""

    labels: List[NDArray[np.int32]]
    order: Optional[List[NDArray[np.int32]]]
    probabilities: Optional[List[Floats32]]


def check_strategy(strategy: str, order: int, prune: float, *, with_order: bool) -> None:
    """RAISES ValueError [HS027]: `prune`; [HS092]: no such strategy; [HS096]: it has no order of decisions."""
    check_prune(prune, strategy)
    classifiers_of(strategy, order, prune)
    if with_order and strategy not in GREEDY:
        raise ValueError(Errors.HS096.format(strategy=strategy))


def nothing_decided(docs: Sequence[Doc], *, with_order: bool) -> Decided:
    """Predictions for docs that are all empty."""
    labels, nothing = on_tokens(np.zeros(0, np.int32), docs, -1), np.zeros(0, np.float32)
    if not with_order:
        return Decided(labels, None, None)
    return Decided(labels, on_tokens(nothing.astype(np.int32), docs, 0), on_tokens(nothing, docs, 0))


def infer(
    local: LocalScores,
    docs: Sequence[Doc],
    strategy: str,
    order: int,
    *,
    prune: float,
    allowed: Optional[Mask],
    with_order: bool,
) -> Decided:
    """Labels of docs that are not all empty, without white space. with_order (bool): keep the order of decisions, of a
    greedy strategy."""
    lengths = sequence_lengths(docs)
    if strategy not in GREEDY:
        paths = decode_decompositions(local, lengths, order, strategy, prune=prune, allowed=allowed)
        return Decided(on_tokens(paths.labels, docs, -1), None, None)
    hardest = strategy == "easiest_last"
    path = decode_easiest_first(local, lengths, order, allowed=allowed, hardest=hardest)
    labels = on_tokens(path.labels, docs, -1)
    if not with_order:
        return Decided(labels, None, None)
    probabilities = np.exp(path.log_probabilities).astype(np.float32)
    decided = decision_order(path, hardest=hardest)
    return Decided(labels, on_tokens(decided, docs, 0), on_tokens(probabilities, docs, 0))
