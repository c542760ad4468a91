"""Pictures of results. Nothing in the library imports this package. `render` shows texts in a notebook."""

from ..front_door import names_of

__all__ = ["Page", "render"]
__getattr__ = names_of(__name__, {"Page": "notebook", "render": "notebook"})
