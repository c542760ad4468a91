"""Pictures of results. Nothing in the library imports this package. `render` shows texts in a
notebook."""

from ..lazy_names import lazy_names, listed

__all__ = ["Page", "render"]
__getattr__ = lazy_names(__name__, {"Page": "text", "render": "text"})
__dir__ = listed(__name__)
