"""Labels that share weights: a label's score is the sum of those of its parts.

Decoders get scores of complete labels (`sums.py`), and stay exact. A rare label, even one that
was never seen, has parts that are frequent. `morphological_parts` are the parts of labels of
morphology and of positional tags.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..arrays import Floats32, Ints
from ..caches import IdentityCache
from ..learning.parameter import Parameter
from .scorer import (
    AnyFeatures,
    Emissions,
    FlatScores,
    Scorer,
    TrainingTexts,
    flat_scores,
    scorer_of,
    scoring_layer,
)
from .sums import LabelParts
from .weights import WeightsShim


class LabelPart(NamedTuple):
    """kind: parts of one kind have weights for pairs, as Case=Gen beside Case=Nom; "" = of none."""

    name: str
    kind: str


# parts of each label, by its name and how often it was seen
PartsOf = Callable[[Sequence[str], Ints], list[list[LabelPart]]]


def label_parts(emissions: Emissions, parts_of: PartsOf) -> Emissions:
    """Emissions of labels from emissions of their parts, with weights for pairs of parts. parts_of:
    which parts labels have; called in initialization, and saved with the weights."""
    return scoring_layer(
        "label_parts",
        PartScorer,
        layers=[emissions],
        attrs={"parts_of": parts_of, "parts": IdentityCache()},
        shims=[WeightsShim("label_parts")],
    )


class PartScorer(Scorer):
    """Scores of labels from scores of their parts."""

    @property
    def parts(self) -> LabelParts:
        """RAISES ValueError [HS052]: before initialization."""
        self.shim.values("pairs", is_train=True)
        extra = self.shim.extra
        return self.model.attrs["parts"].of((extra,), lambda: LabelParts(extra))

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        parts = self.parts
        inner = flat_scores(self.model.layers[0], docs, is_train, len(parts.names))

        def backprop(d_scores: Floats32) -> None:
            inner.backprop(parts.back(d_scores))

        return FlatScores(parts.scores(inner.scores), inner.lengths, backprop)

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> AnyFeatures:
        matrix = self.parts.matrix
        for feature in scorer_of(self.model.layers[0]).features_at(docs, words):
            yield feature._replace(weights=feature.weights @ matrix)

    def define(self, texts: TrainingTexts) -> None:
        """Find the parts of labels, which may depend on how often labels occur."""
        ids = np.concatenate([np.zeros(0, np.int32), *texts.gold])
        counts = np.bincount(ids[ids >= 0], minlength=len(texts.labels))
        self.shim.extra = packed_parts(self.model.attrs["parts_of"](texts.labels, counts))

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Set the weights of the parts found by `define` to zero."""
        if Y is None or not self.shim.extra:
            super().initialize(X)
            return
        n_parts = len(self.shim.extra["names"])
        # the layer below scores parts: it gets its width from arrays with a column for each
        part_scores = [cast(Floats2d, np.zeros((len(y), n_parts), np.float32)) for y in Y]
        self.model.layers[0].initialize(X, part_scores)
        self.shim.set(Parameter("pairs", np.zeros((n_parts, n_parts))))
        self.model.set_dim("nO", Y[0].shape[1])


def packed_parts(parts_of: list[list[LabelPart]]) -> dict[str, Any]:
    """Arrays of the parts of each label, as they are saved.

    names: of the parts (P,), those that most labels share first. kinds (P,): parts of one kind >= 0
    have weights for pairs. parts: numbers, label after label: label y has
    parts[first[y] : first[y + 1]]. first (L + 1,).
    """
    counts = Counter(chain.from_iterable(parts_of))
    parts = sorted(counts, key=lambda part: (-counts[part], part))
    id_of = {part: i for i, part in enumerate(parts)}
    kinds = sorted({part.kind for part in parts} - {""})
    kind_of = {kind: i for i, kind in enumerate(kinds)}
    ids = [sorted({id_of[part] for part in label}) for label in parts_of]
    return {
        "names": [part.name for part in parts],
        "kinds": np.array([kind_of.get(part.kind, -1) for part in parts], np.int32),
        "parts": np.array([*chain.from_iterable(ids)], np.int32),
        "first": np.cumsum([0, *map(len, ids)], dtype=np.int32),
    }


def morphological_parts() -> PartsOf:
    """Registered as `spacy_hoseq.morphological_parts.v1`. The parts of
    "Case=Gen|Number=Sing|POS=NOUN":

        POS=NOUN, Case=Gen, Number=Sing     its features
        NOUN Case=Gen, NOUN Number=Sing     each with the part of speech
        the label as a whole                if it was seen at least twice

    Weights for pairs are between parts of speech, between whole labels, and between values of one
    feature, alone and with their parts of speech.
    A tag, a label without "=" or the feature TAG, has those of its positions: if it consists of
    parts between "|", or if all tags are of one length, at least four.
    """
    return _parts_of


def _parts_of(labels: Sequence[str], counts: Ints) -> list[list[LabelPart]]:
    label_features = [_features(label) for label in labels]
    tags = [value for name, value in chain.from_iterable(label_features) if name == "TAG"]
    lengths = set(map(len, tags))
    is_positional = len(lengths) == 1 and min(lengths) >= 4
    parts_of = []
    for label, features, count in zip(labels, label_features, counts.tolist(), strict=True):
        parts = _parts(features, is_positional)
        # weights of a label that was seen once would learn its one example by heart
        if count >= 2:
            parts.append(LabelPart(f"whole {label}", "whole"))
        parts_of.append(parts)
    return parts_of


def _features(label: str) -> list[tuple[str, str]]:
    """Names and values of the features of a label. A tag alone is the value of TAG."""
    if label == "_":
        return []
    pairs = []
    for feature in label.split("|"):
        name, sign, value = feature.partition("=")
        if not sign:
            return [("TAG", label)]
        pairs.append((name, unquote(value) if name == "TAG" else value))
    return pairs


def _parts(features: list[tuple[str, str]], is_positional: bool) -> list[LabelPart]:
    parts = []
    pos = dict(features).get("POS")
    for name, value in features:
        parts.append(LabelPart(f"{name}={value}", name))
        if name == "TAG":
            pieces: Sequence[str] = ()
            if "|" in value:
                pieces = value.split("|")
            elif is_positional:
                pieces = value
            for i, piece in enumerate(pieces):
                parts.append(LabelPart(f"TAG{i}={piece}", f"TAG{i}"))
        elif pos is not None and name != "POS":
            parts.append(LabelPart(f"{pos} {name}={value}", f"POS {name}"))
    return parts
