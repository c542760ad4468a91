"""Smaller models: the least weights with which no metric falls by more than a tolerance.

pipeline   component by component: what is measured, what may be lost, what is saved
weights    of one model: which rows of weights are cut off, how the others are rounded
"""

from .pipeline import Compaction, compact_pipeline, save_compact

__all__ = ["Compaction", "compact_pipeline", "save_compact"]
