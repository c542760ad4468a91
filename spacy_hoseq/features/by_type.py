"""Keys of whole corpora: those of templates about one word are made once for each word type, not at each token.

Checked in tests/features/test_by_type.py against the keys of all tokens.
"""

from typing import Iterator, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ..arrays import Keys, Rows
from .extract import Columns, FeatureExtractor
from .index import Index


class Counted(NamedTuple):
    """keys (K, n). counts (n,): how often each column stands in the text; None = once."""

    keys: Keys
    counts: Optional[NDArray[np.int64]]


def counted_keys(extractor: FeatureExtractor, columns: Columns) -> Iterator[Counted]:
    """All keys of a batch, some at a time."""
    types, place = np.unique(columns.types, return_inverse=True)
    for offset, templates in extractor.of_one_word.items():
        counts = np.bincount(place.take(columns.positions + offset), minlength=len(types))
        here = np.flatnonzero(counts)
        yield Counted(extractor.type_keys(columns, templates, types.take(here)), counts.take(here))
    if extractor.of_more:
        yield Counted(extractor.keys_between(columns, 0, columns.n_tokens, extractor.of_more), None)


def rows_of(extractor: FeatureExtractor, index: Index, columns: Columns) -> Rows:
    """Row of each template at each token of a batch. RETURNS (K, N)."""
    rows = np.empty((len(extractor.templates), columns.n_tokens), np.int32)
    types, place = np.unique(columns.types, return_inverse=True)
    for offset, templates in extractor.of_one_word.items():
        at = place.take(columns.positions + offset)
        for template, row in zip(templates, index.lookup(extractor.type_keys(columns, templates, types)), strict=True):
            row.take(at, out=rows[template], mode="clip")
    if extractor.of_more:
        keys = extractor.keys_between(columns, 0, columns.n_tokens, extractor.of_more)
        rows[extractor.of_more] = index.lookup(keys)
    return rows
