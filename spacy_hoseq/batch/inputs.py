"""Which files of texts there are, and the rows in them. What cannot be read is a Problem, and
nothing else is lost."""

import glob
from pathlib import Path
from typing import List, Optional, Sequence

from ..errors import Errors
from ..readers.files import find_files
from .reading import input_formats
from .reading.text import FORMAT as TEXT
from .source import PACKED, STANDARD, InputFormat, InputOptions, Items, Source

FORMATS = input_formats()  # ending -> how it is read
# .gz goes without saying
SUFFIXES = [ending + packed for ending in FORMATS for packed in ("", ".zst")]


def format_of(path: Path) -> InputFormat:
    """How a file is read, by its ending; any other is text."""
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return next((form for ending, form in FORMATS.items() if name.endswith(ending)), TEXT)


def rows_of(source: Source, reading: InputOptions) -> Items:
    """The rows of a file in their order, and the problems. Not of files of Docs."""
    read = format_of(source.path).rows
    return source.follow(read(source, reading)) if read is not None else iter(())


def input_files(inputs: Sequence[str], output: Optional[Path]) -> List[Path]:
    """All files, in order: of folders, and of globs. output: of which nothing is read.

    RAISES ValueError [HS165]: there is no such file; [HS166]: an input lies in the output.
    """
    files: List[Path] = []
    for name in inputs:
        if Path(name) == STANDARD:
            files.append(STANDARD)
        elif Path(name).exists() or not glob.has_magic(name):
            files += _at(Path(name), output)
        else:
            files += [
                file
                for one in sorted(glob.glob(name, recursive=True))
                for file in _at(Path(one), output)
            ]
    if not files:
        raise ValueError(Errors.HS165.format(path=", ".join(inputs), problem="nothing matches"))
    return list(dict.fromkeys(files))


def _at(path: Path, output: Optional[Path]) -> List[Path]:
    if output is not None and output.resolve() in [path.resolve(), *path.resolve().parents]:
        raise ValueError(Errors.HS166.format(path=path, output=output))
    if not path.exists():
        raise ValueError(
            Errors.HS165.format(path=path, problem="there is neither a file nor a folder")
        )
    try:
        files = find_files(path, SUFFIXES)
    except ValueError as error:
        raise ValueError(
            Errors.HS165.format(path=path, problem=f"no file ends with {', '.join(FORMATS)}")
        ) from error
    return [
        file for file in files if output is None or output.resolve() not in file.resolve().parents
    ]
