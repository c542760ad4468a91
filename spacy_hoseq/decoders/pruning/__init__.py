"""Labels that cannot be on a best labelling are dropped; what is left is decoded."""

from .bounds import ROUNDING, least_reach
from .candidates import dense_cost
from .likely import SURE, least_likely, likely_labels
from .limits import Limits
from .pruned import pruned_checked

__all__ = [
    "Limits", "ROUNDING", "SURE", "dense_cost", "least_likely", "least_reach", "likely_labels", "pruned_checked",
]  # fmt: skip
