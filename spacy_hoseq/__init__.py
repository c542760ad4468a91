"""Exact higher-order sequence labelling for spaCy. Components are found through entry points:
nothing to import.

`spacy_hoseq.load("en")` gives a trained pipeline that comes with the package."""

import sys
from typing import TYPE_CHECKING

from .lazy_names import lazy_names

if TYPE_CHECKING:
    from .components.noun_chunks import noun_chunks as noun_chunks
    from .pipelines import load as load
    from .pipelines.adaptation import adapt as adapt

__version__ = "1.0.0"
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "adapt": "pipelines.adaptation",
        "load": "pipelines",
        "noun_chunks": "components.noun_chunks",
    },
)

# extensions of Docs belong to the process; else they come with the first pipeline
if "spacy" in sys.modules:
    from .components import extensions as _extensions  # noqa: F401
