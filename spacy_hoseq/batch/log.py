"""Files of lines that only grow, and whole files that take a name at once: both survive the end of
the process.

What counts of a log is what the manifest says of it: so many bytes, with this digest. Lines behind
are those of a part that was being written when the run ended.
"""

import hashlib
import os
from pathlib import Path
from typing import IO, Any, Dict

from ..errors import Errors

BESIDE = ".writing"  # ending of a file that is not whole
READ = 1 << 20  # bytes at a time


class Log:
    """A file of lines, and the digest of its bytes so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = 0
        self._digest = hashlib.sha256()

    @property
    def state(self) -> Dict[str, Any]:
        """What the manifest keeps."""
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}

    def open(self, state: Dict[str, Any]) -> bytes:
        """Begin where the manifest says that the log ends. RETURNS what stands behind.

        RAISES ValueError [HS167]: the bytes before are not those that were written.
        """
        if not self.path.exists() and not state["bytes"]:
            return b""
        if not self.path.exists():
            raise self._refused(f"has lost {self.path.name}")
        with self.path.open("rb") as file:
            remaining = int(state["bytes"])
            while remaining:
                data = file.read(min(READ, remaining))
                if not data:
                    break
                self._add(data)
                remaining -= len(data)
            tail = file.read()
        if self.state != state:
            raise self._refused(f"has another {self.path.name} than the job has written")
        return tail

    def cut(self) -> None:
        """Remove what stands behind."""
        if self.path.exists():
            os.truncate(self.path, self._size)

    def append(self, data: bytes) -> None:
        """RAISES OSError."""
        if not data:
            return
        with self.path.open("ab") as file:
            file.write(data)
            to_disk(file)
        self._add(data)

    def _refused(self, problem: str) -> ValueError:
        return ValueError(Errors.HS167.format(path=self.path.parent, problem=problem))

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        self._digest.update(data)


def replace(path: Path, data: bytes) -> None:
    """Write beside, then rename: under this name there is always a whole file. RAISES OSError."""
    temporary = path.with_name(f"{path.name}{BESIDE}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            to_disk(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
