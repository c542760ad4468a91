"""Trained pipelines: those that come with the package, each a folder of this room, and what loads
any."""

from .loading import embedded_path, found_at, load, load_from, run_code

__all__ = [
    "embedded_path",
    "found_at",
    "load",
    "load_from",
    "run_code",
]
