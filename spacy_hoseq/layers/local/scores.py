"""Scores of local classifiers for a batch, in any context: what bidirectional inference asks again
and again."""

import itertools
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Ints, Keys, Rows
from ...decoders.bidirectional.local import LocalScores, known_slots, log_probabilities
from ...errors import Errors
from ...features.index import ExactIndex
from .features import LabelGroup, WordFeatures
from .learner import SparseRows
from .stacked_scores import StackedWeights, sum_stacked


def stack_weights(
    weights: Dict[int, SparseRows],
    groups: Dict[int, List[int]],
    sizes: Sequence[int],
    n_masks: int,
    n_labels: int,
) -> StackedWeights:
    """weights, groups: of each classifier, by its mask. sizes: features of each group."""
    starts = np.cumsum([0, sizes[0] + 1, *sizes[1:]])
    table = np.empty(
        (1 + sum(len(own_rows) for own_rows, _ in weights.values()), n_labels), np.float32
    )
    table[0] = 0
    rows = np.zeros((n_masks, starts[-1] + 1), np.int32)
    n_rows = 1
    for visible, (own_rows, values) in weights.items():
        features = np.concatenate([starts[g] + np.arange(sizes[g] + 1) for g in groups[visible]])
        rows[visible, features[own_rows]] = n_rows + np.arange(len(own_rows))
        table[n_rows : n_rows + len(own_rows)] = values
        n_rows += len(own_rows)
    trained = np.isin(np.arange(n_masks), list(weights))
    return StackedWeights(table, rows, int(starts[1]), trained)


def mean_loss(local: LocalScores, masks: Sequence[int], gold: Ints, contexts: Ints) -> float:
    """-log p(gold label | gold labels of the neighbours), summed over tokens, mean of the
    classifiers.

    gold (N,), contexts (N, 2k): label ids, -1 = not known; a classifier that would see such a label
    leaves it out.
    """
    known = known_slots(contexts)
    loss = 0.0
    for visible in masks:
        at = np.flatnonzero((gold >= 0) & (visible & ~known == 0))
        scores = local(at, np.full(len(at), visible), np.arange(len(at)), contexts[at])
        loss -= float(log_probabilities(scores, at, None)[np.arange(len(at)), gold[at]].sum())
    return loss / len(masks)


class BatchScores:
    """`decoders.local.LocalScores` of one batch.

    weights: of all classifiers. features: of the words. index: of the features of label templates.
    groups: the label templates. values: of the labels in keys.
    """

    def __init__(
        self,
        weights: StackedWeights,
        features: WordFeatures,
        index: ExactIndex,
        groups: List[LabelGroup],
        values: Keys,
    ) -> None:
        self.n_labels = weights.table.shape[1]
        self.n_tokens = features.codes.shape[1]
        self._weights = weights
        self._features = features
        self._index = index
        self._groups = groups
        self._values = values

    def __call__(self, tokens: Ints, visible: Ints, owners: Ints, contexts: Ints) -> NDArray[Any]:
        """As the protocol says. RAISES ValueError [HS093]: a classifier that was not trained."""
        if not self._weights.trained[visible].all():
            missing = visible[~self._weights.trained[visible]]
            raise ValueError(Errors.HS093.format(missing=sorted(set(missing.tolist()))))
        table = self._weights.table
        n_features = self._weights.rows.shape[1]
        rows_of = self._weights.rows.reshape(-1)
        type_scores, codes, rows, _ = self._features
        scores = sum_stacked(*type_scores.rows(codes.take(tokens, axis=1), visible))
        first = visible * n_features  # where the rows of the classifier begin
        if len(rows):
            scores += sum_stacked(table, rows_of.take(first + rows.take(tokens, axis=1)))
        if not np.array_equal(owners, np.arange(len(tokens))):
            scores = scores[owners]
            tokens = tokens[owners]
            visible = visible[owners]
            first = first[owners]
        for at, features in self._label_features(tokens, visible, contexts):
            more = sum_stacked(table, rows_of.take(first[at] + self._weights.labels + features))
            if len(at) == len(scores):
                scores += more
            else:
                scores[at] += more
        return scores

    def _label_features(
        self, tokens: Ints, visible: Ints, contexts: Ints
    ) -> List[Tuple[Ints, Rows]]:
        """Of each group of label templates: contexts whose classifier uses it (n,), and its
        features there (J, n)."""
        words = self._features.words
        used = []
        keys = []
        for group in self._groups:
            at = (visible & group.mask == group.mask).nonzero()[0]
            if len(at):
                labels = [self._values.take(contexts[at, slot]) for slot in group.slots]
                used.append(at)
                keys.append(
                    group.keys(
                        (words if group.words else words[:0]).take(tokens[at], axis=1), labels
                    )
                )
        if not used:
            return []
        features = self._index.lookup(np.concatenate(keys, axis=None))
        ends = list(itertools.accumulate(part.size for part in keys))
        parts = [features[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return [(at, part.reshape(-1, len(at))) for at, part in zip(used, parts, strict=True)]
