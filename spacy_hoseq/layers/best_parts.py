"""Labels that can be on a best path, found without the scores of all labels.

The score of a label is the sum of those of its parts, and those are sums of rows of weights: with the rows w_k of the
features of a token, s[y] = sum_k sum_{p of y} w_k[p]. Labels fall into groups, of one part of speech and number, say.
For a group g

    max_{y in g} s[y]  <=  bound[g] = sum_k max_{y in g} sum_{p of y} w_k[p]

where each term is a number that belongs to a row of weights: it is made once for a word type, and kept. Labels of the
group with the largest bound are added up. Let j be the best of them; with what a label k can have over j beside its
neighbours, the limits R[j, k] of pruning (decoders/pruning/limits.py), no label of a group with

    bound[g] + max_{k in g} R[j, k]  <  s[j]

is on a best path (the test of bounds.py, for the whole group), and it is never added up. Labels of the groups that are
left are, part by part in the order of `label_parts.py`, so that scores are the same to the last bit. Bounds are rounded
upwards, by what sums of so many numbers can be off.

Checked against enumeration, and label by label against all scores, in tests/layers/test_best_parts.py.
"""

from functools import partial
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ..arrays import AnyFloats, AnyInts, Ints, distinct
from ..decoders.pruning import Candidates, Limits, least_reach
from ..features.growing_table import GrowingTable
from .emissions.kept_rows import KeptRows
from .label_parts import LabelParts
from .tuning import TUNING, Tuning


class Group(NamedTuple):
    """labels: ascending. columns: the parts that they have. parts: of the labels, numbered by these columns."""

    labels: Ints
    columns: Ints
    parts: LabelParts


class Scored(NamedTuple):
    """Labels of a group, added up at some tokens (n,). scores: (n, labels)."""

    group: Group
    tokens: Ints
    scores: AnyFloats


class Groups:
    """The labels, by group: those of group g are order[first[g] : first[g + 1]]. depth: most parts of a label."""

    def __init__(self, parts: LabelParts, tuning: Tuning = TUNING) -> None:
        self.parts, self._tuning = parts, tuning
        of_label = groups_of(parts)
        self.order = np.argsort(of_label, kind="stable")
        self.first = np.flatnonzero(np.diff(of_label.take(self.order), prepend=-1))
        self.every = [_group(parts, labels) for labels in np.split(self.order, self.first[1:])]
        self.depth = int(np.diff(parts.first).max())

    def most(self, of_labels: AnyFloats) -> AnyFloats:
        """Of the labels of each group. of_labels (n, L). RETURNS (n, G)."""
        most: AnyFloats = np.maximum.reduceat(of_labels.take(self.order, axis=1), self.first, axis=1)
        return most

    def bounds_of(self, table: AnyFloats, rows: AnyInts) -> AnyFloats:
        """Of some rows of weights. table (R, P), rows (n,). RETURNS (n, G + 1): of each group the largest sum of parts,
        and what sums of absolute values do not exceed."""
        bounds, size = np.empty((len(rows), len(self.every) + 1), table.dtype), self._tuning.part_tokens
        for start in range(0, len(rows), size):
            some, of_some = table.take(rows[start : start + size], axis=0), bounds[start : start + size]
            of_some[:, :-1] = self.most(self.parts.scores(some, size))
            of_some[:, -1] = np.abs(some).max(axis=1) * self.depth
        return bounds


class BestParts:
    """The groups of some labels, and bounds of rows of weights seen so far."""

    def __init__(self, tuning: Tuning = TUNING) -> None:
        self._tuning = tuning
        self._groups: Optional[Groups] = None
        self._bounds: Dict[int, GrowingTable] = {}  # of each term

    def candidates(self, parts: LabelParts, terms: List[KeptRows], limits: Limits) -> Optional[Candidates]:
        """Of all tokens. terms: scores of parts are the sums of their rows, in this order. RETURNS None if there is
        nothing to gain, or weights are not finite."""
        groups = self._groups
        if groups is None or groups.parts is not parts:
            self._groups = groups = Groups(parts, self._tuning)
        if len(groups.every) < 2:
            return None
        upper = self._upper(groups, terms)  # (N, G)
        if not np.isfinite(upper).all():
            return None
        n_tokens = len(upper)
        first = upper.argmax(axis=1)
        best, label = np.full(n_tokens, -np.inf, upper.dtype), np.zeros(n_tokens, np.intp)
        scored = self._scored(groups, terms, np.arange(n_tokens), first)
        _find_best(scored, best, label)
        tops, which = np.unique(label, return_inverse=True)
        reach = upper + groups.most(limits.everywhere(tops)).take(which, axis=0)
        is_open = reach >= least_reach(best, upper.dtype)[:, None]
        is_open[np.arange(n_tokens), first] = False
        more = self._scored(groups, terms, *np.nonzero(is_open))
        _find_best(more, best, label)
        return _left(scored + more, best, label, limits)

    def _upper(self, groups: Groups, terms: List[KeptRows]) -> AnyFloats:
        """Bounds of the groups at each token (N, G)."""
        n_groups, dtype = len(groups.every), terms[0].table.dtype
        upper = np.zeros((terms[0].rows.shape[1], n_groups + 1), dtype)
        for i, term in enumerate(terms):
            made_from, most = (groups, term.source), self._tuning.score_bytes // (dtype.itemsize * (n_groups + 1))
            kept = self._bounds.get(i)
            if kept is None or not kept.serves(made_from, most):
                self._bounds[i] = kept = GrowingTable(made_from, np.zeros((0, n_groups + 1), dtype))
            rows, bounds = kept.of(term.rows, partial(groups.bounds_of, term.table))
            for row in rows:
                upper += bounds.take(row, axis=0, mode="clip")
        n_numbers = sum(len(term.rows) for term in terms) + groups.depth
        margin = upper[:, -1:] * (n_numbers * np.finfo(dtype).eps)
        return np.asarray(upper[:, :-1] + margin)

    def _scored(self, groups: Groups, terms: List[KeptRows], tokens: Ints, of_tokens: Ints) -> List[Scored]:
        """tokens, of_tokens (n,): groups to add up at tokens."""
        by_group = np.argsort(of_tokens, kind="stable")
        ends = np.searchsorted(of_tokens, np.arange(len(groups.every)), side="right", sorter=by_group)
        scored = []
        for group, chosen in zip(groups.every, np.split(tokens.take(by_group), ends[:-1]), strict=True):
            size = max(1, self._tuning.group_cells // max(1, len(group.columns)))
            for start in range(0, len(chosen), size):
                some = chosen[start : start + size]
                scored.append(Scored(group, some, group.parts.scores(_sums(group, terms, some), size)))
        return scored

    def forget(self) -> None:
        self._bounds = {}

    def __getstate__(self) -> Dict[str, Any]:  # a worker process makes its own
        return {"_tuning": self._tuning, "_groups": None, "_bounds": {}}


def groups_of(parts: LabelParts) -> Ints:
    """Labels of a group have the same parts of some kinds: of those kinds, chosen one by one, that leave the least to
    look at, groups and parts of the average label's group. RETURNS (L,): groups are numbered from 0."""
    label, kind = np.repeat(np.arange(parts.n_labels), np.diff(parts.first)), parts.kinds.take(parts.parts)
    groups, least, kinds = np.zeros(parts.n_labels, np.intp), np.inf, distinct(kind[kind >= 0]).tolist()
    while True:
        costs = []
        for number in kinds:
            values = np.full(parts.n_labels, -1)
            values[label[kind == number]] = parts.parts[kind == number]
            finer = np.unique(np.stack([groups, values]), axis=1, return_inverse=True)[1].reshape(-1)
            sizes = np.bincount(finer)
            n_parts = np.bincount(distinct(finer.take(label) * len(parts.names) + parts.parts) // len(parts.names))
            costs.append((len(sizes) + float(sizes @ n_parts) / parts.n_labels, finer))
        cost, finest = min(costs, key=lambda one: one[0], default=(np.inf, groups))
        if cost >= least:
            return groups
        groups, least = finest, cost


def _group(parts: LabelParts, labels: Ints) -> Group:
    of_labels = [parts.parts[parts.first[y] : parts.first[y + 1]] for y in labels.tolist()]
    columns, numbers = np.unique(np.concatenate(of_labels), return_inverse=True)
    names = [parts.names[p] for p in columns.tolist()]
    first = np.concatenate([[0], np.cumsum([len(of_label) for of_label in of_labels])])
    return Group(labels, columns, LabelParts(names, parts.kinds.take(columns), numbers.reshape(-1), first))


def _sums(group: Group, terms: List[KeptRows], tokens: Ints) -> AnyFloats:
    """Scores of the parts of a group, added up as `sum_rows` does. RETURNS (n, columns)."""
    sums = np.zeros((len(tokens), len(group.columns)), terms[0].table.dtype)
    for term in terms:
        numbers, width = term.table.reshape(-1), term.table.shape[1]
        for row in term.rows:
            of_tokens = row.take(tokens).astype(np.intp, copy=False)
            there = np.flatnonzero(of_tokens != term.nothing)
            cells = of_tokens.take(there)[:, None] * width + group.columns
            if len(there) == len(sums):
                sums += numbers.take(cells, mode="wrap")  # (in two thirds of the time of "raise" and "clip")
            elif len(there):
                sums[there] += numbers.take(cells, mode="wrap")
    return sums


def _find_best(scored: List[Scored], best: AnyFloats, label: Ints) -> None:
    """Note the best score of each token (N,), and whose it is, if it is better than what is known."""
    for group, tokens, scores in scored:
        top = scores.argmax(axis=1)
        most = scores[np.arange(len(top)), top]
        better = np.flatnonzero(most > best.take(tokens))
        best[tokens.take(better)] = most.take(better)
        label[tokens.take(better)] = group.labels.take(top.take(better))


def _left(scored: List[Scored], best: AnyFloats, label: Ints, limits: Limits) -> Candidates:
    """The test of `candidate_labels`, of the labels that were added up."""
    n_labels, least = len(limits.trans), least_reach(best, best.dtype)
    tops, which = np.unique(label, return_inverse=True)
    over_tops = limits.everywhere(tops)  # (tops, L)
    parts: List[Tuple[Ints, AnyFloats]] = []
    for group, tokens, scores in scored:
        reach = over_tops.take(group.labels, axis=1).take(which.take(tokens), axis=0)
        reach = np.add(reach, scores, out=reach if reach.dtype == np.result_type(reach, scores) else None)
        place, column = np.nonzero(reach >= least.take(tokens)[:, None])
        parts.append((tokens.take(place) * n_labels + group.labels.take(column), scores[place, column]))
    cells, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(cells)
    token, labels = np.divmod(cells.take(order), n_labels)
    first = np.concatenate([[0], np.cumsum(np.bincount(token, minlength=len(best)))])
    return Candidates(first, labels, values.take(order).astype(np.float64), np.zeros(len(cells)))
