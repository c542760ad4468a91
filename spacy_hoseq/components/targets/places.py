"""Places where labels stand, and the target at each, for who has no component at hand."""

from .chunk_tags import ChunkTags
from .lemmas import LemmaLabels
from .morphology import MorphologyLabels
from .target import ENTS, SPANS, Target
from .token_labels import TokenLabels

# attributes of tokens that components write, and what tools call their columns
COLUMNS = {"tag": "tag", "pos": "pos", "morph": "features", "lemma": "lemma"}


def target_at(place: str) -> Target:
    """Target at a place, whatever component writes it: "tag", "morph", "_.name", "spans.chunks",
    "ents".

    A Doc without these spans has its entities there. RAISES ValueError [HS027]: there are no
    labels.
    """
    if place == ENTS or place.startswith(SPANS):
        return ChunkTags(place[len(SPANS) :] if place != ENTS else "", "iob2", with_entities=True)
    if place == LemmaLabels.attribute:
        return LemmaLabels()
    return MorphologyLabels() if place == MorphologyLabels.attribute else TokenLabels(place)
