"""Labels in an attribute of each token: of spaCy, or an extension."""

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH, POS, SENT_START, TAG
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Keys, Labels
from ...errors import Errors
from ...features.sequences import by_doc
from ...words import tokens_of
from .target import Items, LabelTable, Target

# of spaCy's; all others are extensions
ATTRIBUTES = {"tag": [TAG], "pos": [POS], "sent_start": [SENT_START]}
STARTS = "S"  # labels of "sent_start": whether a sentence starts at the token
GOES_ON = "I"
STARTED = np.uint64(1)  # what SENT_START is there (1 and -1)
GOING_ON = np.uint64(0xFFFFFFFFFFFFFFFF)
SPACE = {"tag": "_SP", "pos": "SPACE"}  # what spaCy sets at white space


class TokenLabels(Target):
    """Labels in an attribute of each token.

    attribute (str): "tag", "pos", "sent_start" or an extension, "_.name". neg_prefix (str): as
        `Target` has it.
    RAISES ValueError [HS062]: an attribute that cannot be labelled, such as an extension that is
        computed.
    """

    representation: Optional[str] = None

    def __init__(self, attribute: str, neg_prefix: str = "") -> None:
        if attribute not in ATTRIBUTES and not (
            attribute.startswith("_.") and attribute[2:].isidentifier()
        ):
            raise ValueError(Errors.HS062.format(attribute=attribute))
        self.attribute = attribute
        self.places: Tuple[str, ...] = (attribute,)
        self.neg_prefix = neg_prefix
        self.space = SPACE.get(attribute, "")
        self._register()

    def __setstate__(self, state: Dict[str, Any]) -> None:
        """Extensions belong to the process, not to the component: one that was unpickled registers
        its own."""
        self.__dict__.update(state)
        self._register()

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS065]: spaCy's parts of speech are a closed list, and so are starts
        of sentences."""
        known = {"pos": [*PARTS_OF_SPEECH], "sent_start": [STARTS, GOES_ON]}.get(
            self.attribute, [label]
        )
        if label not in known:
            raise ValueError(
                Errors.HS065.format(
                    label=label,
                    attribute=self.attribute,
                    known=", ".join(filter(None, known)),
                )
            )

    def labels_in(self, examples: Sequence[Example]) -> List[str]:
        """All labels in the gold annotation, sorted."""
        return names_of(
            ((self.read(eg.reference), eg.reference) for eg in examples), self.neg_prefix
        )

    def others_in(self, examples: Sequence[Example]) -> List[str]:
        """Attributes of tokens that are annotated."""
        return [
            f"token.{name}"
            for name in ATTRIBUTES
            if any(TokenLabels(name).is_set(eg.reference) for eg in examples)
        ]

    def gold_values(self, examples: Sequence[Example]) -> Keys:
        """Gold labels of all predicted tokens (N,); 0 where missing, or where a token does not
        align to one label."""
        columns = ATTRIBUTES.get(self.attribute)
        gold = gold_of_same_tokens(examples, columns) if columns else None
        if gold is None:
            return np.concatenate([self._aligned(eg) for eg in examples])
        values: Keys = np.ascontiguousarray(gold[:, 0])
        return (
            self._names(values, examples[0].reference) if self.attribute == "sent_start" else values
        )

    def is_set(self, doc: Doc) -> bool:
        """Whether any token may have a label: a look at the Doc that costs less than reading its
        labels."""
        return self.attribute not in ATTRIBUTES or bool(
            doc.has_annotation(ATTRIBUTES[self.attribute][0])
        )

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),). RAISES ValueError [HS066]: an extension holds something
        else."""
        if self.attribute == "sent_start":
            return self._names(np.asarray(doc.to_array(SENT_START), np.uint64), doc)
        if self.attribute in ATTRIBUTES:
            return np.asarray(doc.to_array(ATTRIBUTES[self.attribute]), np.uint64)
        texts = [getattr(token._, self.attribute[2:]) or "" for token in tokens_of(doc)]
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(
                    Errors.HS066.format(
                        attribute=self.attribute, value=repr(text), type=type(text).__name__
                    )
                )
        return np.array([doc.vocab.strings.add(text) if text else 0 for text in texts], np.uint64)

    def labels_set(self, doc: Doc) -> Keys:
        """As `read`, without the default of an extension: nobody has set that."""
        name = self.attribute[2:]
        if not self.attribute.startswith("_.") or Token.get_extension(name)[2] is not None:
            return self.read(doc)  # (what an extension computes has no default)
        is_written = [("._.", name, token.idx, None) in doc.user_data for token in doc]
        return np.where(np.array(is_written, bool), self.read(doc), np.uint64(0))

    def items(self, doc: Doc) -> Items:
        """The words of a Doc with their labels, "" where there is none."""
        strings = doc.vocab.strings
        labels = [strings[value] if value else "" for value in self.read(doc).tolist()]
        return [(i, i + 1, label) for i, label in enumerate(labels) if not doc[i].is_space]

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Give other labels to tokens of an annotated Doc."""
        for i, _, label in items:
            self._put(doc[i], label)

    def write(
        self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the labels of each Doc, ids in the table; those that are set already stay, unless
        `overwrite`."""
        flat = np.concatenate([np.zeros(0, np.int32), *labels])
        if self.space and (flat < 0).any():
            for doc in docs:
                doc.vocab.strings.add(self.space)
        for doc, values in zip(docs, by_doc(table.values.take(flat), docs), strict=True):
            if not overwrite and self.is_set(doc):
                preset = self.labels_set(doc)
                stays = (preset != 0) & ~np.isin(preset, table.negative)
                values = np.where(stays, preset, values)
            self._set(doc, values)

    def _names(self, starts: Keys, doc: Doc) -> Keys:
        """The labels of SENT_START (n,)."""
        strings = doc.vocab.strings
        named = [np.uint64(strings.add(STARTS)), np.uint64(strings.add(GOES_ON))]
        return np.select([starts == STARTED, starts == GOING_ON], named, np.uint64(0))

    def _set(self, doc: Doc, values: Keys) -> None:
        if self.attribute == "sent_start":
            starts = values == doc.vocab.strings.as_int(STARTS)
            # white space before the first word is of its sentence, too
            starts[np.flatnonzero(values)[:1]] = False
            starts[:1] = True
            values = np.where(starts, STARTED, GOING_ON)
        if self.attribute in ATTRIBUTES:
            doc.from_array(ATTRIBUTES[self.attribute], values[:, None])  # type: ignore[arg-type]
            return
        for token, value in zip(doc, values.tolist(), strict=True):
            setattr(token._, self.attribute[2:], doc.vocab.strings[value] if value else "")

    def _put(self, token: Token, label: str) -> None:
        if self.attribute.startswith("_."):
            setattr(token._, self.attribute[2:], label)
        elif self.attribute == "sent_start":
            token.is_sent_start = label == STARTS
        else:
            setattr(token, f"{self.attribute}_", label)

    def _aligned(self, example: Example) -> Keys:
        predicted = example.predicted
        reference = example.reference
        if self.attribute == "sent_start":
            starts = {True: STARTED, False: GOING_ON, None: np.uint64(0)}
            aligned = [starts[start] for start in example.get_aligned_sent_starts()]
            return self._names(np.array(aligned, np.uint64), reference)
        gold = self.read(reference)
        if len(predicted) == len(reference) and np.array_equal(
            predicted.to_array("ORTH"), reference.to_array("ORTH")
        ):
            return gold
        alignment = example.alignment.x2y
        values = np.zeros(len(predicted), np.uint64)
        for i in range(len(predicted)):
            labels = gold[np.asarray(alignment[i], np.intp).reshape(-1)]
            if len(labels) and (labels == labels[0]).all():
                values[i] = labels[0]
        return values

    def _register(self) -> None:
        if self.attribute.startswith("_."):
            if not Token.has_extension(self.attribute[2:]):
                Token.set_extension(self.attribute[2:], default="")
            _, method, getter, setter = Token.get_extension(self.attribute[2:])
            if method or (getter and not setter):
                raise ValueError(Errors.HS062.format(attribute=self.attribute))


def gold_of_same_tokens(
    examples: Sequence[Example], columns: Sequence[int]
) -> Optional[NDArray[np.uint64]]:
    """Attributes of all reference tokens (N, C); None: some predicted tokens are others."""
    if any(len(eg.predicted) != len(eg.reference) for eg in examples):
        return None
    names = [ORTH, *columns]
    gold = np.concatenate([eg.reference.to_array(names) for eg in examples])
    orths = np.concatenate([eg.predicted.to_array(ORTH) for eg in examples])
    return gold[:, 1:] if np.array_equal(gold[:, 0], orths) else None


def names_of(annotated: Iterable[Tuple[Keys, Doc]], neg_prefix: str) -> List[str]:
    """All labels among values and their Docs, sorted."""
    names = {
        (doc.vocab.strings[value] if value else "").removeprefix(neg_prefix)
        for values, doc in annotated
        for value in set(values.tolist())
    }
    return sorted(names - {""})


def negative_in(examples: Iterable[Example], target: Any) -> List[str]:
    """Gold annotation that says which label is wrong ("!NN"), sorted. target: with the prefix of
    such annotation."""
    prefix = target.neg_prefix
    if not prefix:
        return []
    annotated = ((target.read(eg.reference), eg.reference) for eg in examples)
    return [name for name in names_of(annotated, "") if name.startswith(prefix)]
