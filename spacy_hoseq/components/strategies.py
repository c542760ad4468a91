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
from ..features.sequences import by_doc, sequence_lengths

GREEDY = ("easiest_first", "easiest_last")


class Decided(NamedTuple):
    """Predictions for docs. labels: (len(doc),) int32 each. order, probabilities: when each token was decided, and how
    probable its label was then, if asked for."""

    labels: List[NDArray[np.int32]]
    order: Optional[List[NDArray[np.int32]]]
    probabilities: Optional[List[Floats32]]


def check_strategy(strategy: str, order: int, prune: float, *, with_order: bool) -> None:
    """RAISES ValueError [HS027]: `prune`; [HS092]: no such strategy; [HS096]: it has no order of decisions."""
    check_prune(prune, strategy)
    classifiers_of(strategy, order, prune)
    if with_order and strategy not in GREEDY:
        raise ValueError(Errors.HS096.format(strategy=strategy))


def nothing_decided(n_docs: int, *, with_order: bool) -> Decided:
    """Predictions for docs that are all empty."""
    labels = [np.zeros(0, np.int32) for _ in range(n_docs)]
    probabilities = [np.zeros(0, np.float32) for _ in range(n_docs)]
    return Decided(labels, labels if with_order else None, probabilities if with_order else None)


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
    """Labels of docs that are not all empty. with_order (bool): keep the order of decisions, of a greedy strategy."""
    lengths = sequence_lengths(docs)
    if strategy not in GREEDY:
        paths = decode_decompositions(local, lengths, order, strategy, prune=prune, allowed=allowed)
        return Decided(by_doc(paths.labels, docs), None, None)
    hardest = strategy == "easiest_last"
    path = decode_easiest_first(local, lengths, order, allowed=allowed, hardest=hardest)
    labels = by_doc(path.labels, docs)
    if not with_order:
        return Decided(labels, None, None)
    probabilities = np.exp(path.log_probabilities).astype(np.float32)
    decided = decision_order(path, hardest=hardest)
    return Decided(labels, by_doc(decided, docs), by_doc(probabilities, docs))
