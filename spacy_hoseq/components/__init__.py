"""The registered components, one file each; what they share is in `base.py` and `structured.py`.

spaCy finds them through entry points.
"""

from ..front_door import names_of

HOMES = {
    "HoseqBidirectionalTagger": "bidirectional_tagger",
    "HoseqChunker": "chunker",
    "HoseqMorphologizer": "morphologizer",
    "HoseqTagger": "tagger",
}
__all__ = sorted(HOMES)
__getattr__ = names_of(__name__, HOMES)
