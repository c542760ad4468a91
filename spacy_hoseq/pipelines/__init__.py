"""Trained pipelines: those that come with the package, each a folder of this room, and what loads
any."""

from .loading import embedded_names, embedded_path, found_at, load, load_found, load_from, run_code

__all__ = [
    "embedded_names",
    "embedded_path",
    "found_at",
    "load",
    "load_found",
    "load_from",
    "run_code",
]
