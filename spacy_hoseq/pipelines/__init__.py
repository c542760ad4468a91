"""Trained pipelines that come with the package: each is a folder of this room, as `nlp.to_disk` writes it."""

from .embedded import embedded_names, embedded_path, found_at, load

__all__ = ["embedded_names", "embedded_path", "found_at", "load"]
