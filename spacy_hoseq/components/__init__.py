"""The registered components, one file each; what they share is in `base.py` and `structured.py`.

spaCy finds them through entry points.
"""

from .bidirectional_tagger import HoseqBidirectionalTagger
from .chunker import HoseqChunker
from .tagger import HoseqTagger

__all__ = ["HoseqBidirectionalTagger", "HoseqChunker", "HoseqTagger"]
