"""Scores of a batch in one array, from layer to layer.

thinc's interface has a list with an array for each Doc. Layers that others write, and thinc's own, keep it. Layers of
this package give all scores in one array (`attrs["flat"]`), and keep the list for those who want it: what leaves the
model is cut by Doc once, when labels are written.
"""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ...arrays import AnyFloats, Lengths
from ...errors import Errors
from ...features.sequences import by_doc, sequence_lengths

Emissions = Model[List[Doc], List[Floats2d]]
Backprop = Callable[[Any], Any]  # takes d_scores (N, L)


class FlatScores(NamedTuple):
    """scores (N, L): of all tokens. lengths (S,): of the sequences that the docs consist of. backprop: takes d_scores
    (N, L)."""

    scores: AnyFloats
    lengths: Lengths
    backprop: Backprop


def flat_scores(
    layer: Emissions, docs: List[Doc], is_train: bool, n_columns: Optional[int] = None, name: str = "emissions"
) -> FlatScores:
    """Scores of any layer. n_columns (int): L, if it is known. RAISES ValueError [HS053]: another width."""
    if "flat" in layer.attrs:
        flat: FlatScores = layer.attrs["flat"](layer, docs, is_train)
        _check_width(flat.scores, n_columns, name)
        return flat
    parts, backprop_parts = layer(docs, is_train)
    arrays = [layer.ops.to_numpy(part) for part in parts]
    for array in arrays:
        _check_width(array, n_columns or arrays[0].shape[1], name)
    nothing = np.zeros((0, n_columns or 0), np.float32)
    scores = np.concatenate(arrays) if len(arrays) > 1 else [*arrays, nothing][0]  # one long Doc is not copied

    def backprop(d_scores: AnyFloats) -> Any:
        return backprop_parts([cast(Floats2d, layer.ops.asarray(cast(Any, part))) for part in by_doc(d_scores, parts)])

    return FlatScores(scores, sequence_lengths(docs), backprop)


def forward_by_doc(model: Emissions, docs: List[Doc], is_train: bool) -> Tuple[List[Floats2d], Backprop]:
    """thinc's interface of a layer with `attrs["flat"]`."""
    flat: FlatScores = model.attrs["flat"](model, docs, is_train)

    def backprop(d_scores: List[Floats2d]) -> List[Doc]:
        flat.backprop(np.concatenate([np.zeros((0, flat.scores.shape[1]), flat.scores.dtype), *cast(Any, d_scores)]))
        return docs

    return cast(List[Floats2d], by_doc(flat.scores, docs)), backprop


def no_backprop(d_scores: AnyFloats) -> None:
    """Of prediction."""


def _check_width(scores: AnyFloats, n_columns: Optional[int], name: str) -> None:
    if n_columns is not None and scores.shape[1] != n_columns:
        raise ValueError(Errors.HS053.format(name=name, got=scores.shape[1], expected=n_columns))
