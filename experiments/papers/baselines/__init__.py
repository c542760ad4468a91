"""Decoders that the papers compare with, registered when this is imported (`--code ../register.py`)."""

from .algorithm_1 import algorithm_1
from .beam import BeamSearch
from .dual_decomposition import DualDecomposition
from .tagger import decoded

__all__ = ["BeamSearch", "DualDecomposition", "algorithm_1", "decoded"]
