"""spaCy components, and what every tool may ask of them.

component   `HoseqTagger` and the others: `SequenceComponent`, those with p(y | x) `StructuredComponent`
target      where its labels stand on a Doc: `component.target`, or `target_at("tag")`
reading     what it made of some Docs: `component.read(docs)`

spaCy finds the factories through entry points.
"""

# ruff: noqa: F401  (names for type checkers)

from typing import TYPE_CHECKING

from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from .base import SequenceComponent
    from .bidirectional_tagger import GREEDY, HoseqBidirectionalTagger
    from .chunker import HoseqChunker
    from .expected_spans import growing_tags, probable_chunks
    from .extensions import DECISIONS, MARGINALS
    from .lemma_scripts import script_named
    from .lemmatizer import HoseqLemmatizer
    from .listening import listeners_in
    from .morphologizer import HoseqMorphologizer
    from .reading import LabelsAlone, Reading
    from .structured import StructuredComponent
    from .tagger import HoseqTagger
    from .targets.chunk_tags import FoundChunks
    from .targets.places import COLUMNS, target_at
    from .targets.target import Items, Target, known_labels

HOMES = {
    "COLUMNS": "targets.places",
    "DECISIONS": "extensions",
    "FoundChunks": "targets.chunk_tags",
    "GREEDY": "bidirectional_tagger",
    "HoseqBidirectionalTagger": "bidirectional_tagger",
    "HoseqChunker": "chunker",
    "HoseqLemmatizer": "lemmatizer",
    "HoseqMorphologizer": "morphologizer",
    "HoseqTagger": "tagger",
    "Items": "targets.target",
    "LabelsAlone": "reading",
    "MARGINALS": "extensions",
    "Reading": "reading",
    "SequenceComponent": "base",
    "StructuredComponent": "structured",
    "Target": "targets.target",
    "growing_tags": "expected_spans",
    "known_labels": "targets.target",
    "listeners_in": "listening",
    "probable_chunks": "expected_spans",
    "script_named": "lemma_scripts",
    "target_at": "targets.places",
}
__all__ = sorted(HOMES)
__getattr__ = lazy_names(__name__, HOMES)
