"""What is seen of a text: templates of attributes -> keys of features -> rows of weights."""

from . import known_tags, word_attributes  # they register their attributes
from .attributes import register_attribute
from .extract import FeatureExtractor
from .templates import Template, parse_templates

__all__ = [
    "FeatureExtractor",
    "Template",
    "known_tags",
    "parse_templates",
    "register_attribute",
    "word_attributes",
]
