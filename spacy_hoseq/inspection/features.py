"""What the emissions of a text are made of: each feature that fires, by name, with its weight for
every label."""

from typing import Any, List, Sequence

from ..layers.named_features import Feature, Names
from ..layers.scorer import scorer_of
from .reading import ReadTexts

__all__ = ["Feature", "Names", "features_at"]


def features_at(layer: Any, text: ReadTexts, words: Sequence[int]) -> List[Feature]:
    """All features of a layer that fire at some words and have a weight (`Scorer.features_at`).
    They are kept with the text."""
    known = text.features.setdefault(id(layer), {})
    missing = sorted(set(words) - known.keys())
    if missing:
        known.update({word: [] for word in missing})
        for feature in scorer_of(layer).features_at(text.docs, missing):
            known[feature.word].append(feature)
    return [feature for word in words for feature in known[word]]
