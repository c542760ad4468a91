"""Labels of morphology, in `token.pos`, `token.morph`, and `token.tag` if it is a part of them.
As strings they are made of features:

"Case=Gen|Number=Sing|POS=NOUN"     sorted; the part of speech is one feature among the others
"POS=PUNCT"                         no features
"_"                                 known to have no features; the part of speech is not known
"Case=Gen|POS=NOUN|TAG=NN%7CG"      with a tag, whose separators are escaped as in addresses

Probabilities of features, exact over all permitted label sequences (checked against enumeration in
tests/components/test_morphologizer.py):

    p(y_t has "Case=Gen" | x) = sum over labels y with "Case=Gen" of p(y_t = y | x)

Cost of confusing two labels. A wrong case costs 1, as a wrong label without features does in
`max_margin`; a verb taken for a noun differs in most features, and costs 2:

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
from ...errors import wrong_value
from ...features.sequences import WordDocs
from .target import LabelTable, escaped
from .token_labels import TokenLabels, texts_of


class Analysis(NamedTuple):
    """Part of speech, features and tag of a label. morph: features as spaCy has them, without POS
    and TAG."""

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
        self.places = ("morph", "pos")
        self.columns = [attrs.POS, attrs.MORPH]
        self.space = label_of("SPACE", "")
        if with_tag:
            self.places = ("morph", "pos", "tag")
            self.columns = [attrs.POS, attrs.MORPH, attrs.TAG]
            self.space = label_of("SPACE", "", "_SP")
        self.extend = extend
        # columns of each label; key: label table and string store
        self._label_columns: IdentityCache[Keys] = IdentityCache()

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it does not consist of features, or spaCy has no such part of
        speech."""
        analysis_of(label)

    def read(self, doc: Doc) -> Keys:
        """The labels of a Doc (len(doc),) as string-store ids; 0 where neither part of speech nor
        features are set."""
        keys = np.zeros(len(doc), np.uint64)
        for i, texts in enumerate(texts_of(doc, self.columns)):
            if any(texts):
                keys[i] = doc.vocab.strings.add(label_of(*texts))
        return keys

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Labels that fit what is set on the tokens (N, L): the same part of speech (and tag), and
        the same features, or with `extend` no feature of another value. Where no label fits,
        nothing is constrained."""
        if not self.are_set(docs):
            return None
        labels = tuple(table.labels)
        masks: dict[tuple[str, ...], Mask] = {}  # analyses repeat
        token_masks = []
        for doc in docs:
            for texts in map(tuple, texts_of(doc, self.columns)):
                if texts not in masks:
                    masks[texts] = _fitting(labels, texts, self.extend)
                token_masks.append(masks[texts])
        return np.array(token_masks)

    def _values(self, docs: WordDocs, label_ids: Labels, table: LabelTable) -> Keys:
        if not docs:
            return np.zeros((0, len(self.columns)), np.uint64)
        vocab = docs.vocab

        def columns_of_labels() -> Keys:
            rows = [_row(analysis_of(name), vocab) for name in table.names]
            return np.array(rows, np.uint64)[:, : len(self.columns)]

        columns = self._label_columns.of((table, vocab.strings), columns_of_labels)
        return columns.take(label_ids, axis=0, mode="wrap")  # -1, the last row: white space

    def _merged(self, doc: Doc, values: Keys, table: LabelTable, *, overwrite: bool) -> Keys:
        """With `extend`, features that are set already stay, unless `overwrite` and the label has
        another value."""
        merged = values
        if not overwrite:
            merged = super()._merged(doc, values, table, overwrite=overwrite)
        if self.extend:
            before = self._values_before(doc)[:, 1].tolist()
            for i, pair in enumerate(zip(before, values[:, 1].tolist(), strict=True)):
                merged[i, 1] = _extended(doc, *pair, overwrite)
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
    tag_key = 0
    if tag:
        # not transient: the cached columns outlive a memory zone
        tag_key = vocab.strings.add(tag, allow_transient=False)
    return [PARTS_OF_SPEECH[pos], vocab.morphology.add(morph), tag_key]


def _extended(doc: Doc, before: int, new: int, overwrite: bool) -> int:
    """The union of two sets of features (ids of strings): `overwrite` says which value counts."""
    old_features = Morphology.feats_to_dict(doc.vocab.strings[before])
    new_features = Morphology.feats_to_dict(doc.vocab.strings[new])
    union = {**new_features, **old_features}
    if overwrite:
        union.update(new_features)
    return int(doc.vocab.morphology.add(union))


@lru_cache(maxsize=2048)
def _fitting(labels: tuple[str, ...], texts: tuple[str, ...], extend: bool) -> Mask:
    """Labels that can be at a token with POS, MORPH (and TAG); all if there are none. A tag that no
    label has constrains nothing."""
    label_features = [features_of(label) for label in labels]
    before = dict(features_of(label_of(*texts)))
    morph = before.keys() - {"POS", "TAG"}
    if not any(features.get("TAG") == before.get("TAG") for features in label_features):
        before.pop("TAG", None)

    def fits(features: dict[str, str]) -> bool:
        if texts[1] and not extend and features.keys() - {"POS", "TAG"} != morph:
            return False
        for name, value in before.items():
            # a feature that the label lacks will be kept from before; a part of speech will not
            absent = value if name in morph else None
            if features.get(name, absent) != value:
                return False
        return True

    # annotation that no label fits, such as that of another tagset, is left out of account
    mask = np.array([fits(features) for features in label_features])
    return mask if mask.any() else ~mask


@lru_cache(maxsize=20_000)
def label_of(pos: str, morph: str, tag: str = "") -> str:
    """The label of a token. morph: features as spaCy has them, "" or "_" = none."""
    features = Morphology.feats_to_dict(morph)
    if pos:
        features["POS"] = pos
    if tag:
        features["TAG"] = escaped(tag, "|=,")
    return Morphology.dict_to_feats(features) or Morphology.EMPTY_MORPH


@lru_cache(maxsize=20_000)
def features_of(label: str) -> dict[str, str]:
    """All features of a label, with "POS" and "TAG". RAISES ValueError [HS027]: it is no such
    label."""
    try:
        features = dict(Morphology.feats_to_dict(label))
    except ValueError:
        features = {"POS": "?"}  # refused below, as other strings are
    if features.get("POS", "") not in PARTS_OF_SPEECH:
        names = ", ".join(filter(None, PARTS_OF_SPEECH))
        raise wrong_value(
            "label", repr(label), f"Feature=Value|...|POS=NOUN, where POS is one of {names}"
        )
    return features


def analysis_of(label: str) -> Analysis:
    """The parts of a label, as spaCy writes each. RAISES ValueError [HS027]: it is no such
    label."""
    features = dict(features_of(label))
    pos = features.pop("POS", "")
    tag = unquote(features.pop("TAG", ""))
    return Analysis(pos, Morphology.dict_to_feats(features), tag)


def normalized(label: str) -> str:
    """The same label as `label_of` writes it. RAISES ValueError [HS027]: it is no such label."""
    return label_of(*analysis_of(label))


def named_features(label: str) -> list[str]:
    """All features of a label as "Case=Gen", the part of speech as "POS=NOUN"."""
    return [f"{name}={value}" for name, value in features_of(label).items()]


@lru_cache(maxsize=4)
def costs_of(labels: tuple[str, ...]) -> Floats32:
    """Cost of each pair of labels, [right, wrong] (L, L) float32."""
    features = [set(named_features(label)) for label in labels]
    sizes = np.array([*map(len, features)], np.float32)
    shared = np.zeros((len(labels), len(labels)), np.float32)
    for i, one in enumerate(features):
        for j, other in enumerate(features):
            shared[i, j] = len(one & other)
    differences = (sizes[:, None] + sizes) / 2 - shared  # exact: halves of small integers
    costs: Floats32 = np.asarray((1 + np.minimum(differences, 3)) / 2, np.float32)
    costs[differences == 0] = 0
    return costs
