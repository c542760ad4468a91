"""Emission scores from sparse features: scores[n] = sum over templates k of the weight row of
feature k at token n."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import (
    Any,
    NamedTuple,
)

import numpy as np
from spacy.tokens import Doc
from thinc.api import NumpyOps
from thinc.types import Floats2d

from ..arrays import Floats32, Ints, Keys, Lengths, Rows, distinct
from ..caches import IdentityCache
from ..errors import Errors, Warnings
from ..features.attributes import is_read_at_once
from ..features.extract import KEY_TOKENS, Columns, FeatureExtractor
from ..features.index import ExactIndex, GrowingTable, HashedIndex, Index, KeyCounter, SomeRows
from ..features.keys import bits_of
from ..features.sequences import names_and_lengths
from ..features.templates import Template, parse_templates
from ..learning.gradients import Gradient, RowGradient, added_cells, are_few
from ..learning.parameter import Parameter
from ..learning.used_rows import UsedRows
from .scorer import (
    Emissions,
    Feature,
    FlatScores,
    Names,
    Scorer,
    names_fired,
    no_backprop,
    scoring_layer,
)
from .sums import Term, add_rows, sum_rows
from .weights import WeightsShim

SCORE_BYTES = 1 << 23  # of sums of word types that are kept from batch to batch
CACHE_BYTES = 1 << 29  # of feature rows of training texts that are kept between epochs
SET_BY_OTHERS = ("tag", "pos", "lemma")  # without which no word of a text is


def SparseLinear(
    templates: list[str],
    min_count: int = 1,
    hash_rows: int | None = None,
    nO: int | None = None,
) -> Emissions:
    """Linear emission scores over binary features.

    templates: feature templates (see features/templates.py).
    min_count (int): features seen fewer times in the training data have no weight. Not used with
        `hash_rows`.
    hash_rows (int): rows of a hashed table, for streamed corpora; features may share a row. None =
        an exact index of the features seen in training.
    nO (int): number of labels; found in initialization.
    RAISES ValueError [HS010, HS013, HS027]: bad templates; [HS027]: impossible `hash_rows` or
    `min_count`.
    """
    if hash_rows is not None and not 1 <= hash_rows < 2**31 - 1:
        raise ValueError(
            Errors.HS027.format(name="hash_rows", value=hash_rows, expected="1 to 2147483646")
        )
    if min_count < 1:
        raise ValueError(
            Errors.HS027.format(name="min_count", value=min_count, expected="1 or more")
        )
    features = Features(parse_templates(templates))
    names = sorted(map(str, features.extractor.templates))
    return scoring_layer(
        "sparse_linear",
        SparseScorer,
        nO=nO,
        attrs={
            "features": features,
            "min_count": min_count,
            "hash_rows": hash_rows,
            "dropout_rate": 0.0,
            "tables": features.extractor.tables,
            "reads_annotation": not features.extractor.is_lexical,
        },
        shims=[WeightsShim("sparse_linear", {"templates": names})],
    )


class UsedFeatures(NamedTuple):
    """Features with a weight that is not zero, often less than half of all. rows: key -> row of
    `table` (U + 1, L), whose last row is that of no feature."""

    rows: Index
    table: Floats32


class TextRows(dict[bytes, Rows]):
    """Rows (K, n) of the features of texts, by their words and sentence starts. room (int): bytes
    that are left for more."""

    room = CACHE_BYTES


class Features:
    """The extractor, and what is made of texts and of the weights in use.

    `known` is what the weights save of their features ("keys" or "hash_rows").
    """

    def __init__(self, templates: list[Template]) -> None:
        self.extractor = FeatureExtractor(templates)
        self.places = list(self.extractor.of_one_word.values())  # templates about one word
        self._index: IdentityCache[Index] = IdentityCache()
        self._used: IdentityCache[UsedFeatures] = IdentityCache()
        self._type_scores: IdentityCache[GrowingTable] = IdentityCache()
        self._text_rows: IdentityCache[TextRows] = IdentityCache()

    def index(self, known: dict[str, Any]) -> Index:
        """Of all features, to learn with."""

        def make() -> Index:
            if "hash_rows" in known:
                return HashedIndex(known["hash_rows"])
            return ExactIndex(known["keys"], bits_of(known["keys"]))

        return self._index.of((known,), make)

    def used(self, known: dict[str, Any], weights: UsedRows) -> UsedFeatures:
        """Features that predict. weights: finished ones, which never change."""

        def make() -> UsedFeatures:
            rows = weights.rows
            # while weights change, rows of the index of all features take less than another index
            if "hash_rows" in known or self._index.get((known,)) is not None:
                return UsedFeatures(SomeRows(self.index(known), rows), weights.table)
            keys = known["keys"]
            return UsedFeatures(ExactIndex(keys[rows], bits_of(keys)), weights.table)

        return self._used.of((known, weights), make)

    def type_scores(
        self, used: UsedFeatures, columns: Columns, codes: Ints
    ) -> tuple[Floats32, Rows]:
        """Sums of all templates about the word at one place, kept from batch to batch for each
        word type: template by template, so that they are the same numbers whether they are kept or
        made anew. codes (O, n): word type * O + place. RETURNS sums (R, L), and rows of these
        (O, n)."""
        index, table = used
        made_from = (table, columns.words.numbering)

        def begin() -> GrowingTable:
            return GrowingTable(np.zeros((1, table.shape[1]), table.dtype))

        def make(new: Ints) -> Floats32:
            words, place_of = np.divmod(new, len(self.places))
            types = distinct(words)
            number = types.searchsorted(words)
            templates = [k for of_place in self.places for k in of_place]
            rows = index.lookup(self.extractor.type_keys(columns, templates, types))
            sums = np.zeros((len(new), table.shape[1]), table.dtype)
            ends = np.cumsum([*map(len, self.places)])
            for place, of_place in enumerate(np.split(rows, ends[:-1])):
                is_known = np.asarray((of_place < index.n_rows).any(axis=0))
                at = np.flatnonzero((place_of == place) & is_known[number])
                sums[at] = add_rows(table, of_place.take(number[at], axis=1))
            return sums

        kept = self._type_scores.of(made_from, begin)
        rows, sums = kept.of(codes, make)
        if len(kept) * table[:1].nbytes > SCORE_BYTES:
            self.forget_scores()
        return sums, rows

    def forget_scores(self) -> None:
        """Drop sums of word types."""
        self._type_scores.forget()

    def forget_finished(self) -> None:
        """Drop what is made of finished weights: of many labels it is as large as they are."""
        self._used.forget()
        self.forget_scores()

    def training_rows(self, known: dict[str, Any], docs: Sequence[Doc]) -> tuple[Rows, Lengths]:
        """RETURNS (K, N), a copy, and the lengths of the sequences. Texts come back every epoch, and
        are recognised by all that lexical features see: rows are kept as long as there is room."""
        index = self.index(known)
        names, lengths = names_and_lengths(docs)
        if not self.extractor.is_lexical:
            return index.lookup(self.extractor.keys(docs)), lengths
        kept = self._text_rows.of((known,), TextRows)
        new = {name: doc for name, doc in zip(names, docs, strict=True) if name not in kept}
        made: dict[bytes, Rows] = {}
        if new:
            columns = self.extractor.columns([*new.values()])
            rows = np.concatenate([*map(index.lookup, self.extractor.key_blocks(columns))], axis=1)
            ends = np.cumsum([len(doc) for doc in new.values()])
            parts = np.split(rows, ends[:-1], axis=1)
            made = dict(zip(new, map(np.ascontiguousarray, parts), strict=True))
            if rows.nbytes <= kept.room:
                kept.update(made)
                kept.room -= rows.nbytes
        parts = [made[name] if name in made else kept[name] for name in names]
        return np.concatenate(parts, axis=1), lengths


class SparseScorer(Scorer):
    """Of `SparseLinear`."""

    @property
    def features(self) -> Features:
        return self.model.attrs["features"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.extractor

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        """RAISES ValueError [HS052]: no weights yet. WARNS [HW005]: no word has the
        annotation that templates read."""
        shim = self.shim
        features = self.features
        if not is_train or not any(map(len, docs)):
            return _predicted(features, self._used(), docs)
        features.forget_finished()
        table = shim.values("table", is_train=True)
        nothing = features.index(shim.extra).n_rows
        rows, lengths = features.training_rows(shim.extra, docs)
        drop = self.model.attrs["dropout_rate"]
        if drop:  # feature dropout: each feature at each token is left out with probability `drop`
            left_out = shim.rng.random(rows.shape, dtype=np.float32) < drop
            np.maximum(rows, left_out * np.int32(nothing), out=rows)  # no row has a larger number
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        scores = add_rows(table, rows)
        scores *= scale

        def backprop(d_scores: Floats32) -> None:
            shim.add_gradient("table", table_gradient(rows, d_scores, scale, nothing))

        return FlatScores(scores, lengths, backprop)

    def fresh_scores(self, docs: list[Doc]) -> Floats32:
        """The scores that predict (N, L), where nothing is worth keeping: of words that are asked
        for once."""
        columns = self.extractor.columns(docs)
        warn_of_absent(self.extractor, columns)
        index, table = self._used()
        return add_rows(
            table, index.lookup(self.extractor.keys_between(columns, 0, columns.n_tokens))
        )

    @property
    def sees_sentences_alone(self) -> bool:
        return all(map(is_read_at_once, self.extractor.contextual))

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> Iterator[Feature]:
        extractor = self.extractor
        columns = extractor.columns(docs)
        names = Names(docs)
        index, table = self._used()
        for word in words:
            keys = extractor.keys_between(columns, word, word + 1)[:, 0]
            rows = index.lookup(keys)
            of_templates = add_rows(table, rows[None]).astype(np.float64)
            for k in np.flatnonzero((rows < len(table) - 1) & of_templates.any(axis=1)).tolist():
                parts = extractor.templates[k].parts
                yield names.feature(parts, word, of_templates[k])._replace(key=int(keys[k]))

    def names(self, docs: list[Doc], keys: Keys) -> dict[int, str]:
        bits = bits_of(self.shim.extra.get("keys", keys))
        return names_fired(self.extractor, docs, keys, bits)

    def define(self, texts: Any) -> None:
        self.index(*([texts.docs()] if self.extractor.is_lexical else texts.annotated()))

    def index(self, *versions: Iterable[Sequence[Doc]]) -> None:
        """Number the features of the training texts, batch by batch; nothing is read if rows are
        hashed.

        versions: the texts, perhaps with several annotations; features frequent enough in one of
            them have a row.
        """
        if self.model.attrs["hash_rows"] is not None:
            self.shim.extra = {"hash_rows": int(self.model.attrs["hash_rows"])}
            return
        frequent: list[Keys] = []
        for batches in versions:
            counter = KeyCounter()
            for docs in batches:
                for keys in self.extractor.key_blocks(self.extractor.columns(docs)):
                    counter.add(keys)
            frequent.append(counter.frequent(self.model.attrs["min_count"]))
        keys = frequent[0] if len(frequent) == 1 else np.unique(np.concatenate(frequent))
        self.shim.extra = {"keys": keys}

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Zero weights for the features found by `index` before, in X itself if it was not
        called."""
        super().initialize(X, Y)
        if X is not None and not self.shim.extra:
            self.index([X])
        if self.shim.extra and self.model.has_dim("nO"):
            n_rows = self.features.index(self.shim.extra).n_rows
            # the last row stands for "no feature"
            no_rows = np.zeros((0, self.model.get_dim("nO")), np.float32)
            self.shim.set(Parameter("table", UsedRows.of(no_rows, n_rows=n_rows + 1)))

    def prepare(self) -> None:
        if "table" in self.shim.parameters:
            self._used()

    def forget_words(self) -> None:
        self.extractor.forget_words()
        self.features.forget_scores()

    def _used(self) -> UsedFeatures:
        """Features that predict."""
        shim = self.shim
        return self.features.used(shim.extra, shim.used_rows("table"))


def table_gradient(rows: Rows, gradient: Floats32, scale: np.float32, nothing: int) -> Gradient:
    """`row_gradient` of scale * gradient, by cells where few labels of a token have a gradient, as
    by a margin: two."""
    nonzero = np.flatnonzero(gradient != 0)
    token, label = np.divmod(nonzero, gradient.shape[1])
    taught = token[np.diff(token, prepend=-1) != 0]
    if not are_few(len(nonzero), len(taught), gradient.shape[1]):
        return row_gradient(rows[:, taught], gradient[taught] * scale, nothing)
    at = rows.take(token, axis=1)  # (K, n)
    there = at != nothing
    cells = at.astype(np.intp) * gradient.shape[1] + label
    values = np.broadcast_to(gradient.reshape(-1).take(nonzero) * scale, at.shape)
    return added_cells(cells[there], values[there])


def row_gradient(rows: Rows, gradient: Floats32, nothing: int) -> RowGradient:
    """Gradient of `add_rows`: d_table[r] = sum of gradient[n] over all k, n with rows[k, n] = r,
    without row `nothing`.

    RETURNS rows (U,) distinct, their gradient (U, L).
    """
    unique, inverse = np.unique(rows, return_inverse=True)
    inverse = inverse.reshape(rows.shape).astype(np.int32)
    summed = np.zeros((len(unique), gradient.shape[1]), gradient.dtype)
    ops = NumpyOps()
    for row in inverse:
        ops.scatter_add(summed, row, gradient)
    keep = unique != nothing
    return unique[keep], summed[keep]


def _predicted(features: Features, used: UsedFeatures, docs: list[Doc]) -> FlatScores:
    """Scores of all tokens of all docs.

    Templates about one word are added up once for each word type and place of the word, all others
    at each token, in blocks of tokens. The order of the sum is that of places and templates,
    whatever the batch is.
    """
    extractor = features.extractor
    index, table = used
    columns = extractor.columns(docs)
    scores = np.empty((columns.n_tokens, table.shape[1]), table.dtype)
    if not columns.n_tokens:
        return FlatScores(scores, columns.lengths, no_backprop)
    warn_of_absent(extractor, columns)
    offsets = np.array([*extractor.of_one_word], np.intp)[:, None]  # (O, 1)
    places = np.arange(len(offsets))[:, None]
    for start in range(0, columns.n_tokens, KEY_TOKENS):
        stop = start + KEY_TOKENS
        types = columns.types.take(columns.positions[start:stop] + offsets).astype(np.intp)
        codes = types * len(offsets) + places
        terms: list[Term] = [features.type_scores(used, columns, codes)]
        if extractor.of_more:
            keys = extractor.keys_between(columns, start, stop, extractor.of_more)
            terms.append((table, index.lookup(keys)))
        sum_rows(terms, scores[start:stop])
    return FlatScores(scores, columns.lengths, no_backprop)


def warn_of_absent(extractor: FeatureExtractor, columns: Columns) -> None:
    """WARNS [HW005]: no word has the annotation that templates read."""
    for name in columns.absent(extractor.contextual):
        if name in SET_BY_OTHERS:
            warnings.warn(Warnings.HW005.format(name=name), stacklevel=3)
