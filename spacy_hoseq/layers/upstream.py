"""What the components of a pipeline share beside a Doc: labels of an earlier one, with probabilities.

A component whose labels are listened to leaves them here when it annotates, and the listener reads
them (`listener.py`). Nothing is written to the Doc, so that a Doc which is saved, or sent to another
process, stays as light as without.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.tokens import Doc

from ..arrays import Ints
from ..decoders.answers import ProbableLabels
from ..features.keys import label_values
from ..words import original_of


class UpstreamLabels(NamedTuple):
    """Labels of a batch. probable: where they are and how probable, with the values that stand for
    them in feature keys (`label_values`) in the place of ids. threshold (float): the least
    probability."""

    probable: ProbableLabels
    threshold: float


class UpstreamKey(NamedTuple):
    """What a listener requests. name: of the component. threshold (float): the least probability."""

    name: str
    threshold: float


class DocLabels(NamedTuple):
    """n_tokens (int): of the Doc when it was annotated. probable: its labels; tokens and entries
    are counted from 0."""

    n_tokens: int
    probable: ProbableLabels


# The only state of the package that is kept by Doc. Key: the Doc (its identity), then what was
# requested. Bound: one entry for each Doc and request, copies of their own. It forgets an entry when
# its Doc is deleted, and replaces it when the Doc is annotated again.
UPSTREAM: "WeakKeyDictionary[Doc, dict[UpstreamKey, DocLabels]]" = WeakKeyDictionary()


def upstream_labels(
    probable: ProbableLabels, labels: Sequence[str], threshold: float
) -> UpstreamLabels:
    """The labels of a posterior, as listeners read them. labels: names, by id."""
    values: Any = label_values(labels).take(probable.labels)
    return UpstreamLabels(probable._replace(labels=values), threshold)


def write_upstream(docs: Sequence[Doc], key: UpstreamKey, labels: UpstreamLabels) -> None:
    """Leave the labels of a batch beside its docs. docs: without white space."""
    probable = labels.probable
    # entries are in the order of tokens, and pairs in the order of their later entries
    token_starts = np.cumsum([0, *map(len, docs)])  # (D + 1,)
    entry_starts = probable.tokens.searchsorted(token_starts)  # (D + 1,)
    pair_starts = probable.later.searchsorted(entry_starts)  # (D + 1,)
    n_entries = np.diff(entry_starts)
    n_pairs = np.diff(pair_starts)
    moved = _moved(probable, -token_starts[:-1], -entry_starts[:-1], n_entries, n_pairs)
    entry_bounds = entry_starts.tolist()
    pair_bounds = pair_starts.tolist()
    for i, doc in enumerate(docs):
        entries = slice(entry_bounds[i], entry_bounds[i + 1])
        pairs = slice(pair_bounds[i], pair_bounds[i + 1])
        # copies: a view would keep the arrays of the batch alive as long as the Doc
        columns = [column[entries].copy() for column in moved[:3]]
        columns += [column[pairs].copy() for column in moved[3:]]
        doc_labels = DocLabels(len(doc), ProbableLabels(*columns))
        UPSTREAM.setdefault(original_of(doc), {})[key] = doc_labels


def read_upstream(docs: Sequence[Doc], key: UpstreamKey) -> UpstreamLabels:
    """The labels beside docs, put together as those of a batch; none for a Doc without."""
    nothing = ProbableLabels(
        tokens=np.zeros(0, np.intp),
        labels=np.zeros(0, np.uint64),
        probabilities=np.zeros(0),
        earlier=np.zeros(0, np.intp),
        later=np.zeros(0, np.intp),
        pairs=np.zeros(0),
    )
    parts = [labels_beside(doc, key) or nothing for doc in docs]
    # `nothing` comes first, so that an empty batch has columns of the right types
    columns = zip(nothing, *parts, strict=True)
    together = ProbableLabels(*map(np.concatenate, columns))
    n_entries = np.array([len(part.tokens) for part in parts], np.intp)  # (D,)
    n_pairs = np.array([len(part.pairs) for part in parts], np.intp)  # (D,)
    token_starts = np.cumsum([0, *map(len, docs)])[:-1]
    entry_starts = np.cumsum(n_entries) - n_entries
    probable = _moved(together, token_starts, entry_starts, n_entries, n_pairs)
    return UpstreamLabels(probable, key.threshold)


def labels_beside(doc: Doc, key: UpstreamKey) -> ProbableLabels | None:
    """The labels beside a Doc. None: there are none, or its tokens were merged or split since."""
    doc_labels = UPSTREAM.get(original_of(doc), {}).get(key)
    if doc_labels is None or doc_labels.n_tokens != len(doc):
        return None
    return doc_labels.probable


def _moved(
    labels: ProbableLabels, tokens: Ints, entries: Ints, n_entries: Ints, n_pairs: Ints
) -> ProbableLabels:
    """Renumber tokens and entries, between numbers of a batch and of its docs.

    tokens, entries (D,): what is added to the numbers of each Doc. n_entries, n_pairs (D,): how many
    it has.
    """
    by = entries.repeat(n_pairs)
    return labels._replace(
        tokens=labels.tokens + tokens.repeat(n_entries),
        earlier=labels.earlier + by,
        later=labels.later + by,
    )
