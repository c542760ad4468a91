"""Configs for every size of corpus, commented: what `python -m spacy hoseq init` writes."""

from .recipes import ALIASES, RECIPES, recipe

__all__ = ["ALIASES", "RECIPES", "recipe"]
