"""Labels that share weights: a label's score is the sum of those of its parts.

    scores[n, y]  = sum over parts p of y: part_scores[n, p]
    trans[y', y]  = sum over parts q of y', p of y: pairs[q, p]

With M (P, L), M[p, y] = 1 if p is a part of y, that is part_scores M and M' pairs M, and gradients
come back as d_scores M' and M d_trans M'. What comes out are scores of whole labels, so decoding
stays exact over whole labels. A label that is rare, or was never seen, is made of parts that are
not.

Sums over parts are made along a trie: labels whose first parts are the same share that part of the
sum. Its nodes are few more than the labels, and the order of a sum does not depend on the batch.

Checked against the definition, and by finite differences, in tests/layers/test_label_parts.py.
"""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, cast

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Floats32, Ints, Keys
from ..decoders.problem import ranges
from ..kept import Kept
from ..learning.gradients import CellGradient, added_cells
from ..learning.parameter import Parameter
from .named_features import Feature
from .scorer import (
    Emissions,
    FlatScores,
    Scorer,
    TrainingTexts,
    flat_scores,
    scorer_of,
    scoring_layer,
)
from .tuning import TUNING, Tuning
from .weights.shim import WeightsShim, weights_of


class LabelPart(NamedTuple):
    """kind: parts of one kind have weights for pairs, as Case=Gen beside Case=Nom; "" = of none."""

    name: str
    kind: str


PartsOf = Callable[
    [Sequence[str], Ints], List[List[LabelPart]]
]  # parts of each label, by its name and how often it was seen


class Level(NamedTuple):
    """Nodes of a trie that have as many parts: the node before each, its last part, and the labels
    that end there."""

    parent: Ints
    part: Ints
    labels: Ints
    nodes: Ints


class LabelParts:
    """Which parts labels have: label y has parts[first[y] : first[y + 1]], first (L + 1,). names:
    of all parts. kinds (P,): parts of one kind >= 0 have weights for pairs."""

    def __init__(self, names: List[str], kinds: Ints, parts: Ints, first: Ints) -> None:
        self.names = names
        self.kinds = kinds
        self.parts = parts
        self.first = first
        self.n_labels = len(first) - 1
        self._levels = _levels(parts, first)
        self.matrix: Floats = np.zeros((len(names), self.n_labels))
        self.matrix[parts, np.repeat(np.arange(self.n_labels), np.diff(first))] = 1
        self._whole: Kept[AnyFloats] = Kept()

    @classmethod
    def of(cls, parts_of: List[List[LabelPart]]) -> "LabelParts":
        """parts_of: of each label. Those that many labels have come first."""
        counts: Dict[LabelPart, int] = {}
        for of_label in parts_of:
            for part in of_label:
                counts[part] = counts.get(part, 0) + 1
        names = sorted(counts, key=lambda part: (-counts[part], part))
        ids = {name: i for i, name in enumerate(names)}
        known, kinds = np.unique([part.kind for part in names], return_inverse=True)
        kinds = np.where(known.take(kinds) == "", -1, kinds)
        rows = [sorted({ids[part] for part in of_label}) for of_label in parts_of]
        sizes = [len(row) for row in rows]
        return cls(
            [part.name for part in names],
            kinds,
            np.array([i for row in rows for i in row], np.intp),
            np.concatenate([[0], np.cumsum(sizes)]),
        )

    def scores(self, of_parts: AnyFloats, block_tokens: int) -> AnyFloats:
        """of_parts (N, P). RETURNS (N, L)."""
        scores = np.empty((len(of_parts), self.n_labels), of_parts.dtype)
        for start in range(0, len(of_parts), block_tokens):
            some = np.ascontiguousarray(of_parts[start : start + block_tokens].T)  # (P, n)
            nodes = np.zeros((1, some.shape[1]), some.dtype)
            block = np.zeros((self.n_labels, some.shape[1]), some.dtype)
            for level in self._levels:
                nodes = nodes.take(level.parent, axis=0)
                nodes += some.take(level.part, axis=0)
                block[level.labels] = nodes.take(level.nodes, axis=0)
            scores[start : start + block_tokens] = block.T
        return scores

    def back(self, d_scores: AnyFloats) -> AnyFloats:
        """Gradient of `scores`. d_scores (N, L), most rows perhaps 0. RETURNS (N, P)."""
        taught = np.flatnonzero(d_scores.any(axis=1))
        d_parts = np.zeros((len(d_scores), len(self.names)), d_scores.dtype)
        d_parts[taught] = d_scores[taught] @ self.matrix.T.astype(d_scores.dtype)
        return d_parts

    def pairs(self, of_parts: AnyFloats, block_tokens: int = TUNING.part_tokens) -> AnyFloats:
        """of_parts (P, P). RETURNS (L, L)."""
        return self.scores(self.scores(of_parts, block_tokens).T, block_tokens).T

    def pairs_back(self, d_pairs: AnyFloats) -> CellGradient:
        """Gradient of `pairs` where there are weights. d_pairs (L, L), most of it 0."""
        before, after = np.nonzero(d_pairs)
        sizes = np.diff(self.first)
        n_pairs = sizes[before] * sizes[after]
        pair = np.repeat(np.arange(len(before)), n_pairs)
        within = ranges(np.zeros(len(before), np.intp), n_pairs)
        i, j = np.divmod(within, sizes[after].take(pair))
        q = self.parts[self.first[before].take(pair) + i]
        p = self.parts[self.first[after].take(pair) + j]
        of_one_kind = np.flatnonzero((self.kinds[q] == self.kinds[p]) & (self.kinds[q] >= 0))
        cells = (q * len(self.names) + p).take(of_one_kind)
        return added_cells(
            cells, d_pairs[before, after].astype(np.float64).take(pair.take(of_one_kind))
        )

    def kept_pairs(self, trans: AnyFloats, of_parts: AnyFloats) -> AnyFloats:
        """trans + `pairs`: the same array as long as both are the same arrays."""

        def make() -> AnyFloats:
            together: AnyFloats = trans + self.pairs(of_parts)
            together.setflags(write=False)
            return together

        return self._whole.of((trans, of_parts), make)


def _levels(parts: Ints, first: Ints) -> List[Level]:
    sizes = np.diff(first)
    levels = []
    node_of = np.zeros(len(sizes), np.intp)  # of each label, at the level before
    for depth in range(int(sizes.max(initial=0))):
        going_on = np.flatnonzero(sizes > depth)
        keys = np.stack([node_of[going_on], parts[first[:-1][going_on] + depth]], axis=1)
        nodes, node = np.unique(keys, axis=0, return_inverse=True)
        node_of[going_on] = node.reshape(-1)
        ending = np.flatnonzero(sizes == depth + 1)
        levels.append(Level(nodes[:, 0], nodes[:, 1], ending, node_of[ending]))
    return levels


def label_parts(emissions: Emissions, parts_of: PartsOf, tuning: Tuning = TUNING) -> Emissions:
    """Emissions of whole labels from emissions of parts, with weights for pairs of parts. parts_of:
    which parts labels have; asked in initialization, and saved with the weights."""
    return scoring_layer(
        "label_parts",
        PartScorer,
        layers=[emissions],
        attrs={"parts_of": parts_of, "parts": KnownParts(tuning)},
        shims=[WeightsShim("label_parts", _problem)],
    )


class KnownParts:
    """The parts that the weights save, made of them when first needed."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self._parts: Kept[LabelParts] = Kept()

    def of(self, extra: Dict[str, Any]) -> LabelParts:
        return self._parts.of((extra,), lambda: _unpacked(extra))


def _unpacked(extra: Dict[str, Any]) -> LabelParts:
    arrays = (extra[name].astype(np.intp) for name in ("kinds", "parts", "first"))
    return LabelParts(list(extra["names"]), *arrays)


class PartScorer(Scorer):
    """Scores of labels from scores of their parts."""

    is_of_parts = True

    @property
    def parts(self) -> LabelParts:
        """RAISES ValueError [HS052]: before initialization."""
        shim = weights_of(self.model)
        shim.values("pairs", is_train=True)
        return self.model.attrs["parts"].of(shim.extra)

    def scores(self, docs: List[Doc], *, is_train: bool) -> FlatScores:
        parts = self.parts
        inner = flat_scores(self.model.layers[0], docs, is_train, len(parts.names))

        def backprop(d_scores: Floats32) -> None:
            inner.backprop(parts.back(d_scores))

        block_tokens = self.model.attrs["parts"].tuning.part_tokens
        return FlatScores(parts.scores(inner.scores, block_tokens), inner.lengths, backprop)

    @property
    def sees_sentences_alone(self) -> bool:
        return bool(scorer_of(self.model.layers[0]).sees_sentences_alone)

    def features_at(self, docs: List[Doc], words: Sequence[int]) -> Iterator[Feature]:
        matrix = self.parts.matrix
        yield from (
            feature._replace(weights=feature.weights @ matrix)
            for feature in scorer_of(self.model.layers[0]).features_at(docs, words)
        )

    def names(self, docs: List[Doc], keys: Keys) -> Dict[int, str]:
        return scorer_of(self.model.layers[0]).names(docs, keys)

    def columns_of(self, label: int) -> List[int]:
        first = self.parts.first
        return self.parts.parts[first[label] : first[label + 1]].tolist()

    def transitions(self, trans: AnyFloats, *, is_train: bool) -> AnyFloats:
        pairs = weights_of(self.model).values("pairs", is_train=is_train)
        if is_train:
            return trans + self.parts.pairs(pairs)
        return self.parts.kept_pairs(trans, pairs)

    def transitions_gradient(self, d_trans: AnyFloats) -> None:
        weights_of(self.model).add_gradient("pairs", self.parts.pairs_back(d_trans))

    def define(self, texts: TrainingTexts) -> None:
        """Ask for the parts of labels."""
        ids = np.concatenate([np.zeros(0, np.int32), *texts.gold])
        counts = np.bincount(ids[ids >= 0], minlength=len(texts.labels))
        parts = LabelParts.of(self.model.attrs["parts_of"](texts.labels, counts))
        weights_of(self.model).extra = {
            "names": parts.names,
            "kinds": parts.kinds.astype(np.int32),
            "parts": parts.parts.astype(np.int32),
            "first": parts.first.astype(np.int32),
        }

    def initialize(self, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
        """Zero weights, of the parts found by `define` before."""
        (inner,) = self.model.layers
        if Y is None or not self.shim.extra:
            inner.initialize(X, None)
            return
        n_parts = len(self.shim.extra["names"])
        inner.initialize(X, [cast(Floats2d, np.zeros((len(y), n_parts), np.float32)) for y in Y])
        self.shim.set(Parameter("pairs", np.zeros((n_parts, n_parts))))
        self.model.set_dim("nO", Y[0].shape[1])


def _problem(shim: WeightsShim) -> str:
    """What is wrong with loaded weights."""
    extra = shim.extra
    if not extra:
        return ""
    n_parts = len(extra["names"])
    parts = extra["parts"]
    first = extra["first"]
    fits = (
        len(extra["kinds"]) == n_parts
        and len(first) > 1
        and first[0] == 0
        and first[-1] == len(parts)
    )
    fits = fits and bool(
        (np.diff(first) >= 0).all() and (parts >= 0).all() and (parts < n_parts).all()
    )
    if not fits or shim.parameters["pairs"].shape != (n_parts, n_parts):
        return "parts of labels and their weights do not fit together"
    return ""
