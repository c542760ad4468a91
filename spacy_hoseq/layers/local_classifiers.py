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

from ..arrays import AnyFloats, Ints
from ..decoders.bidirectional.local import check_order
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.keys import Keys, label_values
from ..features.sequences import by_doc, words_of
from ..learning.inequality import check_inequality_settings
from ..learning.used_rows import UsedRows
from .local_features import LocalFeatures
from .local_learner import Learning, LocalClassifier, TrainingBatch
from .local_scores import BatchScores, StackedWeights, TypeScores
from .scorer import Scorer
from .shim import LayerShim, shim_in
from .storage import Saved, write_layer

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
) -> LocalModel:
    """Local classifiers over binary features.

    templates: feature templates (features/templates.py), some of them with labels of neighbours:
        "label[-1]".
    order (int): 1 or 2, neighbours on each side whose labels may be seen.
    min_count (int): features seen fewer times in the training data have no weight.
    RAISES ValueError [HS010, HS013, HS027]: bad templates, `min_count`, `order`.
    """
    check_order(order)
    if min_count < 1:
        raise ValueError(
            Errors.HS027.format(name="min_count", value=min_count, expected="1 or more")
        )
    features = LocalFeatures(templates, order)
    return Model(
        "local_classifiers",
        forward,
        dims={"nO": None},
        attrs={
            "scorer": LocalScorer,
            "features": features,
            "types": TypeScores(features),
            "order": order,
            "min_count": min_count,
            "reads_annotation": not features.extractor.is_lexical,
            "tables": features.extractor.tables,
        },
        shims=[ClassifiersShim(features, order)],
    )


def forward(
    model: LocalModel, docs: List[Doc], is_train: bool
) -> Tuple[BatchScores, Callable[[Any], NoReturn]]:
    """Of the words of the docs: white space is no part of a sequence."""
    shim = shim_of(model)
    parts = (
        model.attrs["features"],
        model.attrs["types"],
        shim.stacked(),
        shim.keys(),
        shim.values(),
    )
    return BatchScores(words_of(docs), *parts), _no_backprop


def _no_backprop(d_scores: object) -> NoReturn:
    raise ValueError(Errors.HS055.format(name="local_classifiers"))


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
    values = label_values(labels)
    keys = model.attrs["features"].count(versions, values, model.attrs["min_count"])
    shim_of(model).start({"keys": keys, "values": values, "n_tokens": n_tokens})


class LocalScorer(Scorer):
    """Of `LocalClassifiers`. Scores depend on labels of neighbours: they are asked of
    `BatchScores`."""

    @property
    def features(self) -> LocalFeatures:
        return self.model.attrs["features"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.extractor

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
            self.features.index(shim.keys())

    def forget_words(self) -> None:
        self.features.extractor.forget_words()
        self.model.attrs["types"].forget()


def shim_of(model: LocalModel) -> "ClassifiersShim":
    """The model's classifiers."""
    return shim_in(model, ClassifiersShim)


class ClassifiersShim(LayerShim):
    """The weights of all classifiers: finished ones to predict and to save, and those in training.

    extra: "keys": feature keys, one array a group; "values": what stands for each label in keys;
    "n_tokens": tokens of the training data. Only features that some classifier has a weight for are
    saved.
    """

    def __init__(self, features: LocalFeatures, order: int) -> None:
        super().__init__("local_classifiers", {"templates": features.names, "order": order})
        self.masks = range(1 << 2 * order)  # bits: which neighbours are seen
        self._n_groups = 1 + len(features.masks)
        self._seen = {visible: features.seen_by(visible) for visible in self.masks}
        self._groups = {visible: features.groups_of(visible) for visible in self.masks}
        self._settings: Dict[str, Any] = {}
        self._extra: Dict[str, Any] = {}
        self._weights: Dict[int, UsedRows] = {}  # (F, L) each
        self._stacked: Optional[StackedWeights] = None
        self._training: Dict[int, LocalClassifier] = {}
        self._has_update = False  # a gradient that waits for `finish_update`
        self._has_learnt = False  # something that `_weights` do not know

    def configure(self, *, learn_rate: float, width: float, seed: int) -> None:
        """How to learn from now on. RAISES ValueError [HS027]."""
        check_inequality_settings(learn_rate, width)
        self._settings = {"learn_rate": learn_rate, "width": width, "seed": seed}

    def start(self, extra: Dict[str, Any]) -> None:
        """Zero weights for the features of `extra`."""
        n_labels = len(extra["values"]) - 2
        n_features = sum(map(len, extra["keys"]))
        nothing = UsedRows.of(np.zeros((n_features, n_labels), np.float32))
        self._replace(extra, dict.fromkeys(self.masks, nothing))

    def _replace(self, extra: Dict[str, Any], weights: Dict[int, UsedRows]) -> None:
        """Other weights: what is being learnt is lost."""
        self._extra = extra
        self._weights = weights
        self._stacked = None
        self._training = {}
        self._has_update = False
        self._has_learnt = False

    def keys(self) -> List[Keys]:
        """RAISES ValueError [HS052]: no features yet."""
        if not self._extra:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        return self._extra["keys"]

    def values(self) -> Keys:
        self.keys()
        return self._extra["values"]

    def stacked(self) -> StackedWeights:
        """Finished weights, from which labels are predicted."""
        self.keys()
        if self._stacked is None:
            self._stacked = StackedWeights.of(self._finished())
        return self._stacked

    def _finished(self) -> Dict[int, UsedRows]:
        if self._has_learnt:
            self._weights = {visible: each.finish() for visible, each in self._training.items()}
            self._has_learnt = False
        return self._weights

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
        """Keep the gradient of a batch for the next `finish_update`. RETURNS the mean loss of the
        classifiers.

        RAISES ValueError [HS055]: no settings to learn by.
        """
        if not self._training:
            self._training = self._begun()
        self._has_update = True
        losses = [each.gradient(batch, drop) for each in self._training.values()]
        return sum(losses) / len(losses)

    def _begun(self) -> Dict[int, LocalClassifier]:
        if not self._settings:
            raise ValueError(Errors.HS055.format(name=self.name))
        learning = Learning(n_tokens=self._extra["n_tokens"], **self._settings)
        ends = np.cumsum(list(map(len, self.keys()))).tolist()
        groups = [
            np.arange(end - len(keys), end) for end, keys in zip(ends, self.keys(), strict=True)
        ]
        return {
            visible: LocalClassifier(
                visible,
                self._seen[visible],
                np.concatenate([groups[g] for g in self._groups[visible]]),
                start,
                learning,
            )
            for visible, start in self._weights.items()
        }

    def finish_update(self, optimizer: object) -> None:
        """Learn from the gradients kept, by the classifiers' own rule. `optimizer` is not used."""
        if self._has_update:
            for each in self._training.values():
                each.step()
            self._stacked = None
            self._has_update = False
            self._has_learnt = True

    def feature_weights(self) -> List[UsedRows]:
        return list(self._finished().values())

    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        self._replace(self._extra, dict(zip(self.masks, tables, strict=True)))

    def drop_features(self) -> None:
        """Forget features whose weights are zero in every classifier."""
        if self._extra:
            self._replace(*self._in_use())

    def _in_use(self) -> Tuple[Dict[str, Any], Dict[int, UsedRows]]:
        """Features that some classifier has a weight for: those saved."""
        weights = self._finished()
        used = np.zeros(sum(map(len, self.keys())), bool)
        for table in weights.values():
            used[table.rows] = True
        rows = np.flatnonzero(used)
        keys = [
            keys[there] for keys, there in zip(self.keys(), by_doc(used, self.keys()), strict=True)
        ]
        tables = {visible: table.taking(rows) for visible, table in weights.items()}
        return {**self._extra, "keys": keys}, tables

    def n_features(self) -> int:
        return sum(map(len, self.keys())) if self._extra else 0

    def __getstate__(self) -> Dict[str, object]:
        """Of a copy, or of one in another process, which does not go on learning."""
        return {
            **self.__dict__,
            "_weights": self._finished(),
            "_stacked": None,
            "_training": {},
            "_has_update": False,
            "_has_learnt": False,
        }

    def to_bytes(self) -> bytes:
        extra, weights = self._in_use() if self._extra else ({}, {})
        tables = {str(visible): table for visible, table in weights.items()}
        return write_layer(self.name, self._made_for, {}, tables, extra)

    def _take(self, saved: Saved) -> str:
        tables = {int(visible): table for visible, table in saved.tables.items()}
        problem = self._problem(saved.extra, tables) if saved.extra or tables else ""
        if not problem:
            self._replace(saved.extra, tables)
        return problem

    def _problem(self, extra: Dict[str, Any], tables: Dict[int, UsedRows]) -> str:
        """Problem of what was loaded, "" if there is none."""
        keys = extra["keys"]
        values = extra["values"]
        shape = (sum(map(len, keys)), len(values) - 2)
        if len(keys) != self._n_groups:
            return f"features of {len(keys) - 1} label templates, not {self._n_groups - 1}"
        if [*tables] != [*self.masks]:
            return f"classifiers {[*tables]}, not {[*self.masks]}"
        if values.dtype != np.uint64 or any(table.shape != shape for table in tables.values()):
            return "the parts of the classifiers do not fit together"
        if not isinstance(extra["n_tokens"], int):
            return "no number of training tokens"
        return ""
