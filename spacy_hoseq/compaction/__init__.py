"""Smaller models: the least weights with which no metric falls by more than a tolerance.

pipeline   component by component: what is measured, what may be lost, what is saved
search     of one component: which rows are cut off, how the others are rounded
weights    of one model: its weights of features, to be pruned again and again, and for good
"""

from .pipeline import Compaction, compact_pipeline, dev_examples, save_compact

__all__ = ["Compaction", "compact_pipeline", "dev_examples", "save_compact"]
