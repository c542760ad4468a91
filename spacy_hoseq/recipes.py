"""Configs to begin with (`pipelines/recipes`)."""

from .pipelines.recipes import recipe

__all__ = ["recipe"]
