"""A job of `apply`, and its folder: one that is always in order, so
that a run may be interrupted at any moment.

    parts/000000.parquet ...   one file for each part, under its name only when it is whole
    parts.jsonl                the job, then a line for each part, then that it is finished
    errors.jsonl               when it is: what could not be read or annotated

A part is written beside, then its line is appended to parts.jsonl, then it is renamed. What comes
next begins with looking at all of these: a line without its part is taken back. No other file is
overwritten or deleted.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from ..errors import Errors
from .annotator import Annotator
from .formats import STREAMS, TABLES, Done, Work
from .inputs import STANDARD, InputOptions, Part, input_files, parts_of
from .processes import in_processes

VERSION = 1  # of the folder
LISTED = 100  # inputs that the list of parts names
BESIDE = ".writing"  # ending of a part that is not whole
SEAL = b', "line": '
Told = Callable[[Done], None]
State = dict[str, Any]


class Job:
    """inputs: files, folders, globs, "-". output (Path): the folder to write to, None = a stream.
    format (str): of it.

    RAISES ValueError [HS074]: no such input; [HS174]: this format is no stream; [HS179]: nor
    a table.
    """

    def __init__(
        self,
        annotator: Annotator,
        inputs: Sequence[str],
        output: Path | None,
        format: str,
        options: InputOptions,
    ) -> None:
        if output is None and format not in STREAMS:
            raise ValueError(Errors.HS174.format(problem=f"--format {format}"))
        if annotator.flat and format not in TABLES:
            raise ValueError(Errors.HS179.format(format=format))
        self.annotator = annotator
        self.output = output
        self.format = format
        self.options = options
        self.files = input_files(inputs, output)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.files.values() if path.is_file())

    def to_stream(self, stream: IO[bytes], n_process: int, tell: Told) -> State:
        """RETURNS what there is to say in the end. RAISES ValueError [HS114, HS178]."""
        entries: list[State] = []
        for done in self._done(entries, False, n_process):
            stream.write(done.data)
            stream.flush()
            entries.append(done.entry)
            tell(done)
        return _counts(entries)

    def to_folder(self, n_process: int, force: bool, tell: Told) -> State:
        """Do what is not yet done, and read again what was read: it must be what it was. RETURNS
        what there is to say in the end. force (bool): delete what an earlier run has written.

        RAISES ValueError [HS114]: a process has ended; [HS167]: another job, or other files, are
        there; [HS168]: another run writes there; [HS169]: it cannot be written; [HS178]: the input
        has changed.
        """
        folder = _Folder(self.output or Path(), self._header())
        with folder.opened(force):
            for done in self._done(folder.entries, folder.is_finished, n_process):
                folder.write(done)
                tell(done)
            folder.finish()
            return _counts(folder.entries)

    def _done(self, entries: list[State], is_finished: bool, n_process: int) -> Iterator[Done]:
        """The parts behind those of the entries, to which the caller appends theirs. RAISES
        ValueError [HS178]: the input is not what it was."""
        before = self._stamps()
        if not is_finished:
            parts = self._parts([entry["read"] for entry in entries])
            yield from in_processes(Work(self.annotator, self.format), parts, n_process)
        if is_finished or STANDARD not in self.files:
            read = [part.digest for part in parts_of(self.files, self.options)]
            if read != [entry["read"] for entry in entries] or self._stamps() != before:
                raise self._has_changed()

    def _parts(self, digests: Sequence[str]) -> Iterator[Part]:
        """Parts behind the first ones, whose digests these are. RAISES ValueError [HS178]."""
        for part in parts_of(self.files, self.options):
            if part.number >= len(digests):
                yield part
            elif part.digest != digests[part.number]:
                raise self._has_changed()
        if part.number + 1 < len(digests):
            raise self._has_changed()

    def _stamps(self) -> object:
        """Size and time of all files."""
        stats = [path.stat() for name, path in self.files.items() if name != STANDARD]
        return [(stat.st_size, stat.st_mtime_ns) for stat in stats]

    def _has_changed(self) -> ValueError:
        return ValueError(Errors.HS178.format(path=self.output or STANDARD))

    def _header(self) -> State:
        """job: a digest of all that decides what is written, but for the input."""
        settings = [VERSION, self.format, self.options, list(self.files)]
        job = _sha256(json.dumps([self.annotator.fingerprint, *settings]).encode())
        return {"job": job, **self.annotator.about, "inputs": [*self.files][:LISTED]}


class _Folder:
    """Opened, it knows which parts are done. header: the job, first line of parts.jsonl."""

    def __init__(self, path: Path, header: State) -> None:
        self.path = path
        self.header = header
        self.entries: list[State] = []  # lines of the parts that are done
        self.is_finished = False
        self._errors = path / "errors.jsonl"
        self._parts = path / "parts"

    @contextmanager
    def opened(self, force: bool) -> Iterator[None]:
        try:
            self._refuse_others(self.path, ["errors.jsonl", "parts", "parts.jsonl"])
            self._parts.mkdir(parents=True, exist_ok=True)
            with (self.path / "parts.jsonl").open("a+b") as self._log:
                _lock(self._log, self.path)
                self._begin(force)
                yield
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=self.path, problem=error)) from error

    def write(self, done: Done) -> None:
        """The next part."""
        path = self._parts / done.entry["file"]
        beside = path.with_name(f"{path.name}{BESIDE}")
        with beside.open("wb") as file:
            _append(file, done.data)
        _append(self._log, _line(done.entry))
        beside.replace(path)
        self.entries.append(done.entry)

    def finish(self) -> None:
        if self.is_finished:
            return
        errors = self._error_lines()
        if errors:
            with self._errors.open("wb") as file:
                _append(file, errors)
        _append(self._log, _line({"state": "finished", **_counts(self.entries)}))

    def _error_lines(self) -> bytes:
        errors = [error for entry in self.entries for error in entry["errors"]]
        lines = "".join(f"{json.dumps(error, ensure_ascii=False)}\n" for error in errors)
        return lines.encode("utf8", "backslashreplace")  # half of a pair of surrogates as in JSON

    def _begin(self, force: bool) -> None:
        """Look at what is there, and begin anew or go on. RAISES ValueError [HS167]."""
        self._log.seek(0)
        lines = self._log.read().split(b"\n")[:-1]  # behind the last end is nothing, or half a line
        header, *self.entries = [*map(self._read, lines)] or [self.header]
        self.is_finished = bool(self.entries) and "state" in self.entries[-1]
        if self.is_finished or (self.entries and not self._path_of(self.entries[-1]).exists()):
            self.entries.pop()  # which ended before the part had its name
        halves = list(self._parts.glob(f"{len(self.entries):06}.*{BESIDE}"))
        own = [*map(self._path_of, self.entries), *halves]
        self._refuse_others(self._parts, [path.name for path in own])
        written = self._errors.read_bytes() if self._errors.exists() else b""
        if not self._error_lines().startswith(written):
            raise self._refused(f"has another {self._errors.name} than a run has written")
        for path in [*own, self._errors] if force else halves:
            path.unlink(missing_ok=True)
        if force:
            self.entries = []
            self.is_finished = False
        elif self.entries:
            self._check(header)
        if not self.entries:
            self._log.truncate(0)
            _append(self._log, _line(self.header))
        elif not self.is_finished:
            self._log.truncate(sum(len(_line(entry)) for entry in [header, *self.entries]))

    def _read(self, line: bytes) -> State:
        entry = line.rpartition(SEAL)[0]
        if line + b"\n" != _sealed(entry):
            raise self._refused("has a line in parts.jsonl that no run has written")
        return json.loads(entry + b"}")

    def _check(self, header: State) -> None:
        """Check what is there. RAISES ValueError [HS167]: another job; parts are lost or were
        changed."""
        if header != self.header:
            raise self._refused("holds another job: other files or settings")
        for entry in self.entries:
            path = self._path_of(entry)
            if not path.exists() or _sha256(path.read_bytes()) != entry["sha256"]:
                raise self._refused(f"has lost {path.name}, or it was changed since")

    def _path_of(self, entry: State) -> Path:
        return self._parts / str(entry.get("file"))

    def _refuse_others(self, folder: Path, known: Sequence[str]) -> None:
        """Check the names of files. RAISES ValueError [HS167]: some that no run has written."""
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        others = sorted(map(repr, names.difference(known)))
        if others:
            raise self._refused(f"has files that no run has written ({', '.join(others[:3])})")

    def _refused(self, problem: str) -> ValueError:
        return ValueError(Errors.HS167.format(path=self.path, problem=problem))


def _counts(entries: Sequence[State]) -> State:
    errors = sum(len(entry["errors"]) for entry in entries)
    sums = {name: sum(entry[name] for entry in entries) for name in ("rows", "tokens")}
    return {"parts": len(entries), **sums, "errors": errors}


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock a file until it is closed. RAISES ValueError [HS168]: another run holds it."""
    with suppress(ImportError):  # on Windows nobody is told
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(Errors.HS168.format(path=path)) from error


def _append(file: IO[bytes], data: bytes) -> None:
    """Write to the disk, not only to the system."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _line(entry: State) -> bytes:
    """A line of parts.jsonl."""
    return _sealed(json.dumps(entry)[:-1].encode())


def _sealed(entry: bytes) -> bytes:
    """A line with a digest of itself at the end, by which a change is known."""
    return b'%s%s"%s"}\n' % (entry, SEAL, _sha256(entry).encode())


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()
