"""Exact higher-order sequence labelling for spaCy. Components are found through entry points: nothing to import."""

__all__ = ["__version__"]
__version__ = "0.1.0"
