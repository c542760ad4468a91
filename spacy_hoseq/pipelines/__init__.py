"""Trained pipelines: those that come with the package, each a folder of this room, and what loads
any."""

from .loading import embedded_path, folder_of, load, load_from, run_code
from .names import checked_language

__all__ = [
    "checked_language",
    "embedded_path",
    "folder_of",
    "load",
    "load_from",
    "run_code",
]
