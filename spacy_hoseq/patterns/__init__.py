"""Higher-order features: label patterns, where they come from and what fires them.

A `PatternSource` is what to write for patterns of one's own: it defines `PatternFeatures` once, and says where its
rules fire (`fired_rules`). Several of them are one by `PatternSources`.
"""

from .chunk_words import ChunkWords
from .frequent import FrequentTransitions
from .rules import RulePatterns
from .same_string import SameStringPairs
from .same_word import SameWordPairs
from .sources import ConfigurationFeatures, FiredRules, PatternFeatures, PatternSource, PatternSources, fired_rules

__all__ = [
    "ChunkWords",
    "ConfigurationFeatures",
    "FiredRules",
    "FrequentTransitions",
    "PatternFeatures",
    "PatternSource",
    "PatternSources",
    "RulePatterns",
    "SameStringPairs",
    "SameWordPairs",
    "fired_rules",
]
