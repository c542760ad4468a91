"""Emission scores from sparse features: scores[n] = sum over templates k of the weight row of
feature k at token n."""

import warnings
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats32, Ints, Keys, Labels
from ..caches import IdentityCache
from ..errors import Warnings, wrong_value
from ..features.attributes import is_read_at_once
from ..features.extract import KEY_TOKENS, Columns, FeatureExtractor
from ..features.index import KeyCounter, check_min_count
from ..features.keys import bits_of
from ..features.templates import parse_templates
from ..learning.parameter import Parameter
from ..learning.used_rows import UsedRows
from .candidates import CandidateLists, NarrowTables
from .scorer import (
    AnyFeatures,
    Emissions,
    FlatScores,
    Scorer,
    TemplateFeature,
    TrainingTexts,
    no_backprop,
    scoring_layer,
    template_features_with,
)
from .sparse_features import Features
from .sums import add_rows, dropout_scale, sum_rows, table_gradient
from .type_scores import TypeScores, UsedFeatures
from .weights import WeightsShim


def SparseLinear(
    templates: list[str],
    min_count: int = 1,
    hash_rows: int | None = None,
    nO: int | None = None,
) -> Emissions:
    """Linear emission scores over binary features.

    templates: feature templates (see features/templates.py).
    min_count (int): features seen fewer times in the training data have no weight.
    hash_rows: always None. Configs of version 1.0 have it.
    nO (int): number of labels; found in initialization.
    RAISES ValueError [HS010, HS013, HS027]: bad templates; [HS027]: impossible `min_count`, or
    `hash_rows` that are set.
    """
    if hash_rows is not None:
        raise wrong_value(
            "hash_rows",
            hash_rows,
            "null: features are no longer hashed, so train the model again without",
        )
    check_min_count(min_count)
    features = Features(parse_templates(templates))
    names = sorted(map(str, features.extractor.templates))
    return scoring_layer(
        "sparse_linear",
        SparseScorer,
        nO=nO,
        attrs={
            "features": features,
            "type_scores": TypeScores(features),
            "narrow_tables": IdentityCache(),
            "min_count": min_count,
            "dropout_rate": 0.0,
            "tables": features.extractor.tables,
            "reads_annotation": not features.extractor.is_lexical,
        },
        shims=[WeightsShim("sparse_linear", {"templates": names})],
    )


class SparseScorer(Scorer):
    """Scores of `SparseLinear`."""

    @property
    def features(self) -> Features:
        return self.model.attrs["features"]

    @property
    def type_scores(self) -> TypeScores:
        return self.model.attrs["type_scores"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.extractor

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        """RAISES ValueError [HS052]: no weights yet. WARNS [HW005]: no word has the
        annotation that templates read."""
        if is_train and any(map(len, docs)):
            return self._train(docs)
        return self._predict(docs)

    def _predict(self, docs: list[Doc]) -> FlatScores:
        """Scores from finished weights, in blocks of tokens.

        A score is the sum over places, then over the other templates, in this order: it is the same
        number in whatever batch.
        """
        extractor = self.extractor
        used = self._used()
        table = used.table
        columns = extractor.columns(docs)
        scores = np.empty((columns.n_tokens, table.shape[1]), table.dtype)  # (N, L)
        if columns.n_tokens:
            self._warn_of_absent(columns)
        for start in range(0, columns.n_tokens, KEY_TOKENS):
            stop = start + KEY_TOKENS
            terms = [self.type_scores.scores(used, columns, start, stop)]
            if extractor.of_more:
                keys = extractor.keys_between(columns, start, stop, extractor.of_more)
                terms.append((table, used.rows(keys)))
            sum_rows(terms, scores[start:stop])
        return FlatScores(scores, columns.lengths, no_backprop)

    def _train(self, docs: list[Doc]) -> FlatScores:
        """Scores from the weights that learn, with feature dropout, and the way back to them."""
        shim = self.shim
        self.type_scores.forget()
        table = shim.values("table", is_train=True)
        rows, lengths = self.features.training_rows(shim.extra, docs)  # (K, N)
        nothing = self.features.index(shim.extra).n_rows  # the row of no feature: the largest
        drop = self.model.attrs["dropout_rate"]
        if drop:
            # each feature at each token is left out with probability `drop`: its row becomes
            # `nothing`, and the sum of the others is scaled up to make up for it
            is_left_out = shim.rng.random(rows.shape, dtype=np.float32) < drop
            np.maximum(rows, is_left_out * np.int32(nothing), out=rows)
        scale = dropout_scale(drop)
        scores = add_rows(table, rows)
        scores *= scale

        def backprop(d_scores: Floats32) -> None:
            shim.add_gradient("table", table_gradient(rows, d_scores, scale, nothing))

        return FlatScores(scores, lengths, backprop)

    def fresh_scores(self, docs: list[Doc]) -> AnyFloats:
        """The scores that predict (N, L), without the cache: of words that are queried once."""
        columns = self.extractor.columns(docs)
        self._warn_of_absent(columns)
        return self._used().scores(self.extractor.keys_between(columns, 0, columns.n_tokens))

    def best_of(self, docs: list[Doc], lists: CandidateLists, list_of: Ints) -> Labels:
        """The label of each word with the largest score (N,), of those on its list. list_of (N,): the
        number of the list, or -1 for all labels."""
        extractor = self.extractor
        columns = extractor.columns(docs)
        self._warn_of_absent(columns)
        weights = self.shim.used_rows("table")

        def narrow() -> NarrowTables:
            keys = self.shim.extra["keys"]
            return NarrowTables(lists, keys[weights.rows], weights.made_table(), bits_of(keys))

        tables = self.model.attrs["narrow_tables"].of((weights, lists), narrow)
        best = tables.best(list_of, lambda words: extractor.keys_at(columns, words))
        unlisted = np.flatnonzero(list_of < 0)
        for start in range(0, len(unlisted), KEY_TOKENS):
            words = unlisted[start : start + KEY_TOKENS]
            scores = self._used().scores(extractor.keys_at(columns, words))
            best[words] = scores.argmax(axis=1)
        return best

    @property
    def sees_sentences_alone(self) -> bool:
        return all(map(is_read_at_once, self.extractor.contextual))

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> AnyFeatures:
        extractor = self.extractor
        columns = extractor.columns(docs)
        used = self._used()
        table = used.table
        for word in words:
            keys = extractor.keys_between(columns, word, word + 1)[:, 0]  # (K,)
            rows = used.rows(keys)
            weights = add_rows(table, rows[None]).astype(np.float64)  # (K, L)
            # (the last row is that of no feature)
            for k in np.flatnonzero((rows < len(table) - 1) & weights.any(axis=1)).tolist():
                yield TemplateFeature(extractor.templates[k].parts, word, weights[k], int(keys[k]))

    def features_with(self, docs: list[Doc], keys: Keys) -> AnyFeatures:
        bits = bits_of(self.shim.extra.get("keys", keys))
        return template_features_with(self.extractor, docs, keys, bits)

    def define(self, texts: TrainingTexts) -> None:
        if self.extractor.is_lexical:
            self.index(texts.docs())
        else:
            self.index(*texts.annotated())

    def index(self, *versions: Iterable[Sequence[Doc]]) -> None:
        """Number the features of the training texts, batch by batch.

        versions: the texts, perhaps with several annotations; features frequent enough in one of
            them have a row.
        """
        frequent: list[Keys] = []
        for batches in versions:
            counter = KeyCounter()
            for docs in batches:
                for keys in self.extractor.key_blocks(self.extractor.columns(docs)):
                    counter.add(keys)
            frequent.append(counter.frequent(self.model.attrs["min_count"]))
        self.shim.extra = {"keys": reduce(np.union1d, frequent)}

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Set the weights of all features to zero. If `index` was not called before, X is indexed."""
        super().initialize(X, Y)
        if X is not None and not self.shim.extra:
            self.index([X])
        if self.shim.extra and self.model.has_dim("nO"):
            n_rows = self.features.index(self.shim.extra).n_rows
            # one more row, the last, stands for "no feature"
            no_rows = np.zeros((0, self.model.get_dim("nO")), np.float32)
            self.shim.set(Parameter("table", UsedRows.of(no_rows, n_rows=n_rows + 1)))

    def prepare(self) -> None:
        if "table" in self.shim.parameters:
            self._used()

    def forget_words(self) -> None:
        self.extractor.forget_words()
        self.type_scores.forget_words()

    def _used(self) -> UsedFeatures:
        """Features that predict."""
        return self.type_scores.used(self.shim.extra, self.shim.used_rows("table"))

    def _warn_of_absent(self, columns: Columns) -> None:
        """WARNS [HW005]: no word has the annotation that templates read."""
        for name in columns.absent(self.extractor.contextual):
            # earlier components set these on every word; others may be absent from any text
            if name in ("tag", "pos", "lemma"):
                warnings.warn(Warnings.HW005.format(name=name), stacklevel=3)
