"""Labels that share weights: a label's score is the sum of those of its parts.

    scores[n, y]  = sum over parts p of y: part_scores[n, p]
    trans[y', y]  = sum over parts q of y', p of y: pairs[q, p]

With M (P, L), M[p, y] = 1 if p is a part of y, that is part_scores M and M' pairs M, and gradients
come back as d_scores M' and M d_trans M'. What comes out are scores of whole labels, so decoding
stays exact over whole labels. A label that is rare, or was never seen, is made of parts that are
not. `morphological_parts` says which parts labels of morphology, and positional tags, have.

Checked against the definition in tests/layers/test_label_parts.py, and by finite differences in
tests/layers/test_heads.py.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Floats32, Ints
from ..caches import IdentityCache
from ..learning.gradients import CellGradient
from ..learning.parameter import Parameter
from .scorer import (
    Emissions,
    Feature,
    FlatScores,
    Scorer,
    flat_scores,
    scorer_of,
    scoring_layer,
)
from .weights import WeightsShim

POS = "POS"
TAG = "TAG"
SHORTEST = 4  # characters of a positional tag
LEAST_WHOLE = 2  # times that a label is seen before it has weights as a whole
BLOCK = 128  # tokens whose scores are added up together


class LabelPart(NamedTuple):
    """kind: parts of one kind have weights for pairs, as Case=Gen beside Case=Nom; "" = of none."""

    name: str
    kind: str


# parts of each label, by its name and how often it was seen
PartsOf = Callable[[Sequence[str], Ints], list[list[LabelPart]]]


def label_parts(emissions: Emissions, parts_of: PartsOf) -> Emissions:
    """Emissions of whole labels from emissions of parts, with weights for pairs of parts. parts_of:
    which parts labels have; asked in initialization, and saved with the weights."""
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
    def parts(self) -> "LabelParts":
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

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> Iterator[Feature]:
        matrix = self.parts.matrix
        for feature in scorer_of(self.model.layers[0]).features_at(docs, words):
            yield feature._replace(weights=feature.weights @ matrix)

    def define(self, texts: Any) -> None:
        """Ask for the parts of labels."""
        ids = np.concatenate([np.zeros(0, np.int32), *texts.gold])
        counts = np.bincount(ids[ids >= 0], minlength=len(texts.labels))
        self.shim.extra = packed_parts(self.model.attrs["parts_of"](texts.labels, counts))

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Zero weights, of the parts found by `define` before."""
        if Y is None or not self.shim.extra:
            super().initialize(X)
            return
        n_parts = len(self.shim.extra["names"])
        of_parts = [cast(Floats2d, np.zeros((len(y), n_parts), np.float32)) for y in Y]
        self.model.layers[0].initialize(X, of_parts)
        self.shim.set(Parameter("pairs", np.zeros((n_parts, n_parts))))
        self.model.set_dim("nO", Y[0].shape[1])


def packed_parts(parts_of: list[list[LabelPart]]) -> dict[str, Any]:
    """Arrays of the parts of each label, those that many labels have first: label y has
    parts[first[y] : first[y + 1]], first (L + 1,). names: of all parts. kinds (P,): parts of one
    kind >= 0 have weights for pairs."""
    counts = Counter(part for of_label in parts_of for part in of_label)
    every = sorted(counts, key=lambda part: (-counts[part], part))
    ids = {part: i for i, part in enumerate(every)}
    kinds = {kind: i for i, kind in enumerate(sorted({part.kind for part in every} - {""}))}
    rows = [sorted({ids[part] for part in of_label}) for of_label in parts_of]
    return {
        "names": [part.name for part in every],
        "kinds": np.array([kinds.get(part.kind, -1) for part in every], np.int32),
        "parts": np.array([i for row in rows for i in row], np.int32),
        "first": np.cumsum([0, *map(len, rows)], dtype=np.int32),
    }


class LabelParts:
    """Sums over parts. extra: what `packed_parts` says. matrix (P, L): 1 where a part is one of a
    label."""

    def __init__(self, extra: dict[str, Any]) -> None:
        self.names: list[str] = extra["names"]
        kinds = extra["kinds"]
        self.same_kind = (kinds[:, None] == kinds) & (kinds >= 0)
        parts: Ints = extra["parts"].astype(np.intp)
        sizes = np.diff(extra["first"])
        self.matrix: Floats = np.zeros((len(self.names), len(sizes)))
        self.matrix[parts, np.arange(len(sizes)).repeat(sizes)] = 1
        # labels of many parts come first: of each depth, the parts of those that have as many
        order = np.argsort(-sizes, kind="stable")
        self._place = np.argsort(order)
        self._depths = [
            parts.take(extra["first"].take(order[: np.count_nonzero(sizes > depth)]) + depth)
            for depth in range(int(sizes.max(initial=0)))
        ]

    def of_label(self, label: int) -> list[int]:
        return np.flatnonzero(self.matrix[:, label]).tolist()

    def scores(self, of_parts: AnyFloats) -> AnyFloats:
        """of_parts (N, P). RETURNS (N, L): sums in the order of the parts, whatever the batch."""
        scores = np.empty((len(of_parts), len(self._place)), of_parts.dtype)
        for start in range(0, len(of_parts), BLOCK):
            some = np.ascontiguousarray(of_parts[start : start + BLOCK].T)  # (P, n)
            sums = np.zeros((len(self._place), some.shape[1]), some.dtype)
            for parts in self._depths:
                sums[: len(parts)] += some.take(parts, axis=0)
            scores[start : start + BLOCK] = sums.take(self._place, axis=0).T
        return scores

    def back(self, d_scores: AnyFloats) -> AnyFloats:
        """Gradient of `scores`. d_scores (N, L), most rows perhaps 0. RETURNS (N, P)."""
        taught = np.flatnonzero(d_scores.any(axis=1))
        d_parts = np.zeros((len(d_scores), len(self.names)), d_scores.dtype)
        d_parts[taught] = d_scores[taught] @ self.matrix.T.astype(d_scores.dtype)
        return d_parts

    def pairs(self, of_parts: AnyFloats) -> AnyFloats:
        """of_parts (P, P). RETURNS (L, L)."""
        return self.scores(self.scores(of_parts).T).T

    def pairs_back(self, d_pairs: AnyFloats) -> CellGradient:
        """Gradient of `pairs` where there are weights. d_pairs (L, L), most of it 0."""
        before = np.flatnonzero(d_pairs.any(axis=1))
        after = np.flatnonzero(d_pairs.any(axis=0))
        between = d_pairs[np.ix_(before, after)].astype(np.float64)
        gradient = self.matrix[:, before] @ between @ self.matrix[:, after].T
        cells = np.flatnonzero(gradient * self.same_kind)
        return CellGradient(cells, gradient.take(cells))


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
    rows = [_features(label) for label in labels]
    lengths = {len(value) for row in rows for name, value in row if name == TAG}
    is_positional = len(lengths) == 1 and min(lengths) >= SHORTEST
    result = []
    for label, features, count in zip(labels, rows, counts.tolist(), strict=True):
        whole = [LabelPart(f"whole {label}", "whole")] if count >= LEAST_WHOLE else []
        result.append([*_parts(features, is_positional), *whole])
    return result


def _features(label: str) -> list[tuple[str, str]]:
    """Names and values. A tag alone is the value of TAG."""
    features = [] if label == "_" else label.split("|")
    if any("=" not in feature for feature in features):
        return [(TAG, label)]
    pairs = [feature.split("=", 1) for feature in features]
    return [(name, unquote(value) if name == TAG else value) for name, value in pairs]


def _parts(features: list[tuple[str, str]], is_positional: bool) -> list[LabelPart]:
    parts = []
    pos = [value for name, value in features if name == POS]
    for name, value in features:
        parts.append(LabelPart(f"{name}={value}", name))
        if name == TAG:
            pieces = value.split("|") if "|" in value else value if is_positional else ""
            parts += [
                LabelPart(f"{name}{i}={piece}", f"{name}{i}") for i, piece in enumerate(pieces)
            ]
        elif pos and name != POS:
            parts.append(LabelPart(f"{pos[0]} {name}={value}", f"POS {name}"))
    return parts
