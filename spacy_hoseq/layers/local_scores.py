"""Scores of local classifiers for a batch, in any context: what bidirectional inference asks again and again."""

from typing import Any, Dict, List, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

from ..decoders.local import LocalScores, known_slots, log_probabilities
from ..errors import Errors
from ..features.index import ExactIndex
from ..features.keys import Keys
from ..features.label_templates import LabelTemplate, label_keys
from .local_features import WordFeatures
from .local_training import SparseRows, group_starts

Ints = NDArray[np.intp]


class StackedWeights(NamedTuple):
    """All classifiers in one table, without rows of zeros, so that tokens that ask different ones are done together.

    table (R, L) float32: row 0 is zero. row_of: row in the table of each row of each classifier, these end to end.
    base (masks, groups): where in `row_of` a group of a classifier begins; -1 where it has none.
    """

    table: NDArray[np.float32]
    row_of: NDArray[np.int32]
    base: Ints


def stack_weights(
    weights: Dict[int, SparseRows], groups: Dict[int, List[int]], sizes: Sequence[int], n_masks: int, n_labels: int
) -> StackedWeights:
    """weights, groups: of each classifier, by its mask. sizes: features of each group."""
    base = np.full((n_masks, len(sizes)), -1, np.intp)
    tables, row_of, n_rows, n_before = [np.zeros((1, n_labels), np.float32)], [np.zeros(0, np.int32)], 1, 0
    for visible, (rows, values) in weights.items():
        starts = group_starts([sizes[g] for g in groups[visible]])
        base[visible, groups[visible]] = n_before + starts[:-1]
        places = np.zeros(starts[-1], np.int32)
        places[rows] = n_rows + np.arange(len(rows))
        tables.append(values.astype(np.float32))
        row_of.append(places)
        n_rows, n_before = n_rows + len(rows), n_before + len(places)
    return StackedWeights(np.concatenate(tables), np.concatenate(row_of), base)


def mean_loss(local: LocalScores, masks: Sequence[int], gold: Ints, contexts: Ints) -> float:
    """-log p(gold label | gold labels of the neighbours), summed over tokens, mean of the classifiers.

    gold (N,), contexts (N, 2k): label ids, -1 = not known; a classifier that would see such a label leaves it out.
    """
    known, loss = known_slots(contexts), 0.0
    for visible in masks:
        at = np.flatnonzero((gold >= 0) & (visible & ~known == 0))
        found = local(at, np.full(len(at), visible), np.arange(len(at)), contexts[at])
        loss -= float(log_probabilities(found, at, None)[np.arange(len(at)), gold[at]].sum())
    return loss / len(masks)


class BatchScores:
    """`decoders.local.LocalScores` of one batch.

    weights: of all classifiers. features: of the words. indexes: one a group. templates, slots, masks: of the label
    templates. values: of the labels in keys.
    """

    def __init__(
        self,
        weights: StackedWeights,
        features: WordFeatures,
        indexes: List[ExactIndex],
        templates: List[LabelTemplate],
        slots: List[List[int]],
        masks: List[int],
        values: Keys,
    ) -> None:
        self.n_labels, self.n_tokens = weights.table.shape[1], features.rows.shape[1]
        self._weights, self._features, self._indexes = weights, features, indexes
        self._templates, self._slots, self._masks, self._values = templates, slots, masks, values

    def __call__(self, tokens: Ints, visible: Ints, owners: Ints, contexts: Ints) -> NDArray[Any]:
        """As the protocol says. RAISES ValueError [HS093]: a classifier that was not trained."""
        table, row_of, base = self._weights
        missing = base[visible, 0] < 0
        if missing.any():
            raise ValueError(Errors.HS093.format(missing=sorted(set(visible[missing].tolist()))))
        scores = np.zeros((len(tokens), self.n_labels), np.float32)
        buffer = np.empty_like(scores)
        start = base[visible, 0]
        for row in self._features.rows:
            at = row_of[start + row[tokens]]
            np.take(table, at, axis=0, out=buffer, mode="clip")
            scores += buffer
        if not np.array_equal(owners, np.arange(len(tokens))):
            scores = scores[owners]
        mask, own = visible[owners], tokens[owners]
        for j, (template, slots, needed) in enumerate(zip(self._templates, self._slots, self._masks, strict=True)):
            at = np.flatnonzero(mask & needed == needed)
            if not len(at):
                continue
            labels = [self._values[contexts[at, slot]] for slot in slots]
            keys = label_keys(template, self._features.words[:, own[at]], labels)
            rows = self._indexes[j + 1].lookup(keys)
            found = row_of[base[mask[at], j + 1] + rows]
            used = found > 0
            scores[at[used]] += table[found[used]]
        return scores
