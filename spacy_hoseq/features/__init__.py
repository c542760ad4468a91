"""Templates of attributes -> keys of features -> rows of weights.

`parse_templates` reads template strings, a `FeatureExtractor` computes their keys for whole
batches, and `register_attribute` adds an attribute of words (docs/reference/templates.md).
"""

from . import (  # noqa: F401 (they register their attributes)
    known_tags,
    known_words,
    word_attributes,
    word_classes,
)
from .attributes import register_attribute
from .extract import FeatureExtractor
from .templates import Template, parse_templates

__all__ = ["FeatureExtractor", "Template", "parse_templates", "register_attribute"]
