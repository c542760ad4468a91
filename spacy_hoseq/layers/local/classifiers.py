"""Local maximum-entropy classifiers, one for each set of visible neighbours, as a thinc Model.

The model predicts no labels: it gives `BatchScores`, which bidirectional inference asks. It learns
from gold labels through its shim (`shim_of(model).gradient`, then `model.finish_update`), not
through backpropagation: what a classifier sees in training are the gold labels of the neighbours,
not what inference finds.
"""

from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Literal,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ...arrays import AnyFloats, Ints
from ...decoders.bidirectional.decompositions import classifiers_of
from ...decoders.bidirectional.local import check_order
from ...errors import Errors
from ...features.keys import Keys, label_values
from ...features.sequences import words_of
from ...learning.inequality import check_inequality_settings
from ...learning.used_rows import UsedRows
from ..scorer import Scorer
from ..weights.shim import LayerShim, shim_in
from ..weights.storage import Saved, write_layer
from .features import LocalFeatures
from .learner import ClassifierSetup, SparseRows, TrainingBatch, group_starts
from .scores import BatchScores, stack_weights
from .stacked_scores import StackedWeights
from .stored import classifiers_problem, nonzero_rows, without_unused
from .training import LocalTraining

Strategy = Literal[
    "easiest_first",
    "easiest_last",
    "left_to_right",
    "right_to_left",
    "dependency_network",
    "full_bidirectional",
]
LocalModel = Model[List[Doc], BatchScores]


def LocalClassifiers(
    templates: List[str],
    order: int = 2,
    min_count: int = 1,
    train_for: Optional[List[Strategy]] = None,
) -> LocalModel:
    """Local classifiers over binary features.

    templates: feature templates (features/templates.py), some of them with labels of neighbours:
        "label[-1]".
    order (int): 1 or 2, neighbours on each side whose labels may be seen.
    min_count (int): features seen fewer times in the training data have no weight.
    train_for: strategies whose classifiers are trained; None = all 4 or 16 classifiers, for any
        strategy.
    RAISES ValueError [HS010-HS013, HS018]: bad templates; [HS017]: `min_count`; [HS090]: `order`;
    [HS092]: a strategy.
    """
    check_order(order)
    if min_count < 1:
        raise ValueError(Errors.HS017.format(min_count=min_count))
    masks = list(range(1 << 2 * order))
    if train_for is not None:
        if not train_for:
            raise ValueError(Errors.HS092.format(strategy=train_for))
        masks = sorted(
            {mask for strategy in train_for for mask in classifiers_of(strategy, order, prune=1.0)}
        )
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
            "reads_annotation": features.reads_annotation,
            "tables": features.tables,
        },
        shims=[ClassifiersShim(features, order, masks)],
    )


def forward(
    model: LocalModel, docs: List[Doc], is_train: bool
) -> Tuple[BatchScores, Callable[[Any], NoReturn]]:
    """Of the words of the docs: white space is no part of a sequence."""
    shim = shim_of(model)
    features = model.attrs["features"]
    weights = shim.stacked()
    keys = shim.keys()
    of_words = features.word_features(words_of(docs), keys, weights)
    index = features.indexes(keys).labels
    return BatchScores(weights, of_words, index, features.label_groups, shim.values()), _no_backprop


def define_features(
    model: LocalModel,
    labels: Sequence[str],
    versions: Sequence[Iterable[Tuple[List[Doc], Ints]]],
    n_tokens: int,
) -> None:
    """Number the features of the training texts, and set all weights to zero.

    labels: names, by id. versions: as in `LocalFeatures.count`. n_tokens (int): tokens with a gold
        label.
    """
    shim = shim_of(model)
    values = label_values(labels)
    keys = model.attrs["features"].count(versions, values, model.attrs["min_count"])
    shim.start({"keys": keys, "values": values, "n_tokens": n_tokens})


class LocalScorer(Scorer):
    """Of `LocalClassifiers`. Scores depend on labels of neighbours: they are asked of
    `BatchScores`."""

    @property
    def features(self) -> LocalFeatures:
        return self.model.attrs["features"]

    @property
    def order(self) -> int:
        """Neighbours on each side whose labels may be seen."""
        return int(self.model.attrs["order"])

    def names(self, docs: List[Doc], keys: Keys) -> Dict[int, str]:
        return self.features.names_fired(docs, keys)

    def keyed_weights(self) -> Iterator[Tuple[Keys, AnyFloats]]:
        """Of the features of words alone, as the classifier that sees all neighbours has learnt
        them."""
        shim = shim_of(self.model)
        if shim.n_features():
            keys = shim.keys()[0]
            stacked = shim.stacked()
            yield keys, stacked.table[stacked.rows[max(shim.masks), : len(keys)]]

    def prepare(self) -> None:
        shim = shim_of(self.model)
        if shim.n_features():
            shim.stacked()
            self.features.indexes(shim.keys())

    def forget_words(self) -> None:
        self.features.forget_words()


def shim_of(model: LocalModel) -> "ClassifiersShim":
    """The model's classifiers."""
    return shim_in(model, ClassifiersShim)


class ClassifiersShim(LayerShim):
    """The weights of all classifiers: finished ones to predict and to save, and those in training.

    extra: "keys": feature keys, one array a group; "values": what stands for each label in keys;
    "n_tokens": tokens of the training data. Only features that some classifier has a weight for are
    saved.
    """

    def __init__(self, features: LocalFeatures, order: int, masks: List[int]) -> None:
        super().__init__("local_classifiers", {"templates": features.names})
        self.masks = masks
        self._order = order
        self._groups = {visible: features.groups_of(visible) for visible in masks}
        self._n_groups = 1 + len(features.label_templates)
        self._settings: Optional[Dict[str, Any]] = None
        self._extra: Dict[str, Any] = {}
        self._weights: Dict[int, SparseRows] = {}
        self._stacked: Optional[StackedWeights] = None
        self._training: Optional[LocalTraining] = None
        self._has_update = False  # a gradient that waits for `finish_update`
        self._has_learnt = False  # something that `_weights` do not know

    def configure(self, *, learn_rate: float, width: float, n_process: int, seed: int) -> None:
        """How to learn from now on. RAISES ValueError [HS040]."""
        check_inequality_settings(learn_rate, width)
        if n_process < 1:
            raise ValueError(
                Errors.HS040.format(name="n_process", value=n_process, expected="1 or more")
            )
        self._settings = {
            "learn_rate": learn_rate,
            "width": width,
            "n_process": n_process,
            "seed": seed,
        }

    def start(self, extra: Dict[str, Any]) -> None:
        self._end_training()
        self._extra = extra
        self._stacked = None
        nothing = SparseRows(np.zeros(0, np.int32), np.zeros((0, self.n_labels), np.float16))
        self._weights = {visible: nothing for visible in self.masks}

    @property
    def n_labels(self) -> int:
        return len(self.values()) - 2

    def keys(self) -> List[Keys]:
        """RAISES ValueError [HS052]: no features yet."""
        if not self._extra:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        return self._extra["keys"]

    def values(self) -> Keys:
        self.keys()
        return self._extra["values"]

    def is_of(self, labels: Sequence[str]) -> bool:
        """Whether the weights are of these labels, in this order; true if there are no weights
        yet."""
        return not self._extra or np.array_equal(self.values(), label_values(labels))

    def stacked(self) -> StackedWeights:
        """Finished weights, from which labels are predicted."""
        if self._stacked is None:
            sizes = [len(keys) for keys in self.keys()]
            n_masks = 1 << 2 * self._order
            self._stacked = stack_weights(
                self._finished(), self._groups, sizes, n_masks, self.n_labels
            )
        return self._stacked

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
        """Keep the gradient of a batch for the next `finish_update`. RETURNS the mean loss of the
        classifiers.

        RAISES ValueError [HS055]: no settings to learn by.
        """
        if self._training is None:
            self._training = LocalTraining(
                self._setups(), self._settings["n_process"] if self._settings else 1
            )
        self._has_update = True
        return self._training.gradient(batch, drop) / len(self.masks)

    def feature_weights(self) -> List[UsedRows]:
        """The tables of all classifiers."""
        tables = [values.astype(np.float32) for _, values in self._finished().values()]
        return [UsedRows.of(each) for each in tables]

    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        """Others in their place, rounded for storage already. What is being learnt is lost."""
        finished = self._finished()
        self._end_training()
        pairs = zip(finished.items(), tables, strict=True)
        self._weights = {
            visible: SparseRows(rows, table.dense()) for (visible, (rows, _)), table in pairs
        }
        self._stacked = None

    def drop_features(self) -> None:
        """Forget features whose weights are zero in every classifier."""
        if self._extra:
            kept = {visible: nonzero_rows(weights) for visible, weights in self._finished().items()}
            self._end_training()
            self._weights, keys = without_unused(kept, self.keys(), self._groups)
            self._extra = {**self._extra, "keys": keys}
            self._stacked = None

    def n_features(self) -> int:
        return sum(map(len, self.keys())) if self._extra else 0

    def finish_update(self, optimizer: object) -> None:
        """Learn from the gradients kept, by the classifiers' own rule. `optimizer` is not used."""
        if self._has_update and self._training is not None:
            self._training.step()
            self._stacked = None
            self._has_update = False
            self._has_learnt = True

    def __getstate__(self) -> Dict[str, object]:
        """Of a copy, or of one in another process, which does not go on learning."""
        return {
            **self.__dict__,
            "_weights": self._finished(),
            "_stacked": None,
            "_training": None,
            "_has_update": False,
            "_has_learnt": False,
        }

    def _tables(self, weights: Dict[int, SparseRows], keys: List[Keys]) -> Dict[str, UsedRows]:
        """Weights of each classifier, as they are saved. keys: of the features, one array a
        group."""
        sizes = [len(group) for group in keys]
        tables = {}
        for visible, (rows, values) in weights.items():
            n_rows = int(group_starts([sizes[g] for g in self._groups[visible]])[-1])
            tables[str(visible)] = UsedRows.of(
                values.astype(np.float32), rows.astype(np.intp), n_rows
            )
        return tables

    def to_bytes(self) -> bytes:
        weights, keys = (
            without_unused(self._finished(), self.keys(), self._groups) if self._extra else ({}, [])
        )
        extra = {**self._extra, "keys": keys} if self._extra else {}
        tables = self._tables(weights, keys)
        settings = {"order": self._order}
        return write_layer(self.name, self._made_for, settings, tables, extra)

    def _check(self, saved: Saved) -> None:
        order = saved.settings.get("order")
        if order != self._order:
            got = f"{self.name} of order {order}"
            expected = f"{self.name} of order {self._order}"
            raise ValueError(Errors.HS051.format(name=self.name, got=got, expected=expected))

    def _take(self, saved: Saved) -> str:
        tables = {int(visible): used for visible, used in saved.tables.items()}
        problem = classifiers_problem(tables, saved.extra, self._groups, self._n_groups)
        if not problem:
            self._end_training()
            self._weights = {visible: _sparse_rows(used) for visible, used in tables.items()}
            self._extra = saved.extra
            self._stacked = None
        return problem

    def _finished(self) -> Dict[int, SparseRows]:
        if self._training is not None and self._has_learnt:
            self._weights = self._training.finish()
            self._has_learnt = False
        return self._weights

    def _setups(self) -> List[ClassifierSetup]:
        if self._settings is None:
            raise ValueError(Errors.HS055.format(name=self.name))
        sizes = [len(keys) for keys in self.keys()]
        common = (
            self.n_labels,
            self._settings["learn_rate"],
            self._settings["width"],
            self._extra["n_tokens"],
        )
        return [
            ClassifierSetup(
                visible,
                groups,
                [sizes[g] for g in groups],
                *common,
                self._settings["seed"],
                self._weights[visible],
            )
            for visible, groups in self._groups.items()
        ]

    def _end_training(self) -> None:
        if self._training is not None:
            self._training.close()
        self._training = None
        self._has_update = False
        self._has_learnt = False


def _sparse_rows(used: UsedRows) -> SparseRows:
    """Weights of a classifier, as they were read."""
    return SparseRows(used.rows.astype(np.int32), used.values)


def _no_backprop(d_scores: object) -> NoReturn:
    raise ValueError(Errors.HS095)
