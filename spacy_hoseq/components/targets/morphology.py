"""Where labels of morphology stand: `token.pos`, `token.morph`, and `token.tag` if it is a part of
them."""

from functools import lru_cache
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, cast
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray
from spacy import attrs
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token

from ...arrays import Keys, Labels, Mask
from ...features.sequences import by_doc
from ..morphology_labels import analysis_of, features_of, label_of
from .target import LabelTable
from .token_labels import SPACE, TokenLabels

ALL_COLUMNS = [attrs.POS, attrs.MORPH, attrs.TAG]
POS, MORPH, TAG = range(3)  # columns of what is read and written
WHOLE = ("POS", "TAG")  # features of labels that are no features of a word


class Written(NamedTuple):
    """What labels are on a token, by id; the last is that of white space. values (L + 1, 3): POS,
    MORPH, TAG."""

    table: LabelTable
    strings: StringStore
    values: Keys


class MorphologyLabels(TokenLabels):
    """Labels made of a part of speech and features, as in morphology_labels.py.

    with_tag (bool): the tag belongs to the label, too.
    """

    attribute = "morph"
    neg_prefix = ""

    def __init__(self, with_tag: bool = False) -> None:
        self.places = ("morph", "pos", "tag") if with_tag else ("morph", "pos")
        self.space = label_of(SPACE["pos"], "", SPACE["tag"] if with_tag else "")
        self._columns = ALL_COLUMNS[: 3 if with_tag else 2]
        self._written: Optional[Written] = None

    def __getstate__(self) -> Dict[str, object]:
        """Without what is remembered of a string store."""
        return {**self.__dict__, "_written": None}

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it does not consist of features, or spaCy has no such part of
        speech."""
        analysis_of(label)

    def is_set(self, doc: Doc) -> bool:
        """Whether a token may have a part of speech or features."""
        return any(doc.has_annotation(column) for column in self._columns)

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),) as string-store ids; 0 where neither part of speech nor
        features are set."""
        strings = doc.vocab.strings
        ids = [
            strings.add(label_of(*_texts(row, strings))) if any(row) else 0
            for row in self._seen(doc).tolist()
        ]
        return np.array(ids, np.uint64)

    def preset(self, docs: Sequence[Doc], labels: Sequence[str], *, extend: bool) -> Optional[Mask]:
        """Labels that fit what is set on the tokens: the same part of speech (and tag); the same
        features, or if they will be extended none of another value. Where none fits, nothing is
        constrained. RETURNS (N, L), or None."""
        if not any(map(self.is_set, docs)):
            return None
        columns = np.concatenate([self._seen(doc) for doc in docs])
        rows, row_of = np.unique(columns, axis=0, return_inverse=True)
        strings = docs[0].vocab.strings
        texts = [_texts(row, strings) for row in rows.tolist()]
        masks = np.array([_fitting(tuple(labels), of_row, extend) for of_row in texts])
        masks[~masks.any(axis=1)] = True
        return cast(Mask, masks[row_of.reshape(-1)])

    def write(
        self,
        docs: Sequence[Doc],
        labels: Sequence[Labels],
        table: LabelTable,
        *,
        overwrite: bool,
        extend: bool = False,
    ) -> None:
        """Set part of speech and features (and tag). overwrite (bool): what is set already is
        replaced. extend (bool): features that are set already stay, those of the label are added;
        those of another value are replaced if `overwrite`."""
        flat = np.concatenate([np.zeros(0, np.int32), *labels])
        for doc, ids in zip(docs, by_doc(flat, docs), strict=True):
            values = self._values_of(table, doc).take(ids, axis=0, mode="wrap")
            if (extend or not overwrite) and self.is_set(doc):
                before = doc.to_array(ALL_COLUMNS).reshape(-1, 3)
                merged = np.where(before != 0, before, values)
                if extend:
                    pairs = zip(before[:, MORPH].tolist(), values[:, MORPH].tolist(), strict=True)
                    merged[:, MORPH] = [_extended(doc, old, new, overwrite) for old, new in pairs]
                if overwrite:
                    merged[:, [POS, TAG]] = values[:, [POS, TAG]]
                values = merged
            doc.from_array(self._columns, np.ascontiguousarray(values[:, : len(self._columns)]))  # type: ignore[arg-type]

    def _seen(self, doc: Doc) -> NDArray[np.uint64]:
        return cast(Keys, doc.to_array(self._columns).reshape(-1, len(self._columns)))

    def _put(self, token: Token, label: str) -> None:
        analysis = analysis_of(label)
        token.pos_ = analysis.pos
        token.set_morph(analysis.morph)  # type: ignore[attr-defined]
        if analysis.tag:
            token.tag_ = analysis.tag

    def _values_of(self, table: LabelTable, doc: Doc) -> Keys:
        """What is written for each label (L + 1, 3): -1 stands for white space."""
        written = self._written
        strings = doc.vocab.strings
        if written is None or written.table is not table or written.strings is not strings:
            rows = [
                [
                    PARTS_OF_SPEECH[pos],
                    doc.vocab.morphology.add(morph),
                    # (as all else here, beyond the end of a memory zone)
                    strings.add(tag, allow_transient=False) if tag else 0,  # type: ignore[call-arg]
                ]
                for pos, morph, tag in map(analysis_of, table.names)
            ]
            self._written = written = Written(table, strings, np.array(rows, np.uint64))
        return written.values


def _extended(doc: Doc, before: int, new: int, overwrite: bool) -> int:
    """Features with those that were there (ids of strings)."""
    parts = [Morphology.feats_to_dict(doc.vocab.strings[key]) for key in (before, new)]
    first, last = parts if overwrite else parts[::-1]
    return int(doc.vocab.morphology.add({**first, **last}))


def _texts(row: Sequence[int], strings: StringStore) -> Tuple[str, ...]:
    return tuple([strings[key] if key else "" for key in row])


@lru_cache(maxsize=16)
def _features_of(labels: Tuple[str, ...]) -> List[Dict[str, str]]:
    every = map(features_of, labels)
    return [
        {name: unquote(value) if name == "TAG" else value for name, value in of_label.items()}
        for of_label in every
    ]


@lru_cache(maxsize=2048)
def _fitting(labels: Tuple[str, ...], texts: Tuple[str, ...], extend: bool) -> Mask:
    """Labels that can be at a token with POS, MORPH (and TAG). A tag that no label has constrains
    nothing."""
    features = _features_of(labels)
    pos, morph, *tag = texts
    before = Morphology.feats_to_dict(morph)
    knows_tag = any([of_label.get("TAG")] == tag for of_label in features)

    def fits(of_label: Dict[str, str]) -> bool:
        if pos and of_label.get("POS") != pos or knows_tag and [of_label.get("TAG")] != tag:
            return False
        if extend or not morph:
            return all(of_label.get(name, value) == value for name, value in before.items())
        return before == {name: of_label[name] for name in of_label if name not in WHOLE}

    return np.array(list(map(fits, features)))
