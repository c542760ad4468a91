"""Files that a command writes: whole, or as they were before."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Optional

import typer

from ..errors import Errors

TRAININGS = "trainings"  # folder of what an interrupted command goes on with
HALF = ".part"  # ending of a file that is being written

FORCE: Any = typer.Option(False, "--force", "-F", help="Replace the output if it is there")


def check_free(path: Optional[Path], force: bool) -> None:
    """Before any work. path: None = nothing will be written. RAISES ValueError [HS113]: it would
    be below a file, or something is there that would be replaced."""
    if path and any(map(Path.is_file, path.parents)):
        raise ValueError(Errors.HS113.format(path=path, problem="a part of this path is a file"))
    if path and path.exists() and not force:
        raise ValueError(Errors.HS113.format(path=path, problem="there is a file already"))


def check_name(name: str) -> None:
    """Of a pipeline. RAISES ValueError [HS192]: no package can have it."""
    if not (f"xx_{name}".isidentifier() and name.isascii() and name[-1:].isalnum()):
        raise ValueError(Errors.HS192.format(name=name))


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path beside, to write to. In the end the file is renamed; what was there before stays
    until then."""
    part = path.with_name(f"{path.name}{HALF}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with whole(path) as part:
        part.write_text(text, encoding="utf8")
