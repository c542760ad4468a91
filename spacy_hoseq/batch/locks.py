"""Who may write to the folder of a job: one run of the whole job, or runs of different shards
beside each other.

    .lock          held alone by a run of the whole job, and by `--force`; held together by runs of shards
    .lock-2-of-4   held by the run of this shard
    .lock-gate     held for a moment by each run that begins, while it looks at what is there

The operating system lets go of a lock when the process that holds it ends, in whatever way. The
file stays, and says nothing by being there.
"""

import errno
import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, List

from ..errors import Errors

ALL = ".lock"
GATE = ".lock-gate"
PATIENCE = 60.0  # seconds that a run waits while others begin
PAUSE = 0.02
HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
BYTES = 1 << 20  # of a file that are locked on Windows; a shard locks one of them


class Locks:
    """The locks of a run. ending (str): of the names of its shard's files, "" for the whole job.
    number (int): of the shard, from 1. alone (bool): nobody else may be writing, not even another
    shard."""

    def __init__(self, folder: Path, ending: str, number: int, alone: bool) -> None:
        self._folder = folder
        self._ending = ending
        self._number = number
        self._alone = alone or not ending
        self._held = ExitStack()
        self._gate = ExitStack()

    def take(self) -> None:
        """Take all; the gate, too, which is to be left by `begin`.

        RAISES ValueError [HS168]: somebody else has one of them; OSError: this folder cannot be
        locked.
        """
        self._pass_gate()
        self._all = self._opened(ALL, self._held)
        names = [f"{ALL}{self._ending}"] if self._ending else []
        is_free = _lock(self._all, not self._alone, self._number)
        for name in names if is_free else ():
            file = self._opened(name, self._held)
            is_free = _lock(file, False, 0)
            if is_free:
                _sign(file)
        if not is_free:
            raise ValueError(Errors.HS168.format(path=self._folder, owner=self._owner()))
        if self._alone:
            _sign(self._all)

    def begin(self) -> None:
        """Let others look at the folder, and shards of the same job in."""
        if self._ending and self._alone:
            _unlock(self._all)
            _lock(self._all, True, self._number)
        self._gate.close()

    def close(self) -> None:
        self._gate.close()
        self._held.close()

    def _opened(self, name: str, files: ExitStack) -> IO[bytes]:
        return files.enter_context((self._folder / name).open("a+b"))

    def _pass_gate(self) -> None:
        file = self._opened(GATE, self._gate)
        until = time.monotonic() + PATIENCE
        while not _lock(file, False, 0):
            if time.monotonic() > until:
                raise ValueError(Errors.HS168.format(path=self._folder, owner="a run that begins"))
            time.sleep(PAUSE)

    def _owner(self) -> str:
        """What those who hold locks have written into them."""
        return ", ".join(self._owners(f"{ALL}-*-of-*") or self._owners(ALL)) or "unknown"

    def _owners(self, pattern: str) -> List[str]:
        owners: List[str] = []
        for path in sorted(self._folder.glob(pattern)):
            with path.open("a+b") as file:
                if not _lock(file, False, 0):
                    file.seek(0)
                    owners.append(file.read().decode("utf8", "replace").strip())
        return [owner for owner in owners if owner]


def _sign(file: IO[bytes]) -> None:
    """Write who holds the lock."""
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
    file.flush()


def _lock(file: IO[bytes], shared: bool, number: int) -> bool:
    """Whether this process holds the lock now. number (int): tells those apart that share it, on
    Windows."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(BYTES + number if shared else BYTES)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1 if shared else BYTES)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(file.fileno(), (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            return False
        raise
    return True


def _unlock(file: IO[bytes]) -> None:
    if os.name == "nt":
        import msvcrt

        file.seek(BYTES)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, BYTES)  # type: ignore[attr-defined, unused-ignore]
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
