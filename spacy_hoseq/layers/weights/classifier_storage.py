"""What local classifiers save: the features that some of them has a weight for; and checks of what was loaded."""

from typing import Any, Dict, List, NamedTuple

import numpy as np

from ...errors import Errors
from ...features.keys import Keys
from ..local.training import SparseRows, group_starts
from .storage import keys_problem


class Used(NamedTuple):
    """weights: of each classifier, by its mask. keys: of the features, one array a group."""

    weights: Dict[int, SparseRows]
    keys: List[Keys]


def nonzero_rows(weights: SparseRows) -> SparseRows:
    """Without the rows of zeros."""
    kept = weights.values.any(axis=1)
    return SparseRows(weights.rows[kept], weights.values[kept])


def without_unused(weights: Dict[int, SparseRows], keys: List[Keys], groups: Dict[int, List[int]]) -> Used:
    """Leave out features without a weight anywhere; the weights then have other rows. groups: of each classifier."""
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
        parts = [start + np.cumsum(used[g]) - used[g] for g, start in zip(groups[visible], starts, strict=False)]
        kept[visible] = SparseRows(np.concatenate(parts)[rows].astype(np.int32), values)
    return Used(kept, [group[mask[:-1]] for group, mask in zip(keys, used, strict=True)])


def classifiers_problem(
    weights: Dict[int, SparseRows], extra: Dict[str, Any], groups: Dict[int, List[int]], n_groups: int
) -> str:
    """What is wrong with what was loaded, "" if nothing. RAISES ValueError [HS054]: NaN or infinite weights."""
    if not extra:
        return "weights without features" if weights else ""
    keys, values = extra["keys"], extra["values"]
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
    if set(weights) != set(groups):
        return f"classifiers {sorted(weights)}, but the config asks for {sorted(groups)}"
    for visible, (rows, table) in weights.items():
        starts = group_starts([len(keys[g]) for g in groups[visible]])
        if rows.dtype != np.int32 or rows.ndim != 1 or table.dtype != np.float32 or (np.diff(rows) <= 0).any():
            return f"the weights of classifier {visible} are in no order, or no numbers"
        if table.shape != (len(rows), len(values) - 2):
            return f"the parts of classifier {visible} do not fit together"
        if len(rows) and not 0 <= rows[0] <= rows[-1] < starts[-1] or np.isin(rows, starts[1:] - 1).any():
            return f"classifier {visible} has weights for features that are not there"
        if not np.isfinite(table).all():
            raise ValueError(Errors.HS054.format(name=f"local_classifiers.{visible}"))
    return ""
