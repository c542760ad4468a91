"""Smaller pipelines (`pipelines/compaction`)."""

from .pipelines.compaction import Compaction, compact_pipeline, save_compact

__all__ = ["Compaction", "compact_pipeline", "save_compact"]
