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

from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast
from urllib.parse import unquote

import numpy as np
from spacy import attrs
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Token

from ...arrays import Floats, Floats32, Keys, Labels, Mask
from ...errors import Errors
from ...features.sequences import by_doc
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
        # what was written last: the table, the string store, and POS, MORPH, TAG of its labels
        self._written: Tuple[Any, Any, Any] = (None, None, None)

    def __getstate__(self) -> Dict[str, object]:
        """Without what is remembered of a string store."""
        return {**self.__dict__, "_written": (None, None, None)}

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

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Optional[Mask]:
        """Labels that fit what is set on the tokens: the same part of speech (and tag); the same
        features, or if they will be extended none of another value. Where none fits, nothing is
        constrained."""
        if not self.are_set(docs):
            return None
        labels = tuple(table.labels)
        rows = [tuple(row) for doc in docs for row in texts_of(doc, self.columns)]
        masks = {row: _fitting(labels, row, self.extend) for row in {*rows}}
        return np.array([masks[row] for row in rows])

    def write(
        self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set part of speech and features (and tag). What is set already stays, unless `overwrite`;
        if features are extended, those of another value are replaced if `overwrite`."""
        flat = np.concatenate([np.zeros(0, np.int32), *labels])
        every = self._values_of(table, docs[0]).take(flat, axis=0, mode="wrap") if docs else flat
        for doc, values in zip(docs, by_doc(every, docs), strict=True):
            if (self.extend or not overwrite) and self.is_set(doc):
                before = doc.to_array(self.columns).reshape(len(doc), len(self.columns))
                merged = values if overwrite else np.where(before != 0, before, values)
                if self.extend:
                    pairs = zip(before[:, 1].tolist(), values[:, 1].tolist(), strict=True)
                    merged[:, 1] = [_extended(doc, old, new, overwrite) for old, new in pairs]
                values = merged
            doc.from_array(self.columns, values)  # type: ignore[arg-type]

    def _put(self, token: Token, label: str) -> None:
        analysis = analysis_of(label)
        token.pos_ = analysis.pos
        token.set_morph(analysis.morph)  # type: ignore[attr-defined]
        if analysis.tag:
            token.tag_ = analysis.tag

    def _values_of(self, table: LabelTable, doc: Doc) -> Keys:
        """Columns that are written for each label (L + 1, 2 or 3): -1 stands for white space."""
        known_table, known_strings, values = self._written
        strings = doc.vocab.strings
        if known_table is not table or known_strings is not strings:
            rows = [_row(analysis_of(name), doc) for name in table.names]
            values = np.array(rows, np.uint64)[:, : len(self.columns)]
            self._written = table, strings, values
        return cast(Keys, values)


def _row(analysis: Analysis, doc: Doc) -> List[int]:
    """POS, MORPH, TAG of a label."""
    pos, morph, tag = analysis
    strings: Any = doc.vocab.strings
    # (as all else here, beyond the end of a memory zone)
    tag_id = strings.add(tag, allow_transient=False) if tag else 0
    return [PARTS_OF_SPEECH[pos], doc.vocab.morphology.add(morph), tag_id]


def _extended(doc: Doc, before: int, new: int, overwrite: bool) -> int:
    """Features with those that were there (ids of strings)."""
    parts = [Morphology.feats_to_dict(doc.vocab.strings[key]) for key in (before, new)]
    first, last = parts if overwrite else parts[::-1]
    return int(doc.vocab.morphology.add({**first, **last}))


@lru_cache(maxsize=2048)
def _fitting(labels: Tuple[str, ...], texts: Tuple[str, ...], extend: bool) -> Mask:
    """Labels that can be at a token with POS, MORPH (and TAG); all if there are none. A tag that no
    label has constrains nothing."""
    analyses = _analyses(labels)
    pos, morph, tag = (*texts, "")[:3]
    before = Morphology.feats_to_dict(morph)
    tags = {analysis.tag for analysis, _ in analyses}

    def fits(analysis: Analysis, features: Dict[str, str]) -> bool:
        if pos not in ("", analysis.pos) or (tag in tags - {"", analysis.tag}):
            return False
        if extend or not morph:
            return all(features.get(name, value) == value for name, value in before.items())
        return before == features

    mask = np.array([fits(*each) for each in analyses])
    return mask if mask.any() else ~mask


@lru_cache(maxsize=16)
def _analyses(labels: Tuple[str, ...]) -> List[Tuple[Analysis, Dict[str, str]]]:
    """Analysis and features of each label."""
    analyses = map(analysis_of, labels)
    return [(analysis, Morphology.feats_to_dict(analysis.morph)) for analysis in analyses]


@lru_cache(maxsize=20_000)
def label_of(pos: str, morph: str, tag: str = "") -> str:
    """The label of a token. morph: features as spaCy has them, "" or "_" = none."""
    features = Morphology.feats_to_dict(morph)
    if pos:
        features[POS] = pos
    if tag:
        features[TAG] = tag.translate(SIGNS)
    return Morphology.dict_to_feats(features) or Morphology.EMPTY_MORPH


def features_of(label: str) -> Dict[str, str]:
    """All features of a label, part of speech and tag among them. RAISES ValueError [HS027]: it is
    no such label."""
    try:
        return dict(Morphology.feats_to_dict(label))
    except ValueError:
        raise ValueError(Errors.HS027.format(name="label", value=repr(label), expected=KINDS)) from None


def analysis_of(label: str) -> Analysis:
    """RAISES ValueError [HS027]."""
    features = features_of(label)
    pos = features.pop(POS, "")
    tag = unquote(features.pop(TAG, ""))
    if pos not in PARTS_OF_SPEECH:
        raise ValueError(Errors.HS027.format(name="label", value=repr(label), expected=KINDS))
    return Analysis(pos, Morphology.dict_to_feats(features), tag)


def normalized(label: str) -> str:
    """The same label as `label_of` has it. RAISES ValueError [HS027]."""
    return label_of(*analysis_of(label))


class FeatureTable:
    """Features of all labels. names: "Case=Gen", sorted, the part of speech as "POS=NOUN". has (V,
    L): of labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        of_labels = [
            [f"{name}={value}" for name, value in features_of(label).items()] for label in labels
        ]
        self.names: List[str] = sorted({name for of_label in of_labels for name in of_label})
        rows = {name: row for row, name in enumerate(self.names)}
        self.has: Mask = np.zeros((len(rows), len(labels)), bool)
        for y, of_label in enumerate(of_labels):
            self.has[[rows[name] for name in of_label], y] = True

    def of(self, marginals: Floats, least: float) -> List[Dict[str, float]]:
        """Features of each token of at least this probability, most probable first. marginals
        (n, L)."""
        result = []
        for row in np.minimum(marginals @ self.has.T, 1.0):
            order = np.argsort(-row, kind="stable")[: int((row >= least).sum())]
            result.append({self.names[i]: float(row[i]) for i in order if row[i] > 0})
        return result


@lru_cache(maxsize=4)
def costs_of(labels: Tuple[str, ...]) -> Floats32:
    """RETURNS (L, L) float32, [right, wrong]."""
    has = FeatureTable(labels).has.astype(np.float32)  # (V, L)
    sizes = has.sum(axis=0)
    differences = (sizes[:, None] + sizes) / 2 - has.T @ has  # exact: halves of small integers
    costs: Floats32 = (1 + np.minimum(differences, MOST_CHANGES)) / 2
    costs[differences == 0] = 0
    return costs
