"""Labels in an attribute of each token: of spaCy, or an extension."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.attrs import ORTH, POS, SENT_START, TAG
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Keys, Labels, Mask
from ...errors import Errors
from ...features.sequences import by_doc, values_of
from ...words import tokens_of
from ..reading import Reading
from .target import Columns, Items, LabelTable, Target

# of spaCy's; all others are extensions
ATTRIBUTES = {"tag": TAG, "pos": POS, "sent_start": SENT_START}
STARTS = "S"  # labels of "sent_start": whether a sentence starts at the token
GOES_ON = "I"
STARTED = np.uint64(1)  # what SENT_START is there (1 and -1)
GOING_ON = np.uint64(0xFFFFFFFFFFFFFFFF)
CLOSED = {"pos": [*filter(None, PARTS_OF_SPEECH)], "sent_start": [STARTS, GOES_ON]}  # all labels
WRITABLE = '"tag", "pos", "sent_start" or an extension that can be written, such as "_.label"'
SPACE = {"tag": "_SP", "pos": "SPACE"}  # what spaCy sets at white space


class TokenLabels(Target):
    """Labels in an attribute of each token.

    attribute (str): "tag", "pos", "sent_start" or an extension, "_.name". neg_prefix (str): as
        `Target` has it.
    RAISES ValueError [HS027]: an attribute that cannot be labelled, such as an extension that is
        computed.
    """

    extension = ""  # its name
    extend = False
    of_words = False  # a label belongs to one word: what is split or merged has none

    def __init__(self, attribute: str, neg_prefix: str = "") -> None:
        self.attribute = attribute
        self.places: tuple[str, ...] = (attribute,)
        self.neg_prefix = neg_prefix
        self.space = SPACE.get(attribute, "")
        if attribute in ATTRIBUTES:
            self.columns = [ATTRIBUTES[attribute]]
        else:
            self.extension = attribute[2:] if attribute.startswith("_.") else ""
            self._register()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Extensions belong to the process, not to the component: one that was unpickled registers
        its own."""
        self.__dict__.update(state)
        if self.extension:
            self._register()

    def _register(self) -> None:
        is_name = self.extension.isidentifier()
        if is_name and not Token.has_extension(self.extension):
            Token.set_extension(self.extension, default="")
        _, method, getter, setter = Token.get_extension(self.extension) if is_name else [True] * 4
        if method or (getter and not setter):
            wanted = {"name": "attribute", "expected": WRITABLE}
            raise ValueError(Errors.HS027.format(value=repr(self.attribute), **wanted))

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: spaCy's parts of speech are a closed list, and so are starts
        of sentences."""
        known = CLOSED.get(self.attribute, [label or "a name"])
        if label not in known:
            wanted = {"name": f"label of {self.attribute}", "expected": ", ".join(known)}
            raise ValueError(Errors.HS027.format(value=repr(label), **wanted))

    def is_set(self, doc: Doc) -> bool:
        """True if any token may have a label: a look at the Doc that costs less than reading its
        labels."""
        return bool(self.extension) or any(map(doc.has_annotation, self.columns))

    def are_set(self, docs: Sequence[Doc]) -> bool:
        """The same of some Docs."""
        if self.extension:
            return bool(docs)
        # (the first token of a Doc always begins a sentence)
        n_always = sum(map(bool, map(len, docs))) if self.attribute == "sent_start" else 0
        return sum(map(np.count_nonzero, values_of(docs, self.columns))) > n_always

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),). RAISES ValueError [HS027]: an extension holds something
        else."""
        if not self.extension:
            values = np.asarray(doc.to_array(self.columns).reshape(-1), np.uint64)
            return _named(values, doc) if self.attribute == "sent_start" else values
        texts = [getattr(token._, self.extension) or "" for token in tokens_of(doc)]
        strange = [text for text in texts if not isinstance(text, str)]
        if strange:
            wanted = {"name": f"value of {self.attribute}", "expected": "a string"}
            raise ValueError(Errors.HS027.format(value=repr(strange[0]), **wanted))
        return np.array([doc.vocab.strings.add(text) if text else 0 for text in texts], np.uint64)

    def aligned(self, example: Example) -> Keys:
        """Gold labels of the predicted tokens; 0 where missing, or where a token does not align to
        one label."""
        gold = self.read(example.reference)
        words, gold_words = (doc.to_array([ORTH]) for doc in (example.predicted, example.reference))
        if np.array_equal(words, gold_words):
            return gold
        if self.attribute == "sent_start":
            numbers = {True: STARTED, False: GOING_ON, None: 0}
            starts = [numbers[start] for start in example.get_aligned_sent_starts()]
            return _named(np.array(starts, np.uint64), example.reference)
        values = np.zeros(len(words), np.uint64)
        for i, word in enumerate(words):
            places = np.asarray(example.alignment.x2y[i], np.intp).reshape(-1)
            is_one_word = len(places) == 1 and gold_words[places[0]] == word
            if len({*gold[places].tolist()}) == 1 and (is_one_word or not self.of_words):
                values[i] = gold[places[0]]
        return values

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """A label that is set already is the only one permitted (it constrains its neighbours), or
        "!NN" rules one out. A string that is no label of the component constrains nothing."""
        if not self.are_set(docs):
            return None
        before = [self._before(doc)[:, 0] if self.extension else self.read(doc) for doc in docs]
        masks = table.masks[table.rows(np.concatenate(before))]
        return None if masks.all() else masks

    def items(self, doc: Doc) -> Items:
        """The words of a Doc with their labels, "" where there is none."""
        pairs = zip(doc, self.read(doc).tolist(), strict=True)
        strings = doc.vocab.strings
        return [
            (token.i, token.i + 1, strings[value] if value else "")
            for token, value in pairs
            if not token.is_space
        ]

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Give other labels to tokens of an annotated Doc."""
        for i, _, label in items:
            self._put(doc[i], label)

    def write(
        self, docs: Sequence[Doc], reading: Reading, table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the labels of each Doc; what is set already stays, unless `overwrite`."""
        flat = np.concatenate([np.zeros(0, np.int32), *reading.label_ids])
        values = self._values(docs, flat, table)
        for doc, of_doc in zip(docs, by_doc(values, docs), strict=True):
            if (self.extend or not overwrite) and self.is_set(doc):
                of_doc = self._merged(doc, of_doc, table, overwrite=overwrite)
            if not self.extension:
                doc.from_array(self.columns, of_doc)  # type: ignore[arg-type]
                continue
            for token, value in zip(doc, of_doc[:, 0].tolist(), strict=True):
                self._put(token, doc.vocab.strings[value] if value else "")

    def _values(self, docs: Sequence[Doc], labels: Labels, table: LabelTable) -> Keys:
        """What stands for the labels of all tokens (N,) in the columns, (N, C) uint64."""
        values = table.values.take(labels)
        if self.space and (labels < 0).any():
            for doc in docs:
                doc.vocab.strings.add(self.space)
        if self.attribute == "sent_start":
            starts = np.append(np.array(table.names).take(labels) == STARTS, False)
            ends = np.cumsum([0, *map(len, docs)])
            # white space before the first word is of its sentence, too
            words = np.append(np.flatnonzero(labels >= 0), len(labels))
            starts[words[np.searchsorted(words, ends)]] = False
            starts[ends] = True
            values = np.where(starts[:-1], STARTED, GOING_ON)
        return values[:, None]

    def _before(self, doc: Doc) -> Keys:
        """What is set on a Doc (n, C), without the default of an extension: nobody has set that."""
        if not self.extension:
            return np.asarray(doc.to_array(self.columns).reshape(-1, len(self.columns)), np.uint64)
        values = self.read(doc)
        if Token.get_extension(self.extension)[2] is None:  # (what an extension computes has none)
            places = [("._.", self.extension, token.idx, None) for token in doc]
            values[[place not in doc.user_data for place in places]] = 0
        return values[:, None]

    def _merged(self, doc: Doc, values: Keys, table: LabelTable, *, overwrite: bool) -> Keys:
        """Values (n, C) where none are set before that stay."""
        before = self._before(doc)
        return np.where((before != 0) & ~np.isin(before, table.negative), before, values)

    def _put(self, token: Token, label: str) -> None:
        if self.extension:
            setattr(token._, self.extension, label)
        elif self.attribute == "sent_start":
            token.is_sent_start = label == STARTS
        else:
            setattr(token, f"{self.attribute}_", label)


def _named(starts: Keys, doc: Doc) -> Keys:
    """The labels of SENT_START (n,)."""
    named = [np.uint64(doc.vocab.strings.add(name)) for name in (STARTS, GOES_ON)]
    return np.select([starts == STARTED, starts == GOING_ON], named, np.uint64(0))


def texts_of(doc: Doc, columns: Columns) -> "list[list[str]]":
    """The strings of each token in some columns of `doc.to_array`, "" where nothing is set."""
    strings = doc.vocab.strings
    rows: Any = doc.to_array(columns).reshape(-1, len(columns)).tolist()
    return [[strings[key] if key else "" for key in row] for row in rows]
