"""What a corpus format is: formats/ has those of the package, and anyone can register more."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .sentences import Items
from .settings import Settings


class Format(NamedTuple):
    """A corpus format. A function without arguments that returns one is registered in
    `spacy.registry.misc`.

    read(path, settings): the sentences and problems of a file.
    endings: of the files in a folder that are read if the format is named.
    what: the files are, for people. details(path, settings): more about one file.
    """

    read: Callable[[Path, Settings], Items]
    endings: Sequence[str]
    what: str
    details: Callable[[Path, Settings], str] | None = None
