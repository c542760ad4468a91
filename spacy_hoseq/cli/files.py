"""Files that a command writes: whole, or as they were before."""

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

TRAININGS = "trainings"  # folder of what an interrupted command goes on with
HALF = ".part"  # ending of a file that is being written


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
