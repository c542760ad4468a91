"""What is to be done with which files, and the doing of it."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence

from ..errors import Errors
from .annotator import Annotator
from .folder import Folder, Shard
from .inputs import input_files
from .parts import InputPart, parts_of
from .source import STANDARD, InputOptions
from .work import Done, Work
from .writing import output_format

SAMPLE = 1 << 16  # bytes at the beginning and the end of a file by which it is known again
LISTED = 100  # inputs that the manifest names

Engine = Callable[[Work, Iterable[InputPart]], Iterator[Done]]
Told = Callable[[Done], None]


@dataclass
class Job:
    """inputs: files, folders, globs, "-". output (Path): the folder to write to, None = a stream.
    format (str): of it.
    part_size (int): rows of a file, at most. flat (bool): a row is a token.

    RAISES ValueError [HS165, HS166]: no such input; [HS174]: this format is no stream; [HS179]: nor
    a table.
    """

    annotator: Annotator
    inputs: Sequence[str]
    output: Optional[Path]
    format: str
    reading: InputOptions
    part_size: int
    flat: bool = False

    def __post_init__(self) -> None:
        form = output_format(self.format)
        if self.output is None and not form.is_stream:
            raise ValueError(Errors.HS174.format(problem=f"--format {self.format}"))
        if self.flat and form.table is None:
            raise ValueError(Errors.HS179.format(format=self.format))
        self.flat = self.flat or form.is_flat
        self.files: List[Path] = input_files(self.inputs, self.output)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.files if path != STANDARD)

    @cached_property
    def fingerprint(self) -> str:
        """Of all that decides what is written."""
        known = [
            [path.as_posix(), "" if path == STANDARD else _sample(path)] for path in self.files
        ]
        parts = [
            self.annotator.fingerprint,
            self.format,
            self.flat,
            self.part_size,
            self.reading,
            known,
        ]
        return hashlib.sha256(json.dumps(parts).encode("utf8")).hexdigest()[:32]

    def parts(self) -> Iterator[InputPart]:
        return parts_of(self.files, self.reading, self.part_size)

    def work(self) -> Work:
        return Work(self.annotator, self.format, self.flat)

    def folder(self, shard: Shard, restart: bool) -> Folder:
        """Where the job is written, to be entered. RAISES ValueError as `Folder` does."""
        about = {key: value for key, value in self.annotator.about.items() if key != "labels"}
        about["inputs"] = [file.as_posix() for file in self.files[:LISTED]]
        return Folder(self.output or Path(), self.fingerprint, about, self.format, shard, restart)

    def to_folder(self, folder: Folder, engine: Engine, tell: Told) -> Dict[str, Any]:
        """Do what is not yet done, and read what is done again: it must be what it was.

        RETURNS what the manifest says. RAISES ValueError [HS114, HS167, HS169, HS178].
        """
        missing = folder.missing(self.parts())
        if folder.is_finished:
            for _ in missing:
                pass
            return folder.state
        for done in engine(self.work(), missing):
            folder.write(done)
            tell(done)
        folder.finish()
        return folder.state

    def to_stream(self, stream: IO[bytes], engine: Engine, tell: Told) -> int:
        """RETURNS (int): number of errors. RAISES ValueError [HS114]."""
        n_errors = 0
        for done in engine(self.work(), self.parts()):
            stream.write(done.data)
            stream.flush()
            n_errors += len(done.errors)
            tell(done)
        return n_errors


def _sample(path: Path) -> str:
    """Size, beginning and end of a file: not all of it, which may be a terabyte."""
    size = path.stat().st_size
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
        file.seek(max(0, size - SAMPLE))
        sample += file.read(SAMPLE)
    return f"{size}:{hashlib.sha256(sample).hexdigest()[:16]}"
