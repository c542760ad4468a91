"""Configs for every size of corpus, commented: what `python -m spacy hoseq init` writes."""

from .recipes import RECIPES, checked, recipe

__all__ = ["RECIPES", "checked", "recipe"]
