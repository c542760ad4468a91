"""Who may write to the folder of a job: with locks of Unix, and on a stand-in for `msvcrt` with those of Windows."""

import errno
import os
import struct
import sys
from types import SimpleNamespace

import pytest

from spacy_hoseq.batch import locks
from spacy_hoseq.batch.locks import Locks

fcntl = pytest.importorskip("fcntl", reason="the stand-in needs the locks of Linux")
FLOCK = "hhqqi4x"  # kind, from where, first byte, bytes, process


class Msvcrt:
    """`locking` as Windows has it: bytes from where the file stands, held by the one who has opened it; a byte is
    locked once, not twice by the same either; what is unlocked has to have been locked so."""

    LK_NBLCK = 2
    LK_UNLCK = 0

    def __init__(self):
        self._held = set()

    def locking(self, number, mode, size):
        place = (os.fstat(number).st_ino, number, os.lseek(number, 0, os.SEEK_CUR), size)
        if mode == self.LK_UNLCK:
            if place not in self._held or self._is_free(*place[1:]):
                raise OSError(errno.EACCES, "not locked so")
            self._held.remove(place)
            self._set(fcntl.F_UNLCK, *place[1:])
            return
        if not self._is_free(*place[1:]):
            raise OSError(errno.EACCES, "locked")
        self._set(fcntl.F_WRLCK, *place[1:])
        self._held.add(place)

    def _set(self, kind, number, first, size):
        fcntl.fcntl(number, fcntl.F_OFD_SETLK, struct.pack(FLOCK, kind, os.SEEK_SET, first, size, 0))

    def _is_free(self, number, first, size):
        """Asked by somebody who has opened the file, too: of nobody else, and of this one."""
        with open(f"/proc/self/fd/{number}", "r+b") as other:
            asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, first, size, 0)
            return struct.unpack(FLOCK, fcntl.fcntl(other, fcntl.F_OFD_GETLK, asked))[0] == fcntl.F_UNLCK


@pytest.fixture(params=["posix", "nt"], autouse=True)
def system(request, monkeypatch):
    if request.param == "nt":
        if not hasattr(fcntl, "F_OFD_SETLK"):
            pytest.skip("the stand-in needs the locks of Linux")
        monkeypatch.setattr(locks, "os", SimpleNamespace(name="nt", getpid=os.getpid))
        monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    monkeypatch.setattr(locks, "PATIENCE", 0.1)


@pytest.fixture
def run(tmp_path):
    """Starts a run: of a shard of four, or of all."""
    every = []

    def started(shard=0, alone=False):
        every.append(Locks(tmp_path, f"-{shard}-of-4" if shard else "", max(shard, 1), alone))
        try:
            every[-1].take()
        except ValueError:
            every[-1].close()
            raise
        return every[-1]

    yield started
    for each in every:
        each.close()


def refused(start, owner="process "):
    with pytest.raises(ValueError, match=r"\[HS168\] .*" + owner):
        start()


def test_two_runs_of_a_job(run):
    first = run()
    first.begin()
    refused(run)
    refused(lambda: run(1))
    first.close()
    run().begin()


def test_shards_beside_each_other(run):
    first = run(1)
    first.begin()
    second = run(2)
    second.begin()
    refused(lambda: run(1))
    refused(run)
    refused(lambda: run(3, alone=True))
    first.close()
    second.close()
    run().begin()


def test_others_come_in_after_one_that_was_alone(run):
    """A shard that begins anew is alone until it has looked."""
    first = run(1, alone=True)
    refused(lambda: run(2), "a run that begins")
    first.begin()
    run(2).begin()
    refused(lambda: run(3, alone=True))


def test_one_begins_at_a_time(run):
    first = run(1)
    refused(lambda: run(2), "a run that begins")
    first.begin()
    run(2).begin()
