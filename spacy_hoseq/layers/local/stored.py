"""What local classifiers save: the features that some of them has a weight for; and checks of what
was loaded."""

from typing import Any, Dict, List, NamedTuple

import numpy as np

from ...arrays import Keys
from ...learning.used_rows import UsedRows
from ..weights.storage import keys_problem
from .learner import SparseRows, group_starts


class KeptFeatures(NamedTuple):
    """weights: of each classifier, by its mask. keys: of the features, one array a group."""

    weights: Dict[int, SparseRows]
    keys: List[Keys]


def nonzero_rows(weights: SparseRows) -> SparseRows:
    """Without the rows of zeros."""
    kept = weights.values.any(axis=1)
    return SparseRows(weights.rows[kept], weights.values[kept])


def without_unused(
    weights: Dict[int, SparseRows], keys: List[Keys], groups: Dict[int, List[int]]
) -> KeptFeatures:
    """Leave out features without a weight anywhere; the weights then have other rows. groups: of
    each classifier."""
    sizes = [len(group) for group in keys]
    used = [np.zeros(size + 1, bool) for size in sizes]
    for visible, (rows, _) in weights.items():
        starts = group_starts([sizes[g] for g in groups[visible]])
        for g, start in zip(groups[visible], starts, strict=False):
            used[g][rows[(rows >= start) & (rows < start + sizes[g])] - start] = True
    new_sizes = [int(mask.sum()) for mask in used]
    kept = {}
    for visible, (rows, values) in weights.items():
        starts = group_starts([new_sizes[g] for g in groups[visible]])
        parts = [
            start + np.cumsum(used[g]) - used[g]
            for g, start in zip(groups[visible], starts, strict=False)
        ]
        kept[visible] = SparseRows(np.concatenate(parts)[rows].astype(np.int32), values)
    return KeptFeatures(kept, [group[mask[:-1]] for group, mask in zip(keys, used, strict=True)])


def classifiers_problem(
    tables: Dict[int, UsedRows], extra: Dict[str, Any], groups: Dict[int, List[int]], n_groups: int
) -> str:
    """What is wrong with what was loaded, "" if nothing."""
    if not extra:
        return "weights without features" if tables else ""
    keys = extra["keys"]
    values = extra["values"]
    if len(keys) != n_groups:
        return f"features for {len(keys) - 1} label templates, but the config has {n_groups - 1}"
    for group in keys:
        problem = keys_problem(group)
        if problem:
            return problem
    if values.dtype != np.uint64 or values.ndim != 1 or len(values) < 3:
        return "no values of labels"
    if not isinstance(extra["n_tokens"], int) or extra["n_tokens"] < 0:
        return "no number of training tokens"
    if set(tables) != set(groups):
        return f"classifiers {sorted(tables)}, but the config asks for {sorted(groups)}"
    for visible, table in tables.items():
        starts = group_starts([len(keys[g]) for g in groups[visible]])
        if table.shape[1:] != (len(values) - 2,) or table.table.dtype != np.float32:
            return f"the parts of classifier {visible} do not fit together"
        if table.shape[0] > starts[-1] or np.isin(table.rows, starts[1:] - 1).any():
            return f"classifier {visible} has weights for features that are not there"
    return ""
