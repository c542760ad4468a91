"""Handwritten letters as words: reader, attribute and templates of pixels, convolutional emissions. Importing registers
them under the names that configs have (`register.py` does that for `--code`)."""

from .convolutions import PixelConvolutions
from .letters import letter_corpus, read_letters
from .lexicon import LexiconTransitions
from .pixels import image_to_word, pixel_templates

__all__ = [
    "LexiconTransitions",
    "PixelConvolutions",
    "image_to_word",
    "letter_corpus",
    "pixel_templates",
    "read_letters",
]
