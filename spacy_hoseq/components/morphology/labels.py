"""Labels of morphology as strings: what spaCy's Morphologizer makes of a part of speech and
features.

"Case=Gen|Number=Sing|POS=NOUN"     sorted; the part of speech is one feature among the others
"POS=PUNCT"                         no features
"_"                                 features are known to be none, the part of speech is not known
"Case=Gen|POS=NOUN|TAG=NN%7CG"      with a tag, in which signs that part features are written as in addresses
"""

from functools import lru_cache
from typing import Dict, NamedTuple
from urllib.parse import unquote

from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH

from ...errors import Errors

POS = "POS"
TAG = "TAG"
SIGNS = {"%": "%25", "|": "%7C", "=": "%3D", ",": "%2C"}
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
        features[TAG] = "".join(SIGNS.get(sign, sign) for sign in tag)
    return Morphology.dict_to_feats(features) or Morphology.EMPTY_MORPH


def features_of(label: str) -> Dict[str, str]:
    """All features of a label, part of speech and tag among them. RAISES ValueError [HS065]: it is
    no such label."""
    try:
        return dict(Morphology.feats_to_dict(label))
    except ValueError:
        raise ValueError(Errors.HS065.format(label=label, attribute="morph", known=KINDS)) from None


def analysis_of(label: str) -> Analysis:
    """RAISES ValueError [HS065]."""
    features = features_of(label)
    pos = features.pop(POS, "")
    tag = unquote(features.pop(TAG, ""))
    if pos not in PARTS_OF_SPEECH:
        raise ValueError(Errors.HS065.format(label=label, attribute="pos", known=KINDS))
    return Analysis(pos, Morphology.dict_to_feats(features), tag)


def normalized(label: str) -> str:
    """The same label as `label_of` has it. RAISES ValueError [HS065]."""
    return label_of(*analysis_of(label))
