"""Scores of local classifiers for a batch, in any context, which bidirectional inference queries
again and again.

The score of a word type at an offset, under one classifier, is cached from batch to batch: the sum
of the weights of all templates about that word alone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...arrays import Floats32, Ints, Rows
from ...decoders.bidirectional.local import LocalScores, known_slots, log_probabilities
from ...features.type_cache import TypeCache
from ...learning.used_rows import UsedRows
from ..sums import add_rows
from .features import LocalFeatures

LOCAL_SCORE_BYTES = 1 << 26


class StackedWeights(NamedTuple):
    """All classifiers in one table, without rows of zeros: so queries of different classifiers are
    answered together.

    table (R, L) float32: row 0 is zero. rows (masks, F + 1): row in the table of each feature; 0
    where a classifier has no weights for it.
    """

    table: Floats32
    rows: Rows

    @classmethod
    def of(cls, weights: dict[int, UsedRows]) -> "StackedWeights":
        """weights (F, L): of each classifier, by its mask."""
        n_features, n_labels = weights[0].shape
        # row 0 for all features without weights, then the rows in use of one classifier after another
        tables = [np.zeros((1, n_labels), np.float32), *(used.values for used in weights.values())]
        rows = np.zeros((len(weights), n_features + 1), np.int32)
        n_rows = 1
        for visible, used in weights.items():
            rows[visible, used.rows] = np.arange(n_rows, n_rows + len(used.rows))
            n_rows += len(used.rows)
        return cls(np.concatenate(tables), rows)

    def sums(self, visible: Ints, features: Rows) -> Floats32:
        """Sums of the weights of some features (K, n). visible (n,): under which classifiers.
        RETURNS (n, L)."""
        places = visible * self.rows.shape[1] + features
        return add_rows(self.table, self.rows.reshape(-1).take(places))


class BatchScores:
    """`decoders.local.LocalScores` of one batch.

    docs: the words. known: what the weights save of their features.
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        features: LocalFeatures,
        weights: StackedWeights,
        known: dict[str, Any],
    ) -> None:
        extractor = features.extractor
        self._features = features
        self._weights = weights
        self._index = features.index(known["keys"])
        self._values = known["values"]
        self._columns = columns = extractor.columns(docs)
        self.n_labels = weights.table.shape[1]
        self.n_tokens = columns.n_tokens
        # word type, place and classifier as one number, here for classifier 0: (places, N)
        n_places = len(features.places)
        at = columns.positions + np.array([*features.places], np.intp)[:, None]
        types = columns.types.astype(np.intp).take(at, mode="clip")
        self._codes = (types * n_places + np.arange(n_places)[:, None]) * len(weights.rows)
        others = features.other_templates
        chosen = [*others, *features.word_parts]
        keys = extractor.keys_between(columns, 0, columns.n_tokens, chosen)
        self._rows = self._index.lookup(keys[: len(others)])
        self._words = keys[len(others) :]

    def __call__(self, tokens: Ints, visible: Ints, owners: Ints, contexts: Ints) -> NDArray[Any]:
        """As the protocol says."""
        scores = self._type_scores(self._codes.take(tokens, axis=1) + visible)
        scores += self._weights.sums(visible, self._rows.take(tokens, axis=1))
        # queries of one token under one classifier share the part that no label changes
        if not np.array_equal(owners, np.arange(len(tokens))):
            scores = scores[owners]
            tokens = tokens[owners]
            visible = visible[owners]
        # Most tokens of a first round see no label. For the others, keys are made of all slots that
        # one of them sees: a classifier has no weights for labels that it does not see.
        at = visible.nonzero()[0]
        seen = visible.take(at)
        words = self._words.take(tokens.take(at), axis=1)
        slots = int(np.bitwise_or.reduce(seen))
        keys = self._features.label_keys(words, contexts.take(at, axis=0), self._values, slots)
        scores[at] += self._weights.sums(seen, self._index.lookup(keys))
        return scores

    def _type_scores(self, codes: Ints) -> Floats32:
        """Sums over the templates about one word. codes (places, n): of word type, place and
        classifier. RETURNS (n, L).

        They are cached. Key: the code, under these weights and this numbering of word types. Bound:
        `LOCAL_SCORE_BYTES`; beyond it all are forgotten, as at the end of a memory zone.
        """

        def empty() -> TypeCache:
            return TypeCache(self.n_labels, np.float32, LOCAL_SCORE_BYTES // (4 * self.n_labels))

        numbering = self._columns.words.numbering
        cache = self._features.type_scores.of((self._weights, numbering), empty)
        rows, sums = cache.of(codes, lambda new: self._new_type_scores(codes.reshape(-1)[new]))
        return add_rows(sums, rows)

    def _new_type_scores(self, codes: Ints) -> Floats32:
        """codes (n,): distinct. RETURNS (n, L)."""
        words, visible = np.divmod(codes, len(self._weights.rows))
        types, place = np.divmod(words, max(1, len(self._features.places)))
        sums = np.zeros((len(codes), self.n_labels), np.float32)
        for j, templates in enumerate(self._features.places.values()):
            at = np.flatnonzero(place == j)
            keys = self._features.extractor.type_keys(self._columns, templates, types[at])
            sums[at] = self._weights.sums(visible[at], self._index.lookup(keys))
        return sums


def mean_loss(local: LocalScores, masks: Sequence[int], gold: Ints, contexts: Ints) -> float:
    """-log p(gold label | gold labels of the neighbours), the sum over tokens and the mean over
    classifiers.

    gold (N,), contexts (N, 2k): label ids, -1 = not known; a classifier that would see such a label
    leaves it out.
    """
    known = known_slots(contexts)
    loss = 0.0
    for visible in masks:
        sees_known = visible & ~known == 0  # (N,)
        at = np.flatnonzero((gold >= 0) & sees_known)
        scores = local(at, np.full(len(at), visible), np.arange(len(at)), contexts[at])
        loss -= float(log_probabilities(scores, at, None)[np.arange(len(at)), gold[at]].sum())
    return loss / len(masks)
