"""What tests build again and again: pipelines, Docs, models."""

import functools
import pickle

from spacy.language import Language

from spacy_hoseq.pipelines.loading import load_from


def packaged(name: str = "en") -> Language:
    """A copy of a pipeline of the package, which is read once in a process."""
    return pickle.loads(_pickled(str(name)))


@functools.cache
def shared(name: str) -> Language:
    """A pipeline of the package: one object for all tests that only read texts with it."""
    return packaged(name)


@functools.cache
def _pickled(name: str) -> bytes:
    return pickle.dumps(load_from(name))
