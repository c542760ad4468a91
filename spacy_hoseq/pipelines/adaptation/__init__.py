"""A trained pipeline, adapted to a few annotated sentences of another kind of text."""

from .adaptation import Adaptation, adapt

__all__ = ["Adaptation", "adapt"]
