"""Labels of morphology, in `token.pos`, `token.morph`, and `token.tag` if it is a part of them.
As strings they are made of features:

"Case=Gen|Number=Sing|POS=NOUN"     sorted; the part of speech is one feature among the others
"POS=PUNCT"                         no features
"_"                                 features are known to be none, the part of speech is not known
"Case=Gen|POS=NOUN|TAG=NN%7CG"      with a tag, in which signs that part features are written as in addresses

Probabilities of features, exact over all labellings that are allowed (checked against enumeration in
tests/components/test_morphologizer.py):

    p(y_t has "Case=Gen" | x) = sum over labels y with "Case=Gen" of p(y_t = y | x)

What it costs to take one label for another. A wrong case costs 1, as a wrong label without features
does in `max_margin`; a verb that is taken for a noun has other features throughout, and costs 2:

    cost(y, z) = (1 + min(d(y, z), 3)) / 2    if y and z differ, else 0
    d(y, z)    = (features of y that z has not + features of z that y has not) / 2
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from spacy import attrs
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Token

from ...arrays import Floats32, Keys, Labels, Mask
from ...caches import IdentityCache
from ...errors import Errors
from .target import Columns, LabelTable
from .token_labels import SPACE, TokenLabels, texts_of

COLUMNS: Columns = [attrs.POS, attrs.MORPH, attrs.TAG]
POS = "POS"
TAG = "TAG"
SIGNS = str.maketrans({"%": "%25", "|": "%7C", "=": "%3D", ",": "%2C"})
MOST_CHANGES = 3  # that count in the cost of a wrong label
KINDS = "Feature=Value|...|POS=NOUN, where POS is one of " + ", ".join(
    filter(None, PARTS_OF_SPEECH)
)


class Analysis(NamedTuple):
    """Part of speech, features and tag of a label. morph: features as spaCy has them, without POS and TAG."""

    pos: str
    morph: str
    tag: str


class MorphologyLabels(TokenLabels):
    """Labels made of a part of speech and features.

    with_tag (bool): the tag belongs to the label, too. extend (bool): features that are set already
    stay, and those of the label are added.
    """

    attribute = "morph"

    def __init__(self, with_tag: bool = False, extend: bool = False) -> None:
        self.places = ("morph", "pos", "tag") if with_tag else ("morph", "pos")
        self.space = label_of(SPACE["pos"], "", SPACE["tag"] if with_tag else "")
        self.columns = COLUMNS[: 3 if with_tag else 2]
        self.extend = extend
        self._written: IdentityCache[Keys] = IdentityCache()  # columns of each label

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it does not consist of features, or spaCy has no such part of
        speech."""
        analysis_of(label)

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),) as string-store ids; 0 where neither part of speech nor
        features are set."""
        add = doc.vocab.strings.add
        rows = texts_of(doc, self.columns)
        return np.array([add(label_of(*row)) if any(row) else 0 for row in rows], np.uint64)

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Labels that fit what is set on the tokens: the same part of speech (and tag); the same
        features, or if they will be extended none of another value. Where none fits, nothing is
        constrained."""
        if not self.are_set(docs):
            return None
        labels = tuple(table.labels)
        rows = [tuple(row) for doc in docs for row in texts_of(doc, self.columns)]
        masks = {row: _fitting(labels, row, self.extend) for row in {*rows}}
        return np.array([masks[row] for row in rows])

    def _values(self, docs: Sequence[Doc], labels: Labels, table: LabelTable) -> Keys:
        if not docs:
            return np.zeros((0, len(self.columns)), np.uint64)
        vocab: Any = docs[0].vocab

        def made() -> Keys:
            rows = [_row(analysis_of(name), vocab) for name in table.names]
            return np.array(rows, np.uint64)[:, : len(self.columns)]

        every = self._written.of((table, vocab.strings), made)
        return every.take(labels, axis=0, mode="wrap")  # -1: white space

    def _merged(self, doc: Doc, values: Keys, table: LabelTable, *, overwrite: bool) -> Keys:
        """If features are extended, those of another value are replaced if `overwrite`."""
        merged = values
        if not overwrite:
            merged = super()._merged(doc, values, table, overwrite=overwrite)
        if self.extend:
            pairs = zip(self._before(doc)[:, 1].tolist(), values[:, 1].tolist(), strict=True)
            merged[:, 1] = [_extended(doc, old, new, overwrite) for old, new in pairs]
        return merged

    def _put(self, token: Token, label: str) -> None:
        analysis = analysis_of(label)
        token.pos_ = analysis.pos
        token.set_morph(analysis.morph)  # type: ignore[attr-defined]
        if analysis.tag:
            token.tag_ = analysis.tag


def _row(analysis: Analysis, vocab: Any) -> list[int]:
    """POS, MORPH, TAG of a label."""
    pos, morph, tag = analysis
    # (as all else here, beyond the end of a memory zone)
    tag_id = vocab.strings.add(tag, allow_transient=False) if tag else 0
    return [PARTS_OF_SPEECH[pos], vocab.morphology.add(morph), tag_id]


def _extended(doc: Doc, before: int, new: int, overwrite: bool) -> int:
    """Features with those that were there (ids of strings)."""
    parts = [Morphology.feats_to_dict(doc.vocab.strings[key]) for key in (before, new)]
    first, last = parts if overwrite else parts[::-1]
    return int(doc.vocab.morphology.add({**first, **last}))


@lru_cache(maxsize=2048)
def _fitting(labels: tuple[str, ...], texts: tuple[str, ...], extend: bool) -> Mask:
    """Labels that can be at a token with POS, MORPH (and TAG); all if there are none. A tag that no
    label has constrains nothing."""
    every = [features_of(label) for label in labels]
    before = features_of(label_of(*texts))
    given = before.keys() - {POS, TAG}
    if not any(features.get(TAG) == before.get(TAG) for features in every):
        before = {name: value for name, value in before.items() if name != TAG}

    def fits(features: dict[str, str]) -> bool:
        if texts[1] and not extend and features.keys() - {POS, TAG} != given:
            return False
        missing = {name: before[name] for name in given}
        return all({**missing, **features}.get(name) == before[name] for name in before)

    mask = np.array([fits(features) for features in every])
    return mask if mask.any() else ~mask


@lru_cache(maxsize=20_000)
def label_of(pos: str, morph: str, tag: str = "") -> str:
    """The label of a token. morph: features as spaCy has them, "" or "_" = none."""
    features = Morphology.feats_to_dict(morph)
    if pos:
        features[POS] = pos
    if tag:
        features[TAG] = tag.translate(SIGNS)
    return Morphology.dict_to_feats(features) or Morphology.EMPTY_MORPH


@lru_cache(maxsize=20_000)
def features_of(label: str) -> dict[str, str]:
    """All features of a label, part of speech and tag among them. RAISES ValueError [HS027]: it is
    no such label."""
    try:
        features = dict(Morphology.feats_to_dict(label))
    except ValueError:
        features = {POS: "?"}
    if features.get(POS, "") not in PARTS_OF_SPEECH:
        raise ValueError(Errors.HS027.format(name="label", value=repr(label), expected=KINDS))
    return features


def analysis_of(label: str) -> Analysis:
    """RAISES ValueError [HS027]."""
    features = {**features_of(label)}
    pos = features.pop(POS, "")
    tag = unquote(features.pop(TAG, ""))
    return Analysis(pos, Morphology.dict_to_feats(features), tag)


def normalized(label: str) -> str:
    """The same label as `label_of` has it. RAISES ValueError [HS027]."""
    return label_of(*analysis_of(label))


def named_features(label: str) -> list[str]:
    """All features of a label as "Case=Gen", the part of speech as "POS=NOUN"."""
    return [f"{name}={value}" for name, value in features_of(label).items()]


@lru_cache(maxsize=4)
def costs_of(labels: tuple[str, ...]) -> Floats32:
    """RETURNS (L, L) float32, [right, wrong]."""
    of_labels = [{*named_features(label)} for label in labels]
    sizes = np.array([*map(len, of_labels)], np.float32)
    shared = np.array([[len(one & other) for other in of_labels] for one in of_labels], np.float32)
    differences = (sizes[:, None] + sizes) / 2 - shared  # exact: halves of small integers
    costs: Floats32 = np.asarray((1 + np.minimum(differences, MOST_CHANGES)) / 2, np.float32)
    costs[differences == 0] = 0
    return costs
