"""Scores of local classifiers for a batch, in any context: what bidirectional inference asks again and again."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from ..decoders.local import LocalScores, known_slots, log_probabilities
from ..errors import Errors
from ..features.index import ExactIndex
from ..features.keys import Keys
from ..features.label_templates import LabelTemplate, label_keys
from .local_features import WordFeatures
from .local_training import SparseRows, group_starts

MOST_OWN_ROWS = 500_000  # scores of own words kept during a batch, one row a word type and classifier

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

    weights: of all classifiers. features: of the words. indexes: one a group. templates, slots, masks, dense: of the
    label templates (`dense_rows`). values: of the labels in keys.
    """

    def __init__(
        self,
        weights: StackedWeights,
        features: WordFeatures,
        indexes: List[ExactIndex],
        templates: List[LabelTemplate],
        slots: List[List[int]],
        masks: List[int],
        dense: "List[Optional[NDArray[np.int32]]]",
        values: Keys,
    ) -> None:
        self.n_labels, self.n_tokens = weights.table.shape[1], features.rows.shape[1]
        self._weights, self._features, self._indexes = weights, features, indexes
        self._templates, self._slots, self._masks = templates, slots, masks
        self._dense, self._values = dense, values
        own = set(features.own)
        self._own_features = [row for k, row in enumerate(features.rows) if k in own]
        self._other_features = [row for k, row in enumerate(features.rows) if k not in own]
        self._n_masks = len(weights.base)
        self._place = np.full(self._n_masks * int(features.types.max(initial=-1) + 1), -1, np.int32)
        self._own = np.zeros((0, self.n_labels), np.float32)
        self._n_own = 0

    def __call__(self, tokens: Ints, visible: Ints, owners: Ints, contexts: Ints) -> NDArray[Any]:
        """As the protocol says. RAISES ValueError [HS093]: a classifier that was not trained."""
        table, row_of, base = self._weights
        missing = base[visible, 0] < 0
        if missing.any():
            raise ValueError(Errors.HS093.format(missing=sorted(set(visible[missing].tolist()))))
        scores = self._of_own_words(tokens, visible)
        self._add_rows(scores, self._other_features, tokens, visible)
        if not np.array_equal(owners, np.arange(len(tokens))):
            scores = scores[owners]
        mask, own = visible[owners], tokens[owners]
        buffer = np.empty_like(scores)
        for j, needed in enumerate(self._masks):
            at = np.flatnonzero(mask & needed == needed)
            if not len(at):
                continue
            found = row_of[base[mask[at], j + 1] + self._label_rows(j, own[at], contexts[at])]
            used = np.flatnonzero(found)
            if 2 * len(used) < len(scores):
                scores[at[used]] += table[found[used]]
            else:  # row 0 is zero: adding it where there is nothing is cheaper than picking rows
                everywhere = np.zeros(len(scores), np.int32)
                everywhere[at] = found
                np.take(table, everywhere, axis=0, out=buffer, mode="clip")
                scores += buffer
        return scores

    def _label_rows(self, j: int, tokens: Ints, contexts: Ints) -> NDArray[np.int32]:
        """Rows of label template j in its group, at tokens (n,) with labels in the slots (n, 2k)."""
        template, slots, dense = self._templates[j], self._slots[j], self._dense[j]
        if dense is not None:
            return dense[tuple(contexts[:, slot] for slot in slots)]
        labels = [self._values[contexts[:, slot]] for slot in slots]
        return self._indexes[j + 1].lookup(label_keys(template, self._features.words[:, tokens], labels))

    def _of_own_words(self, tokens: Ints, visible: Ints) -> NDArray[np.float32]:
        """Scores from the token's own word alone: computed once for each word type and classifier. RETURNS (Q, L)."""
        asked = self._features.types[tokens] * self._n_masks + visible
        missing = np.flatnonzero(self._place[asked] < 0)
        if len(missing):
            distinct, first = np.unique(asked[missing], return_index=True)
            if self._n_own + len(distinct) > MOST_OWN_ROWS:
                return self._add_rows(None, self._own_features, tokens, visible)
            at = missing[first]
            new = self._add_rows(None, self._own_features, tokens[at], visible[at])
            self._place[distinct] = self._n_own + np.arange(len(distinct))
            if self._n_own + len(new) > len(self._own):  # grow by doubling
                grown = np.empty((max(2 * len(self._own), self._n_own + len(new)), self.n_labels), np.float32)
                grown[: self._n_own] = self._own[: self._n_own]
                self._own = grown
            self._own[self._n_own : self._n_own + len(new)] = new
            self._n_own += len(new)
        return self._own[self._place[asked]]

    def _add_rows(
        self, scores: Optional[NDArray[np.float32]], features: List[NDArray[np.int32]], tokens: Ints, visible: Ints
    ) -> NDArray[np.float32]:
        """Add the weights of some features, (N,) rows each, to scores (Q, L), of 0 if there are none yet."""
        table, row_of, base = self._weights
        scores = np.zeros((len(tokens), self.n_labels), np.float32) if scores is None else scores
        buffer = np.empty_like(scores)
        start = base[visible, 0]
        for feature in features:
            np.take(table, row_of[start + feature[tokens]], axis=0, out=buffer, mode="clip")
            scores += buffer
        return scores
