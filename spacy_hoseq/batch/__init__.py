"""Any amount of text: a trained pipeline as a map from Arrow batches to Arrow batches, and jobs
over files made of it.

Needs pyarrow: `pip install "spacy-hoseq[arrow]"`.
"""

from typing import TYPE_CHECKING

from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from .annotator import Annotator as Annotator

__getattr__, __dir__, __all__ = lazy_names(__name__, {"Annotator": "annotator"})
