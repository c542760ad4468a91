"""Gold annotation of examples: the labels that it permits at each token.

Labels of tokens are read as ids of the string store, 0 where there is none.
"""

import warnings
from functools import cached_property
from typing import Callable, Iterable, List, Sequence, Tuple

import numpy as np
from spacy.strings import StringStore
from spacy.training import Example, validate_get_examples

from ..arrays import Ints, Keys, Mask
from ..chunks import TagTable
from ..errors import Warnings
from ..features.sequences import WordDocs, words_of


class LabelTable:
    """From string-store ids to labels and to masks of permitted labels.

    labels: all labels, by id. neg_prefix (str): "!NN" in the gold annotation means "any label but NN"; "" = no such
    prefix. space (str): what is written at white-space tokens, which have the id -1.
    """

    def __init__(self, labels: Sequence[str], strings: StringStore, neg_prefix: str, space: str = "") -> None:
        n = len(labels)
        self.labels, self.names = labels, [*labels, space]  # names[-1]: of white space
        self.ids = np.array([strings.add(label) for label in labels], np.uint64)
        self.values = np.append(self.ids, np.uint64(strings.as_int(space)))
        names, masks = list(self.ids), [np.eye(n, dtype=bool)]
        if neg_prefix:
            names += [strings.as_int(f"{neg_prefix}{label}") for label in labels]
            masks.append(~np.eye(n, dtype=bool))
        everything = np.ones((1, n), bool)
        order = np.argsort(np.array(names, np.uint64), kind="stable")
        self._names = np.array(names, np.uint64)[order]
        self._masks = np.concatenate([np.concatenate(masks)[order], everything])  # last row: no annotation

    @cached_property
    def tags(self) -> TagTable:
        """The labels as tags of chunks."""
        return TagTable(self.labels)

    def masks(self, values: Keys) -> Tuple[Mask, Mask]:
        """RETURNS permitted labels (N, L) bool, and where an annotation names no known label (N,) bool."""
        at = np.minimum(np.searchsorted(self._names, values), len(self._names) - 1)
        known = self._names[at] == values
        return self._masks[np.where(known, at, len(self._names))], ~known & (values != 0)


def permitted_labels(values: Keys, examples: Sequence[Example], table: LabelTable) -> Mask:
    """The labels that gold values permit, as `gold_mask` has them. values (N,): of these examples. RETURNS (N, L) bool.
    WARNS [HW001]."""
    masks, unknown = table.masks(values)
    if unknown.any():
        names = sorted({_name_of(value, examples) for value in set(values[unknown].tolist())})
        warnings.warn(Warnings.HW001.format(labels=", ".join(names), n=int(unknown.sum())), stacklevel=2)
    return masks


def _name_of(value: int, examples: Sequence[Example]) -> str:
    """The string of an id, which is that of some Doc's vocabulary: they may have several."""
    stores = (doc.vocab.strings for eg in examples for doc in (eg.reference, eg.predicted))
    return next((store[value] for store in stores if value in store), str(value))  # type: ignore[operator]


def word_examples(examples: Sequence[Example]) -> Tuple[List[Example], WordDocs]:
    """The examples without white-space tokens, each itself if it has none. RETURNS them, and their predicted docs."""
    predicted, references = words_of([eg.predicted for eg in examples]), words_of([eg.reference for eg in examples])
    parts = zip(examples, predicted, references, strict=True)
    return [eg if x is eg.predicted and y is eg.reference else Example(x, y) for eg, x, y in parts], predicted


def known_labels(masks: Mask) -> Ints:
    """Label ids where the gold annotation permits one label only, -1 elsewhere. masks (N, L). RETURNS (N,)."""
    return np.where(masks.sum(axis=1) == 1, masks.argmax(axis=1), -1)


def read_examples(get_examples: Callable[[], Iterable[Example]], method: str) -> List[Example]:
    """All training examples. RAISES as spaCy's `validate_get_examples`, which would read all of them once more."""
    if not callable(get_examples):
        validate_get_examples(get_examples, method)
    found = get_examples()
    examples = list(found or ())
    validate_get_examples(lambda: examples or found, method)
    return examples
