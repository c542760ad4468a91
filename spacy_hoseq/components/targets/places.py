"""The target at each place of labels on a Doc, for tools that have no component at hand."""

from .chunk_tags import ChunkTags
from .lemmas import LemmaLabels
from .morphology import MorphologyLabels
from .target import ENTS, SPANS, Target
from .token_labels import TokenLabels

# attributes of tokens that components write, and the names of their columns in reports
COLUMN_NAMES = {"tag": "tag", "pos": "pos", "morph": "features", "lemma": "lemma"}


def target_at(place: str) -> Target:
    """The target at a place, whatever component writes it: "tag", "morph", "_.name",
    "spans.chunks", "ents".

    Where a Doc has no such span group, its entities count. RAISES ValueError [HS027]: the place
    cannot have labels.
    """
    if place == ENTS:
        return ChunkTags("", "iob2", with_entities=True)
    if place.startswith(SPANS):
        return ChunkTags(place.removeprefix(SPANS), "iob2", with_entities=True)
    if place == LemmaLabels.attribute:
        return LemmaLabels()
    if place == MorphologyLabels.attribute:
        return MorphologyLabels()
    return TokenLabels(place)
