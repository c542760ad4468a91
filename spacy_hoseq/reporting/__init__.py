"""Pictures of results. Nothing in the library imports this package. `render` shows texts in a
notebook."""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {"Page": "text", "render": "text"})
