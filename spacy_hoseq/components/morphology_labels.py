"""Labels of morphology as strings, and features, which they are made of.

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
from typing import Dict, List, NamedTuple, Sequence
from urllib.parse import unquote

import numpy as np
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH

from ..arrays import Floats, Floats32, Mask
from ..errors import Errors

POS = "POS"
TAG = "TAG"
SIGNS = str.maketrans({"%": "%25", "|": "%7C", "=": "%3D", ",": "%2C"})
MOST_CHANGES = 3  # that count in the cost of a wrong label
KINDS = "Feature=Value|...|POS=NOUN, where POS is one of " + ", ".join(
    filter(None, PARTS_OF_SPEECH)
)


class Analysis(NamedTuple):
    """What a label stands for. morph: features as spaCy has them, without POS and TAG."""

    pos: str
    morph: str
    tag: str


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
        """Of each token the features of at least this probability, most probable first. marginals
        (n, L)."""
        result = []
        for row in np.minimum(marginals @ self.has.T, 1.0):
            order = np.argsort(-row, kind="stable")[: int((row >= least).sum())]
            result.append({self.names[i]: float(row[i]) for i in order if row[i] > 0})
        return result


def costs_of(labels: Sequence[str]) -> Floats32:
    """RETURNS (L, L) float32, [right, wrong]."""
    has = FeatureTable(labels).has.astype(np.float32)  # (V, L)
    sizes = has.sum(axis=0)
    differences = (sizes[:, None] + sizes) / 2 - has.T @ has  # exact: halves of small integers
    costs: Floats32 = (1 + np.minimum(differences, MOST_CHANGES)) / 2
    costs[differences == 0] = 0
    return costs
