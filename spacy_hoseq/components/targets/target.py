"""The contract of a target: where the labels of a component stand on a Doc, and how they are read
and written."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ...arrays import Ints, Keys, Mask
from ...caches import cached_property
from ...chunks import TagTable
from ...errors import Warnings
from ...features.sequences import WordDocs, words_of
from ..predictions import Predictions

Columns = list[Any]
Items = list[tuple[int, int, str]]  # tokens or spans of a Doc, first <= i < end, with their labels
# places: a span group is "spans.NAME"
SPANS = "spans."
ENTS = "ents"


class LabelTable:
    """Maps string-store ids to labels and to masks of permitted labels.

    labels: all labels, by id. neg_prefix (str): "!NN" in the gold annotation means "any label but
    NN"; "" = no such prefix. space (str): what is written at white-space tokens, which have the id
    -1.

    names (L + 1,): the labels, then `space`, so that the id -1 names it. values (L + 1,): their
    string-store ids. negative: ids of strings that only rule a label out.
    masks (R, L): row y permits label y alone; further rows, any label but one; the last row, all.
    """

    def __init__(
        self, labels: Sequence[str], strings: StringStore, neg_prefix: str, space: str = ""
    ) -> None:
        self.labels = list(labels)
        self.names = [*labels, space]
        # labels outlive a memory zone
        ids = [strings.add(label, allow_transient=False) for label in labels]  # type: ignore[call-arg]
        negative = []
        if neg_prefix:
            negative = [strings.as_int(f"{neg_prefix}{label}") for label in labels]
        self.values = np.array([*ids, strings.as_int(space)], np.uint64)
        self.negative = np.array(list(set(negative) - set(ids)), np.uint64)
        alone = np.eye(len(ids), dtype=bool)
        everything = np.ones((1, len(ids)), bool)
        self.masks = np.concatenate([alone, ~alone[: len(negative)], everything])
        # `rows` looks ids up by binary search; a stable sort prefers a label to "!label"
        keys = np.array([*ids, *negative], np.uint64)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    @cached_property
    def tags(self) -> TagTable:
        """The labels as tags of chunks."""
        return TagTable(self.labels)

    def rows(self, values: Keys) -> Ints:
        """Rows of `masks` for annotated strings (N,); the last one if they name no known label."""
        at = np.minimum(np.searchsorted(self._keys, values), len(self._keys) - 1)
        return np.where(self._keys[at] == values, self._order[at], len(self._keys))


class Target(Protocol):
    """Where labels stand on a Doc: in attributes of each token, or in spans, as tags of tokens.

    places (tuple[str, ...]): everything that is written: "tag", "pos", "morph", "lemma",
        "sent_start", "_.name"; "spans.NAME", "ents". The first one names the target.
    representation (str): how tags stand for spans (chunks.py); None = labels are those of tokens.
    neg_prefix (str): "!NN" in the gold annotation means "any label but NN"; "" = no such prefix.
    space (str): what is written at white-space tokens, which have no label; "" = nothing.
    columns: spaCy's attributes of tokens that are written, as `doc.to_array` takes them.
    expects_all (bool): text is expected to have no other labels than the component.
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
        """True if the labels are those of spans, not of tokens."""
        return self.representation is not None

    @property
    def finds_sentences(self) -> bool:
        """True if the labels are boundaries of sentences: a Doc is then read without its own."""
        return self.place == "sent_start"

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: no label that can stand there."""

    def names_in(self, examples: Sequence[Example]) -> list[str]:
        """All strings in the gold annotation, sorted: labels, and those with `neg_prefix`."""
        names: set[str] = set()
        for example in examples:
            keys = set(self.read(example.reference).tolist()) - {0}
            names.update(example.reference.vocab.strings[key] for key in keys)
        return sorted(names)

    def labels_in(self, examples: Sequence[Example]) -> list[str]:
        """All labels in the gold annotation, sorted."""
        names = {name.removeprefix(self.neg_prefix) for name in self.names_in(examples)}
        return sorted(names - {""})

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),) as string-store ids; 0 where none is set."""

    def aligned(self, example: Example) -> Keys:
        """Gold labels of the predicted tokens of an example, as string-store ids; 0 = not known."""

    def gold_rows(self, examples: Sequence[Example], table: LabelTable) -> Ints:
        """Labels that the annotation permits at the predicted tokens: rows (N,) of the table's masks.
        WARNS [HW001]: labels that are not in the table, unless new text has some."""
        values = np.concatenate([np.zeros(0, np.uint64), *map(self.aligned, examples)])
        rows = table.rows(values)
        # the last row, which permits everything, is that of unknown labels and of none
        unknown = values[(rows == len(table.masks) - 1) & (values != 0)]
        if len(unknown) and self.expects_all:
            names = sorted({_string_of(key, examples) for key in set(unknown.tolist())})
            labels = ", ".join(names[:5])
            if len(names) > 5:
                labels += f", {len(names) - 5} others"
            warnings.warn(Warnings.HW001.format(labels=labels, n=len(unknown)), stacklevel=2)
        return rows

    def items(self, doc: Doc) -> Items:
        """The labels on a Doc, without white space; "" = a token without a label."""

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Replace the labels of the tokens first <= i < end of an annotated Doc. Spans that reach
        into them are removed."""

    def forget_words(self) -> None:
        """Empty the caches that hold strings of words (at the end of a memory zone)."""
        return None

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Labels permitted beside what is set on the docs already (N, L); None = all."""

    def write(
        self, docs: Sequence[Doc], reading: Predictions, table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the labels of a reading. What is set already stays, unless `overwrite`."""


def places_in(examples: Sequence[Example]) -> list[str]:
    """Places of the gold annotation that have labels, without sentences."""
    docs = [eg.reference for eg in examples]
    places = []
    for name in ("tag", "pos", "morph", "lemma"):
        if any(doc.has_annotation(name.upper()) for doc in docs):
            places.append(name)
    groups = set().union(*(doc.spans for doc in docs))
    places += [f"{SPANS}{key}" for key in sorted(groups)]
    if any(doc.ents for doc in docs):
        places.append(ENTS)
    return places


def escaped(text: str, signs: str) -> str:
    """Text in which some signs, and "%", are written as in addresses: `unquote` reads it."""
    for sign in f"%{signs}":
        text = text.replace(sign, quote(sign))
    return text


def _string_of(key: int, examples: Sequence[Example]) -> str:
    """The string of an id. The docs may have several vocabularies: the first that knows it."""
    for example in examples:
        for doc in (example.reference, example.predicted):
            if key in doc.vocab.strings:  # type: ignore[operator]
                return str(doc.vocab.strings[key])
    return str(key)


def word_examples(given: Iterable[Example], method: str = "gold") -> tuple[list[Example], WordDocs]:
    """The examples without white-space tokens, each itself if it has none, and their predicted
    docs. RAISES TypeError [E978]: they are no examples. method (str): named in that error."""
    examples = list(given)
    validate_examples(examples, method)
    predicted = words_of([eg.predicted for eg in examples])
    references = words_of([eg.reference for eg in examples])
    # docs without white space are the same objects
    for i, (x, y) in enumerate(zip(predicted, references, strict=True)):
        if x is not examples[i].predicted or y is not examples[i].reference:
            examples[i] = Example(x, y)
    return examples, predicted
