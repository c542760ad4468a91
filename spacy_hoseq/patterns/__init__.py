"""Higher-order features: label patterns, where they come from and what fires them.

Inherit from `PatternSource` for patterns of your own: it defines `PatternFeatures` once, and says
where its rules fire (`fired_rules`). Several of them are one by `PatternSources`.
"""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ChunkWords": "chunk_words",
        "FiredRules": "sources",
        "FrequentTransitions": "counted",
        "PatternFeatures": "sources",
        "PatternSource": "sources",
        "PatternSources": "sources",
        "RulePatterns": "rules",
        "SameWordPairs": "same_word",
        "fired_rules": "sources",
    },
)
