"""Pipelines of the package, read from their files once in a process: to read them takes longer than most tests do.

Tests of loading itself do without.
"""

import functools
import pickle
from pathlib import Path
from typing import Any

from spacy.language import Language

from spacy_hoseq.pipelines import embedded_path, loading

real = loading.load_from


@functools.cache
def pickled(place: Path, settings: tuple[tuple[str, Any], ...]) -> bytes:
    return pickle.dumps(real(place, **dict(settings)))


def load_from(place: str | Path, **settings: Any) -> Language:
    """As `loading.load_from`. A pipeline of the package is a new copy of what was read first."""
    names = all(
        isinstance(value, (list, tuple)) for value in settings.values()
    )  # as of `exclude`, not a config
    folder = loading.folder_of(place)
    if names and folder.parent == loading.PIPELINES_FOLDER:
        return pickle.loads(
            pickled(folder, tuple((key, tuple(settings[key])) for key in sorted(settings)))
        )
    return real(place, **settings)


@functools.cache
def shared(name: str) -> Language:
    """For tests that only read texts with it: one object for all of them."""
    return load_from(embedded_path(name))
