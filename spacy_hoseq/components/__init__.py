"""The registered components, one file each; what they share is in `base.py` and `structured.py`.

spaCy finds them through entry points.
"""

from ..lazy_names import lazy_names

HOMES = {
    "HoseqBidirectionalTagger": "bidirectional_tagger",
    "HoseqChunker": "chunker",
    "HoseqLemmatizer": "lemmatizer",
    "HoseqMorphologizer": "morphologizer",
    "HoseqTagger": "tagger",
}
__all__ = sorted(HOMES)
__getattr__ = lazy_names(__name__, HOMES)
