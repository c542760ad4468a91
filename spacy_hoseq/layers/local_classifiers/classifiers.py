"""Local maximum-entropy classifiers, one for each set of visible neighbours, as a thinc Model.

The model predicts no labels: it gives `BatchScores`, which bidirectional inference queries. It
learns from gold labels through its shim (`shim_of(model).gradient`, then `model.finish_update`),
not through backpropagation: in training a classifier sees the gold labels of the neighbours, not
those that inference finds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps

from ...arrays import AnyFloats, Floats, Floats32, Ints, Rows
from ...caches import IdentityCache
from ...decoders.bidirectional.local import check_order
from ...errors import Errors
from ...features.extract import FeatureExtractor
from ...features.index import check_min_count
from ...features.keys import Keys, label_values
from ...features.sequences import by_doc, words_of
from ...learning.gradients import RowGradient, merge_gradients
from ...learning.inequality import InequalityWeights, check_inequality_settings
from ...learning.used_rows import UsedRows
from ..scorer import AnyFeatures, Scorer, template_features_with
from ..storage import SavedLayer
from ..sums import add_rows, dropout_scale
from ..weights import LayerShim, shim_in
from .features import LocalFeatures
from .scores import BatchScores, StackedWeights

LocalModel = Model[list[Doc], BatchScores]
SURE = 0.1  # 1 - p(gold) below which a token is only sampled


def LocalClassifiers(
    templates: list[str],
    order: int = 2,
    min_count: int = 1,
) -> LocalModel:
    """Local classifiers over binary features.

    templates: feature templates (features/templates.py), some of them with labels of neighbours:
        "label[-1]".
    order (int): 1 or 2, neighbours on each side whose labels may be seen.
    min_count (int): features seen fewer times in the training data have no weight.
    RAISES ValueError [HS010, HS013, HS027]: bad templates, `min_count`, `order`.
    """
    check_order(order)
    check_min_count(min_count)
    features = LocalFeatures(templates, order)
    return Model(
        "local_classifiers",
        forward,
        dims={"nO": None},
        attrs={
            "scorer": LocalScorer,
            "features": features,
            "order": order,
            "min_count": min_count,
            "reads_annotation": not features.extractor.is_lexical,
            "tables": features.extractor.tables,
        },
        shims=[ClassifiersShim(features, order)],
    )


def forward(
    model: LocalModel, docs: list[Doc], is_train: bool
) -> tuple[BatchScores, Callable[[Any], NoReturn]]:
    """Scores of the words of the docs: white space is no part of a sequence."""
    shim = shim_of(model)
    scores = BatchScores(words_of(docs), model.attrs["features"], shim.stacked(), shim.known)
    return scores, _no_backprop


def _no_backprop(d_scores: object) -> NoReturn:
    raise ValueError(Errors.HS055.format(name="local_classifiers"))


def define_features(
    model: LocalModel,
    labels: Sequence[str],
    versions: Sequence[Iterable[tuple[list[Doc], Ints]]],
    n_tokens: int,
) -> None:
    """Number the features of the training texts, and set all weights to zero.

    labels: names, by id. versions: as in `LocalFeatures.count`. n_tokens (int): tokens with a gold
        label.
    """
    values = label_values(labels)
    keys = model.attrs["features"].count(versions, values, model.attrs["min_count"])
    shim_of(model).start({"keys": keys, "values": values, "n_tokens": n_tokens})


class LocalScorer(Scorer):
    """The scorer of `LocalClassifiers`, for features only: scores depend on labels of neighbours, and
    come from `BatchScores`."""

    @property
    def features(self) -> LocalFeatures:
        return self.model.attrs["features"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.extractor

    def features_with(self, docs: list[Doc], keys: Keys) -> AnyFeatures:
        return template_features_with(self.extractor, docs, keys)

    def keyed_weights(self) -> Iterator[tuple[Keys, AnyFloats]]:
        """Features of words alone (group 0), with the weights of the classifier that sees all
        neighbours."""
        shim = shim_of(self.model)
        if shim.n_features():
            keys = shim.known["keys"][0]
            stacked = shim.stacked()
            yield keys, stacked.table[stacked.rows[max(shim.masks), : len(keys)]]

    def prepare(self) -> None:
        if shim_of(self.model).n_features():
            self.model.predict([])

    def forget_words(self) -> None:
        self.features.forget_words()


def shim_of(model: LocalModel) -> "ClassifiersShim":
    """The classifiers of a model."""
    return shim_in(model, ClassifiersShim)


class TrainingBatch(NamedTuple):
    """rows (K, n): features at each token. gold (n,): label ids, -1 = not known. known (n,): slots
    whose gold label is known, as a mask."""

    rows: Rows
    gold: Ints
    known: Ints


class ClassifiersShim(LayerShim):
    """The weights of all classifiers: finished ones to predict and to save, and those in training.

    known: what is saved beside the weights. "keys": feature keys, one array a group; "values": what
    stands for each label in keys; "n_tokens": tokens of the training data. Only features that some
    classifier has a weight for are saved.
    """

    def __init__(self, features: LocalFeatures, order: int) -> None:
        super().__init__("local_classifiers", {"templates": features.names, "order": order})
        self.masks = range(1 << 2 * order)  # bits: which neighbours are seen
        self._seen_by = features.seen_by
        self._settings: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        # finished weights (F, L) by classifier; empty while those in training are ahead of them
        self._weights: dict[int, UsedRows] = {}
        self._training: dict[int, LocalClassifier] = {}
        self._stacked: IdentityCache[StackedWeights] = IdentityCache()

    def configure(self, *, learn_rate: float, width: float, seed: int, passes: int = 0) -> None:
        """Set how to learn. RAISES ValueError [HS027]: impossible settings."""
        check_inequality_settings(learn_rate, width, passes)
        self._settings = dict(learn_rate=learn_rate, width=width, passes=passes, seed=seed)

    def start(self, known: dict[str, Any]) -> None:
        """Set the weights of the features in `known` to zero."""
        # the places before and after a sequence have values, too, but are no labels to predict
        shape = sum(map(len, known["keys"])), len(known["values"]) - 2
        nothing = UsedRows.of(np.zeros(shape, np.float32))
        self._replace(known, dict.fromkeys(self.masks, nothing))

    def _replace(self, known: dict[str, Any], weights: dict[int, UsedRows]) -> None:
        """Use other weights; those in training are dropped."""
        self._known = known
        self._weights = weights
        self._training = {}

    @property
    def known(self) -> dict[str, Any]:
        """RAISES ValueError [HS052]: no features yet."""
        if not self._known:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        return self._known

    def stacked(self) -> StackedWeights:
        """Finished weights, from which labels are predicted."""
        weights = self._finished()
        return self._stacked.of((self.known, weights), lambda: StackedWeights.of(weights))

    def _finished(self) -> dict[int, UsedRows]:
        if not self._weights:
            self._weights = {
                visible: classifier.finish() for visible, classifier in self._training.items()
            }
        return self._weights

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
        """Keep the gradient of a batch for the next `finish_update`; with `passes`, go to the
        optimum of the batch. RETURNS the mean loss of the classifiers.

        RAISES ValueError [HS055]: no settings to learn by.
        """
        if not self._settings:
            raise ValueError(Errors.HS055.format(name=self.name))
        if not self._training:
            self._training = {visible: self._classifier(visible) for visible in self._weights}
        passes = self._settings["passes"]
        loss = 0.0
        for classifier in self._training.values():
            if passes:
                loss += classifier.minimise(batch, passes)
            else:
                loss += classifier.gradient(batch, drop)
        return loss / len(self._training)

    def _classifier(self, visible: int) -> "LocalClassifier":
        """A classifier that goes on learning from the finished weights."""
        settings = {**self._settings, "n_tokens": self.known["n_tokens"]}
        rng = np.random.default_rng([settings.pop("seed"), visible])
        sure = 0 if settings.pop("passes") else SURE  # an optimum needs the exact gradient
        start = self._weights[visible]
        n_features, n_labels = start.shape
        weights = InequalityWeights(n_features + 1, n_labels, **settings)
        weights.resume(start.rows, start.values)
        return LocalClassifier(visible, self._seen_by[visible], weights, rng, sure)

    def finish_update(self, optimizer: object) -> None:
        """Apply the gradients, by the classifiers' own rule. `optimizer` is not used."""
        for classifier in self._training.values():
            classifier.step()
            self._weights = {}

    def feature_weights(self) -> list[UsedRows]:
        return list(self._finished().values())

    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        self._replace(self._known, dict(zip(self.masks, tables, strict=True)))

    def drop_features(self) -> None:
        """Drop features whose weights are zero in every classifier."""
        self._replace(*self._in_use())

    def _in_use(self) -> tuple[dict[str, Any], dict[int, UsedRows]]:
        """What is saved: features for which some classifier has a weight, numbered anew."""
        weights = self._finished()
        if not weights:
            return {}, {}
        used = np.zeros(self.n_features(), bool)  # (F,)
        for table in weights.values():
            used[table.rows] = True
        groups = self.known["keys"]
        keys = [group[is_used] for group, is_used in zip(groups, by_doc(used, groups), strict=True)]
        rows = np.flatnonzero(used)
        tables = {visible: table.taking(rows) for visible, table in weights.items()}
        return {**self.known, "keys": keys}, tables

    def n_features(self) -> int:
        return sum(map(len, self._known.get("keys", ())))

    def __getstate__(self) -> dict[str, object]:
        """For a copy, also in another process, which does not go on learning."""
        return {**self.__dict__, "_weights": self._finished(), "_training": {}}

    def to_bytes(self) -> bytes:
        known, weights = self._in_use()
        tables = {str(visible): table for visible, table in weights.items()}
        return self.saved_bytes({}, tables, known)

    def _take(self, saved: SavedLayer) -> None:
        tables = {int(visible): table for visible, table in saved["tables"].items()}
        self._replace(saved["extra"], tables)


class LocalClassifier:
    """Learns p(y_i | o, gold labels of the neighbours that it sees).

    Most tokens are easy, and soon have next to no gradient. With the error e = 1 - p(gold) of a
    token, its gradient is taken with probability min(1, e / SURE), and then max(1, SURE / e) times.
    The expected gradient is the sum over all tokens, so the optimum is the same (importance
    sampling: Zhao & Zhang 2015). The loss is over all tokens.

    visible (int): the slots that it sees, as a mask. seen: its templates, rows of a batch.
    weights (F + 1, L): the last row, of features that are not known, is zero. sure (float): as
    `SURE`, 0 = all tokens, always.
    """

    def __init__(
        self,
        visible: int,
        seen: list[int],
        weights: InequalityWeights,
        rng: np.random.Generator,
        sure: float = SURE,
    ) -> None:
        self._visible = visible
        self._seen = seen
        self._weights = weights
        self._nothing = len(weights.values) - 1
        self._rng = rng
        self._sure = np.float32(sure)
        self._pending: list[RowGradient] = []
        self._n_tokens = 0

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
        """Keep the gradient of a batch for `step`. RETURNS the negative log-likelihood of the gold
        labels, in nats."""
        # tokens whose gold label is known, and those of all neighbours that it sees
        tokens = np.flatnonzero((batch.gold >= 0) & (self._visible & ~batch.known == 0))
        gold = batch.gold.take(tokens)
        rows = batch.rows[self._seen].take(tokens, axis=1)  # (K, n)
        if drop:
            rows[self._rng.random(rows.shape, dtype=np.float32) < drop] = self._nothing
        scale = dropout_scale(drop)
        losses, d_scores = log_loss(add_rows(self._weights.values, rows) * scale, gold)
        errors = -d_scores[np.arange(len(gold)), gold]
        draws = self._rng.random(len(gold), dtype=np.float32)
        # importance sampling: tokens are drawn by their error, and weighted by its inverse
        drawn = np.flatnonzero(draws * self._sure < errors)
        times: Floats32 = np.maximum(1, self._sure / errors.take(drawn)) * scale
        d_drawn = d_scores.take(drawn, axis=0) * times[:, None]
        self._pending.append(self._row_gradient(rows.take(drawn, axis=1), d_drawn))
        self._n_tokens += len(tokens)
        return float(losses.sum())

    def minimise(self, batch: TrainingBatch, passes: int) -> float:
        """Go to the optimum of a batch, over all its tokens (`sure` is 0). RETURNS the loss there."""
        counts = np.bincount(batch.rows[self._seen].ravel(), minlength=self._nothing + 1)
        return self._weights.minimise(lambda: self._at(batch), counts, passes)

    def _at(self, batch: TrainingBatch) -> tuple[float, RowGradient]:
        loss = self.gradient(batch, 0.0)
        self._n_tokens = 0
        return loss, self._pending.pop()

    def _row_gradient(self, rows: Rows, d_scores: Floats32) -> RowGradient:
        """As `sums.row_gradient`. The table is so small that marking rows is faster than
        sorting them."""
        is_touched = np.zeros(self._nothing + 1, bool)
        is_touched[rows] = True
        is_touched[self._nothing] = True  # then the last of `distinct`, and cut off below
        distinct = np.flatnonzero(is_touched)
        place = np.empty(len(is_touched), np.int32)
        place[distinct] = np.arange(len(distinct))
        gradient = np.zeros((len(distinct), d_scores.shape[1]), np.float32)
        ops = NumpyOps()
        for row in place[rows]:
            ops.scatter_add(gradient, row, d_scores)
        return distinct[:-1], gradient[:-1]

    def step(self) -> None:
        """Apply the gradients since the last step."""
        rows, gradient = merge_gradients(self._pending, self._weights.values)
        self._weights.step(rows, gradient, self._n_tokens)
        self._pending = []
        self._n_tokens = 0

    def finish(self) -> UsedRows:
        """The weights (F, L), as they are saved. Training can go on after this."""
        used = self._weights.finish().rounded()
        return UsedRows((self._nothing, used.shape[1]), used.rows, used.table)


def log_loss(scores: Floats32, gold: Ints) -> tuple[Floats, Floats32]:
    """-log p(gold), p = softmax of each row. RETURNS the losses (n,), and their gradients (n,
    L)."""
    rows = np.arange(len(gold))
    p = scores - scores.max(axis=1, keepdims=True)  # so that `exp` does not overflow
    loss = -p[rows, gold].astype(np.float64)
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    loss += np.log(total[:, 0])
    p /= total
    p[rows, gold] -= 1  # d loss / d scores = p - one-hot(gold)
    return loss, p
