"""Scores of a batch that go from layer to layer Doc by Doc, as thinc has it, without being taken apart for it."""

from typing import Any, List, Optional, Sequence, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.types import Floats2d

from ...features.sequences import by_doc


class ScoresByDoc(List[Floats2d]):
    """Scores of each Doc: views of `flat`.

    flat (N, L): of all tokens. lengths (S,): of the sequences that the docs consist of.
    """

    def __init__(self, flat: NDArray[Any], lengths: NDArray[np.int32], docs: Sequence[Doc]) -> None:
        super().__init__(cast(List[Floats2d], by_doc(flat, docs)))
        self.flat, self.lengths = flat, lengths


def whole(parts: List[Floats2d]) -> Optional[ScoresByDoc]:
    """The list itself if its scores lie in one array; a layer in between may have put others in their place."""
    together = isinstance(parts, ScoresByDoc) and all(cast(Any, part).base is parts.flat for part in parts)
    return cast(ScoresByDoc, parts) if together else None
