"""Local maximum-entropy classifiers, one for each set of visible neighbours, as a thinc Model.

The model predicts no labels: it gives `BatchScores`, which bidirectional inference asks. It learns
from gold labels through its shim (`shim_of(model).gradient`, then `model.finish_update`), not
through backpropagation: what a classifier sees in training are the gold labels of the neighbours,
not what inference finds.
"""

from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, NoReturn, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..arrays import AnyFloats, Ints
from ..decoders.bidirectional.local import check_order
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.keys import Keys, label_values
from ..features.sequences import by_doc, words_of
from ..kept import Kept
from ..learning.inequality import check_inequality_settings
from ..learning.used_rows import UsedRows
from .local_features import LocalFeatures
from .local_learner import Learning, LocalClassifier, TrainingBatch
from .local_scores import BatchScores, StackedWeights, TypeScores
from .scorer import Scorer, names_fired
from .shim import LayerShim, Saved, shim_in, write_layer

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
    features = model.attrs["features"]
    scores = BatchScores(words_of(docs), features, model.attrs["types"], shim.stacked(), shim.known)
    return scores, _no_backprop


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
        return names_fired(self.extractor, docs, keys)

    def keyed_weights(self) -> Iterator[Tuple[Keys, AnyFloats]]:
        """Of the features of words alone, as the classifier that sees all neighbours has learnt
        them."""
        shim = shim_of(self.model)
        if shim.n_features():
            keys = shim.known["keys"][0]
            stacked = shim.stacked()
            yield keys, stacked.table[stacked.rows[max(shim.masks), : len(keys)]]

    def prepare(self) -> None:
        shim = shim_of(self.model)
        if shim.n_features():
            shim.stacked()
            self.features.index(shim.known["keys"])

    def forget_words(self) -> None:
        self.extractor.forget_words()
        self.model.attrs["types"].forget()


def shim_of(model: LocalModel) -> "ClassifiersShim":
    """The model's classifiers."""
    return shim_in(model, ClassifiersShim)


class ClassifiersShim(LayerShim):
    """The weights of all classifiers: finished ones to predict and to save, and those in training.

    known: what is saved beside the weights. "keys": feature keys, one array a group; "values": what
    stands for each label in keys; "n_tokens": tokens of the training data. Only features that some
    classifier has a weight for are saved.
    """

    def __init__(self, features: LocalFeatures, order: int) -> None:
        super().__init__("local_classifiers", {"templates": features.names, "order": order})
        self.masks = range(1 << 2 * order)  # bits: which neighbours are seen
        self._n_groups = 1 + len(features.masks)
        self._seen_by = features.seen_by
        self._settings: Dict[str, Any] = {}
        self._known: Dict[str, Any] = {}
        # (F, L) each; empty if those that learn are further
        self._weights: Dict[int, UsedRows] = {}
        self._training: Dict[int, LocalClassifier] = {}
        self._stacked: Kept[StackedWeights] = Kept()

    def configure(self, *, learn_rate: float, width: float, seed: int) -> None:
        """How to learn from now on. RAISES ValueError [HS027]."""
        check_inequality_settings(learn_rate, width)
        self._settings = {"learn_rate": learn_rate, "width": width, "seed": seed}

    def start(self, known: Dict[str, Any]) -> None:
        """Zero weights for the features of `known`."""
        shape = sum(map(len, known["keys"])), len(known["values"]) - 2
        nothing = UsedRows.of(np.zeros(shape, np.float32))
        self._replace(known, dict.fromkeys(self.masks, nothing))

    def _replace(self, known: Dict[str, Any], weights: Dict[int, UsedRows]) -> None:
        """Other weights: what is being learnt is lost."""
        self._known = known
        self._weights = weights
        self._training = {}

    @property
    def known(self) -> Dict[str, Any]:
        """RAISES ValueError [HS052]: no features yet."""
        if not self._known:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        return self._known

    def stacked(self) -> StackedWeights:
        """Finished weights, from which labels are predicted."""
        weights = self._finished()
        return self._stacked.of((self.known, weights), lambda: StackedWeights.of(weights))

    def _finished(self) -> Dict[int, UsedRows]:
        if not self._weights:
            self._weights = {visible: each.finish() for visible, each in self._training.items()}
        return self._weights

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
        """Keep the gradient of a batch for the next `finish_update`. RETURNS the mean loss of the
        classifiers.

        RAISES ValueError [HS055]: no settings to learn by.
        """
        if not self._settings:
            raise ValueError(Errors.HS055.format(name=self.name))
        if not self._training:
            learning = Learning(n_tokens=self.known["n_tokens"], **self._settings)
            self._training = {
                visible: LocalClassifier(visible, self._seen_by[visible], start, learning)
                for visible, start in self._weights.items()
            }
        losses = [each.gradient(batch, drop) for each in self._training.values()]
        return sum(losses) / len(losses)

    def finish_update(self, optimizer: object) -> None:
        """Learn from the gradients kept, by the classifiers' own rule. `optimizer` is not used."""
        for each in self._training.values():
            each.step()
            self._weights = {}

    def feature_weights(self) -> List[UsedRows]:
        return list(self._finished().values())

    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        self._replace(self._known, dict(zip(self.masks, tables, strict=True)))

    def drop_features(self) -> None:
        """Forget features whose weights are zero in every classifier."""
        self._replace(*self._in_use())

    def _in_use(self) -> Tuple[Dict[str, Any], Dict[int, UsedRows]]:
        """Features that some classifier has a weight for: those saved."""
        weights = self._finished()
        if not weights:
            return {}, {}
        used = np.zeros(self.n_features(), bool)
        for table in weights.values():
            used[table.rows] = True
        groups = self.known["keys"]
        keys = [keys[there] for keys, there in zip(groups, by_doc(used, groups), strict=True)]
        rows = np.flatnonzero(used)
        tables = {visible: table.taking(rows) for visible, table in weights.items()}
        return {**self.known, "keys": keys}, tables

    def n_features(self) -> int:
        return sum(map(len, self._known.get("keys", ())))

    def __getstate__(self) -> Dict[str, object]:
        """Of a copy, or of one in another process, which does not go on learning."""
        return {**self.__dict__, "_weights": self._finished(), "_training": {}}

    def to_bytes(self) -> bytes:
        known, weights = self._in_use()
        tables = {str(visible): table for visible, table in weights.items()}
        return write_layer(self.name, self._made_for, {}, tables, known)

    def _take(self, saved: Saved) -> str:
        tables = {int(visible): table for visible, table in saved.tables.items()}
        problem = self._problem(saved.extra, tables) if saved.extra or tables else ""
        if not problem:
            self._replace(saved.extra, tables)
        return problem

    def _problem(self, known: Dict[str, Any], tables: Dict[int, UsedRows]) -> str:
        """Problem of what was loaded, "" if there is none."""
        keys = known["keys"]
        values = known["values"]
        if len(keys) != self._n_groups:
            return f"features of {len(keys) - 1} label templates, not {self._n_groups - 1}"
        if [*tables] != [*self.masks]:
            return f"classifiers {[*tables]}, not {[*self.masks]}"
        shape = (sum(map(len, keys)), len(values) - 2)
        fits = [table.shape == shape for table in tables.values()]
        is_whole = values.dtype == np.uint64 and isinstance(known["n_tokens"], int)
        return "" if is_whole and all(fits) else "the parts of the classifiers do not fit together"
