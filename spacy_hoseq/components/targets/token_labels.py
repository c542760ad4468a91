"""Labels in an attribute of each token: one of spaCy's, or an extension."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.attrs import ORTH, POS, SENT_START, TAG
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Ints, Keys, Labels, Mask
from ...errors import wrong_value
from ...features.sequences import WordDocs, by_doc, values_of
from ...words import tokens_of
from ..predictions import Predictions
from .target import Columns, Items, LabelTable, Target

# the two labels of "sent_start"
STARTS = "S"
CONTINUES = "I"


class TokenLabels(Target):
    """Labels in an attribute of each token.

    attribute (str): "tag", "pos", "sent_start" or an extension, "_.name". neg_prefix (str): as
        `Target` has it.
    RAISES ValueError [HS027]: an attribute that cannot be labelled, such as an extension that is
        computed.
    """

    extension = ""  # its name
    extend = False
    needs_same_word = False  # True: a token that is split or merged in the gold has no label

    def __init__(self, attribute: str, neg_prefix: str = "") -> None:
        self.attribute = attribute
        self.places: tuple[str, ...] = (attribute,)
        self.neg_prefix = neg_prefix
        # what spaCy sets at white space
        self.space = {"tag": "_SP", "pos": "SPACE"}.get(attribute, "")
        column = {"tag": TAG, "pos": POS, "sent_start": SENT_START}.get(attribute)
        if column is not None:
            self.columns = [column]
        else:
            self._register()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Register the extension again: it belongs to the process, not to the component."""
        self.__dict__.update(state)
        if self.extension:
            self._register()

    def _register(self) -> None:
        name = self.attribute.removeprefix("_.")
        if name == self.attribute or not name.isidentifier():
            raise self._error_of_attribute()
        self.extension = name
        if not Token.has_extension(name):
            Token.set_extension(name, default="")
        _, method, getter, setter = Token.get_extension(name)
        if method or (getter and not setter):
            raise self._error_of_attribute()

    def _error_of_attribute(self) -> ValueError:
        return wrong_value(
            "attribute",
            repr(self.attribute),
            '"tag", "pos", "sent_start" or an extension that can be written, such as "_.label"',
        )

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: an empty label, or one that the attribute cannot have: spaCy's
        parts of speech and starts of sentences are closed lists."""
        possible: list[str] = []  # any
        if self.attribute == "pos":
            possible = [*filter(None, PARTS_OF_SPEECH)]
        elif self.attribute == "sent_start":
            possible = [STARTS, CONTINUES]
        if not label or (possible and label not in possible):
            raise wrong_value(
                f"label of {self.attribute}", repr(label), ", ".join(possible) or "a name"
            )

    def is_set(self, doc: Doc) -> bool:
        """True if a token may have a label: a look at the Doc that costs less than reading it."""
        return bool(self.extension) or any(map(doc.has_annotation, self.columns))

    def are_set(self, docs: Sequence[Doc]) -> bool:
        """True if a token of any Doc may have a label."""
        if self.extension:
            return bool(docs)
        n_set = sum(map(np.count_nonzero, values_of(docs, self.columns)))
        if self.attribute == "sent_start":
            # the first token of a Doc always begins a sentence
            n_set -= np.count_nonzero([len(doc) for doc in docs])
        return bool(n_set > 0)

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),). RAISES ValueError [HS027]: an extension holds something
        else."""
        if self.extension:
            return self._read_extension(doc)
        values = np.asarray(doc.to_array(self.columns).reshape(-1), np.uint64)
        if self.attribute == "sent_start":
            return _label_keys(values.astype(np.int64), doc)
        return values

    def _read_extension(self, doc: Doc) -> Keys:
        keys = np.zeros(len(doc), np.uint64)
        for i, token in enumerate(tokens_of(doc)):
            text = getattr(token._, self.extension)
            if text and not isinstance(text, str):
                raise wrong_value(f"value of {self.attribute}", repr(text), "a string")
            if text:
                keys[i] = doc.vocab.strings.add(text)
        return keys

    def aligned(self, example: Example) -> Keys:
        """Gold labels of the predicted tokens; 0 where missing, or where a token does not align to
        one label."""
        gold = self.read(example.reference)
        words = example.predicted.to_array([ORTH])
        gold_words = example.reference.to_array([ORTH])
        if np.array_equal(words, gold_words):
            return gold
        if self.attribute == "sent_start":
            signs = {True: 1, False: -1, None: 0}
            starts = [signs[start] for start in example.get_aligned_sent_starts()]
            return _label_keys(np.array(starts, np.int64), example.reference)
        values = np.zeros(len(words), np.uint64)
        for i, word in enumerate(words):
            places = np.asarray(example.alignment.x2y[i], np.intp).reshape(-1)
            is_same_word = len(places) == 1 and gold_words[places[0]] == word
            # several gold tokens count if they agree, such as the parts of a name in "pos"
            if len(set(gold[places].tolist())) == 1 and (is_same_word or not self.needs_same_word):
                values[i] = gold[places[0]]
        return values

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Labels permitted beside those that are set (N, L): a label permits itself alone and so
        constrains its neighbours, "!NN" rules one out. A string that is no label of the component
        constrains nothing."""
        if not self.are_set(docs):
            return None
        if self.extension:
            keys = [self._values_before(doc)[:, 0] for doc in docs]
        else:
            keys = [self.read(doc) for doc in docs]
        masks = table.masks[table.rows(np.concatenate(keys))]
        return None if masks.all() else masks

    def items(self, doc: Doc) -> Items:
        """The words of a Doc with their labels, "" where there is none."""
        items = []
        for token, key in zip(doc, self.read(doc).tolist(), strict=True):
            if not token.is_space:
                label = doc.vocab.strings[key] if key else ""
                items.append((token.i, token.i + 1, label))
        return items

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Give other labels to tokens of an annotated Doc."""
        for i, _, label in items:
            self._put(doc[i], label)

    def write(
        self, docs: Sequence[Doc], reading: Predictions, table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the labels of each Doc; what is set already stays, unless `overwrite`."""
        words = reading.docs
        values = self._values(words, words.on_tokens(reading.best, -1), table)
        keeps = self.extend or not overwrite
        if keeps and words.are(docs):
            # most texts have no labels yet, which is known since they were read
            keeps = self.are_set(words)
        for doc, doc_values in zip(docs, by_doc(values, docs), strict=True):
            if keeps and self.is_set(doc):
                doc_values = self._merged(doc, doc_values, table, overwrite=overwrite)
            if not self.extension:
                doc.from_array(self.columns, doc_values)  # type: ignore[arg-type]
                continue
            for token, key in zip(doc, doc_values[:, 0].tolist(), strict=True):
                self._put(token, doc.vocab.strings[key] if key else "")

    def _values(self, docs: WordDocs, label_ids: Labels, table: LabelTable) -> Keys:
        """What stands for the labels of all tokens (N,) in the columns, (N, C) uint64."""
        values = table.values.take(label_ids)
        if self.space and (label_ids < 0).any():
            docs.vocab.strings.add(self.space)
        if self.attribute == "sent_start":
            starts = np.append(np.array(table.names).take(label_ids) == STARTS, False)
            ends = np.cumsum([0, *docs.sizes])
            # white space before the first word belongs to its sentence
            words = np.append(np.flatnonzero(label_ids >= 0), len(label_ids))
            starts[words[np.searchsorted(words, ends)]] = False
            starts[ends] = True
            values = np.where(starts[:-1], 1, -1).astype(np.uint64)
        return values[:, None]

    def _values_before(self, doc: Doc) -> Keys:
        """What is set on a Doc in the columns (n, C), without the default of an extension, which
        nobody has set."""
        if not self.extension:
            return np.asarray(doc.to_array(self.columns).reshape(-1, len(self.columns)), np.uint64)
        values = self.read(doc)
        getter = Token.get_extension(self.extension)[2]
        if getter is None:  # a value that an extension computes is no default
            for i, token in enumerate(doc):
                if ("._.", self.extension, token.idx, None) not in doc.user_data:
                    values[i] = 0
        return values[:, None]

    def _merged(self, doc: Doc, values: Keys, table: LabelTable, *, overwrite: bool) -> Keys:
        """What is set before (n, C), and `values` where nothing is set, or only a label ruled
        out."""
        before = self._values_before(doc)
        return np.where((before != 0) & ~np.isin(before, table.negative), before, values)

    def _put(self, token: Token, label: str) -> None:
        if self.extension:
            setattr(token._, self.extension, label)
        elif self.attribute == "sent_start":
            token.is_sent_start = label == STARTS
        else:
            setattr(token, f"{self.attribute}_", label)


def _label_keys(starts: Ints, doc: Doc) -> Keys:
    """String-store ids of the labels of SENT_START: 1 = starts, -1 = continues, 0 = not known."""
    keys = [np.uint64(doc.vocab.strings.add(label)) for label in (STARTS, CONTINUES)]
    return np.select([starts == 1, starts == -1], keys, np.uint64(0))


def texts_of(doc: Doc, columns: Columns) -> "list[list[str]]":
    """The strings of each token in some columns of `doc.to_array`, "" where nothing is set."""
    strings = doc.vocab.strings
    rows: Any = doc.to_array(columns).reshape(-1, len(columns)).tolist()
    texts = []
    for row in rows:
        texts.append([strings[key] if key else "" for key in row])
    return texts
