"""The contract of a target: where the labels of a component stand on a Doc, and how they are read
and written."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ...arrays import Ints, Keys, Mask
from ...caches import cached_property
from ...chunks import TagTable
from ...errors import Warnings
from ...features.sequences import WordDocs, words_of
from ..reading import Reading

Columns = list[Any]
Items = list[tuple[int, int, str]]  # tokens or spans of a Doc, first <= i < end, with their labels
SPANS = "spans."  # how the place of a span group begins
ENTS = "ents"
ATTRIBUTES = ("tag", "pos", "morph", "lemma")
NAMED = 5  # unknown labels in a warning


class LabelTable:
    """From string-store ids to labels and to masks of permitted labels.

    labels: all labels, by id. neg_prefix (str): "!NN" in the gold annotation means "any label but
    NN"; "" = no such prefix. space (str): what is written at white-space tokens, which have the id
    -1.

    masks (R, L): row y permits label y alone; further rows, any label but one; the last row, all.
    """

    def __init__(
        self, labels: Sequence[str], strings: StringStore, neg_prefix: str, space: str = ""
    ) -> None:
        self.labels = list(labels)
        self.names = [*labels, space]  # the last one: of white space
        ids = [strings.add(label, allow_transient=False) for label in labels]  # type: ignore[call-arg]
        negative = [strings.as_int(f"{neg_prefix}{label}") for label in labels if neg_prefix]
        self.values = np.array([*ids, strings.as_int(space)], np.uint64)
        # what only rules a label out
        self.negative = np.array([*{*negative} - {*ids}], np.uint64)
        each = np.eye(len(ids), dtype=bool)
        self.masks = np.concatenate([each, ~each[: len(negative)], np.ones((1, len(ids)), bool)])
        names = np.array([*ids, *negative], np.uint64)
        self._order = np.argsort(names, kind="stable")
        self._names = names[self._order]

    @cached_property
    def tags(self) -> TagTable:
        """The labels as tags of chunks."""
        return TagTable(self.labels)

    def rows(self, values: Keys) -> Ints:
        """Rows of `masks` for annotated strings (N,); the last one if they name no known label."""
        at = np.minimum(np.searchsorted(self._names, values), len(self._names) - 1)
        return np.where(self._names[at] == values, self._order[at], len(self._names))


class Target(Protocol):
    """Place of labels on a Doc: in attributes of each token, or in spans that tags of tokens
    stand for.

    places (Tuple[str, ...]): all that is written: "tag", "pos", "morph", "lemma", "sent_start",
        "_.name"; "spans.NAME", "ents".
        The first one names the target.
    representation (str): how tags stand for spans (chunks.py); None = labels are those of tokens.
    neg_prefix (str): "!NN" in the gold annotation means "any label but NN"; "" = no such prefix.
    space (str): what stands at white-space tokens, which have no label; "" = nothing.
    columns: of `doc.to_array`, in which labels are written.
    expects_all (bool): the component has all labels of new text.
    """

    places: tuple[str, ...]
    representation: str | None = None
    neg_prefix: str = ""
    space: str = ""
    columns: Columns = []
    expects_all: bool = True

    @property
    def place(self) -> str:
        """The name of the target: "tag", "spans.chunks"."""
        return self.places[0]

    @property
    def labels_spans(self) -> bool:
        """True if labels are those of spans, not of tokens."""
        return self.representation is not None

    @property
    def finds_sentences(self) -> bool:
        """True if the sentences of a Doc follow from the labels, so that it is read without any."""
        return self.place == "sent_start"

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: no label that can stand there."""

    def names_in(self, examples: Sequence[Example]) -> list[str]:
        """All strings in the gold annotation, sorted: labels, and those with `neg_prefix`."""
        names = {
            eg.reference.vocab.strings[value]
            for eg in examples
            for value in set(self.read(eg.reference).tolist()) - {0}
        }
        return sorted(names)

    def labels_in(self, examples: Sequence[Example]) -> list[str]:
        """All labels in the gold annotation, sorted."""
        names = {name.removeprefix(self.neg_prefix) for name in self.names_in(examples)}
        return sorted(names - {""})

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),) as string-store ids; 0 where none is set."""

    def aligned(self, example: Example) -> Keys:
        """Gold labels of the predicted tokens of one example, as string-store ids; 0 where nothing
        is known."""

    def gold_rows(self, examples: Sequence[Example], table: LabelTable) -> Ints:
        """Labels that the annotation permits at the predicted tokens: rows (N,) of the table's masks.
        WARNS [HW001]: labels that are not in the table, unless new text has some."""
        values = np.concatenate([np.zeros(0, np.uint64), *map(self.aligned, examples)])
        rows = table.rows(values)
        unknown = values[(rows == len(table.masks) - 1) & (values != 0)]
        if len(unknown) and self.expects_all:
            names = sorted({_name_of(value, examples) for value in {*unknown.tolist()}})
            more = [f"{len(names) - NAMED} others"] if len(names) > NAMED else []
            labels = ", ".join([*names[:NAMED], *more])
            warnings.warn(Warnings.HW001.format(labels=labels, n=len(unknown)), stacklevel=2)
        return rows

    def items(self, doc: Doc) -> Items:
        """The labels that stand on a Doc, white space left out; "" = a token without a label."""

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Put other labels into the tokens first <= i < end of an annotated Doc. Spans that reach
        into them go."""

    def forget_words(self) -> None:
        """Drop what is remembered of words (at the end of a memory zone)."""
        return None

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Labels permitted beside what is set on the docs already (N, L); None = all."""
        return None

    def write(
        self, docs: Sequence[Doc], reading: Reading, table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the labels that were read. What is set already stays, unless `overwrite`."""


def places_in(examples: Sequence[Example]) -> list[str]:
    """Places of the gold annotation that have labels, sentences left out."""
    docs = [eg.reference for eg in examples]
    attributes = [
        name for name in ATTRIBUTES if any(doc.has_annotation(name.upper()) for doc in docs)
    ]
    groups = {f"{SPANS}{key}" for doc in docs for key in doc.spans}
    return [*attributes, *sorted(groups), *([ENTS] if any(doc.ents for doc in docs) else [])]


def _name_of(value: int, examples: Sequence[Example]) -> str:
    """The string of an id, which is that of some Doc's vocabulary: they may have several."""
    stores = (doc.vocab.strings for eg in examples for doc in (eg.reference, eg.predicted))
    return next((store[value] for store in stores if value in store), str(value))  # type: ignore[operator]


def word_examples(given: Iterable[Example], method: str = "gold") -> tuple[list[Example], WordDocs]:
    """The examples without white-space tokens, each itself if it has none. RETURNS them, and their
    predicted docs. RAISES TypeError [E978]: they are none. method (str): who wants them."""
    examples = list(given)
    validate_examples(examples, method)
    predicted = words_of([eg.predicted for eg in examples])
    references = words_of([eg.reference for eg in examples])
    parts = zip(examples, predicted, references, strict=True)
    return [
        eg if x is eg.predicted and y is eg.reference else Example(x, y) for eg, x, y in parts
    ], predicted
