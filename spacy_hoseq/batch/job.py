"""What is to be done with which files, and the doing of it: a folder that is always in order, so
that a run may be interrupted at any moment.

    parts/000000.parquet ...   one file for each part, under its name only when it is whole
    parts.jsonl                a line for each part: digests of the file and of what was read, counts, errors
    errors.jsonl               what could not be read or annotated
    manifest.json              which job, and whether it is finished

A part is written beside, then its line is appended to parts.jsonl, then it is renamed, then its
errors are appended. What comes next begins with looking at all of these: a line without its part is
taken back. No other file is overwritten or deleted.
"""

import hashlib
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence

from ..errors import Errors
from .annotator import Annotator
from .formats import FORMATS
from .inputs import STANDARD, InputOptions, input_files, shown
from .parts import Done, Part, Work, parts_of
from .processes import in_processes

VERSION = 1  # of the folder
LISTED = 100  # inputs that the manifest names
BESIDE = ".writing"  # ending of a file that is not whole
NAMES = ("manifest.json", "parts.jsonl", "errors.jsonl", "parts")
Told = Callable[[Done], None]
State = Dict[str, Any]


class Job:
    """inputs: files, folders, globs, "-". output (Path): the folder to write to, None = a stream.
    format (str): of it. part_size (int): rows of a file, at most.

    RAISES ValueError [HS074]: no such input; [HS174]: this format is no stream; [HS179]: nor
    a table.
    """

    def __init__(
        self,
        annotator: Annotator,
        inputs: Sequence[str],
        output: Optional[Path],
        format: str,
        options: InputOptions,
        part_size: int,
    ) -> None:
        form = FORMATS[format]
        if output is None and not form.is_stream:
            raise ValueError(Errors.HS174.format(problem=f"--format {format}"))
        if annotator.flat and form.table is None:
            raise ValueError(Errors.HS179.format(format=format))
        self.annotator = annotator
        self.output = output
        self.format = format
        self.options = options
        self.part_size = part_size
        self.files = input_files(inputs, output)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.files if path != STANDARD)

    def to_stream(self, stream: IO[bytes], n_process: int, tell: Told) -> State:
        """RETURNS what there is to say in the end. RAISES ValueError [HS114, HS178]."""
        stamps = self._stamps()
        state = _counts([])
        digests: List[str] = []
        for done in in_processes(
            Work(self.annotator, self.format), self._parts(digests), n_process
        ):
            stream.write(done.data)
            stream.flush()
            state = {key: count + state[key] for key, count in _counts([_entry(done, "")]).items()}
            tell(done)
        if STANDARD not in self.files:
            self._vouch(digests, stamps)
        return state

    def to_folder(self, n_process: int, force: bool, tell: Told) -> State:
        """Do what is not yet done, and read again what was read: it must be what it was. RETURNS
        what the manifest says. force (bool): delete what an earlier run has written.

        RAISES ValueError [HS114]: a process has ended; [HS167]: another job, or other files, are
        there; [HS168]: another run writes there; [HS169]: it cannot be written; [HS178]: the input
        has changed.
        """
        with _Folder(self.output or Path(), self._header(), self.format).opened(force) as folder:
            stamps = self._stamps()
            digests = [entry["read"] for entry in folder.entries]
            if not folder.is_finished:
                parts = self._parts(digests)
                for done in in_processes(Work(self.annotator, self.format), parts, n_process):
                    folder.write(done)
                    tell(done)
            if folder.is_finished or STANDARD not in self.files:
                self._vouch(digests, stamps)
            return folder.finish()

    def _parts(self, digests: List[str]) -> Iterator[Part]:
        """The parts that are not yet done. digests: of those that are, which are compared with what
        is there now; of others they are appended. RAISES ValueError [HS178]."""
        n_done = len(digests)
        number = 0
        for part in parts_of(self.files, self.options, self.part_size):
            number = part.number + 1
            if number > n_done:
                digests.append(part.digest)
                yield part
            elif part.digest != digests[part.number]:
                raise self._has_changed(f"part {part.number} was read from another text")
        if number < n_done:
            raise self._has_changed("there was more of it")

    def _vouch(self, digests: List[str], stamps: object) -> None:
        """Read all again. RAISES ValueError [HS178]: it is not what it was, or was written to."""
        for _ in self._parts(list(digests)):
            raise self._has_changed("there is more of it now")
        if self._stamps() != stamps:
            raise self._has_changed("it was written to while it was read")

    def _stamps(self) -> object:
        """Size and time of all files."""
        stats = [path.stat() for path in self.files if path != STANDARD]
        return [(stat.st_size, stat.st_mtime_ns) for stat in stats]

    def _has_changed(self, problem: str) -> ValueError:
        return ValueError(Errors.HS178.format(path=self.output or STANDARD, problem=problem))

    def _header(self) -> State:
        """Of the manifest. job: a digest of all that decides what is written, but for the input."""
        names = list(map(shown, self.files))
        known = [
            VERSION,
            self.annotator.fingerprint,
            self.format,
            self.part_size,
            self.options,
            names,
        ]
        job = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
        return {"version": VERSION, "job": job, **self.annotator.about, "inputs": names[:LISTED]}


class _Folder:
    """Opened, it knows which parts are done. header: of the manifest. format (str): ending of
    parts."""

    def __init__(self, path: Path, header: State, format: str) -> None:
        self.path = path
        self.entries: List[State] = []  # lines of parts.jsonl
        self.is_finished = False
        self._header = header
        self._format = format
        self._manifest, self._log, self._errors, self._parts = (path / name for name in NAMES)

    @contextmanager
    def opened(self, force: bool) -> Iterator["_Folder"]:
        try:
            self._refuse(self.path, {*NAMES, f"{NAMES[0]}{BESIDE}"})
            self._parts.mkdir(parents=True, exist_ok=True)
            with self._log.open("a+b") as self._file:
                _lock(self._file, self.path)
                self._begin(force)
                yield self
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=self.path, problem=error)) from error

    def write(self, done: Done) -> None:
        """The next part."""
        path = self._parts / f"{done.number:06}.{self._format}"
        if path.exists():
            raise self._refused(f"has a file that no run has written (parts/{path.name})")
        entry = _entry(done, path.name)
        with _beside(path) as file:
            _append(file, done.data)
            _append(self._file, _line(entry))
        self.entries.append(entry)
        self._write_errors(entry["errors"])

    def finish(self) -> State:
        self.is_finished = True
        self._save()
        return self._state()

    def _state(self) -> State:
        """What the manifest says."""
        if self.is_finished:
            return {**self._header, "state": "finished", **_counts(self.entries)}
        return {**self._header, "state": "unfinished"}

    def _save(self) -> None:
        with _beside(self._manifest) as file:
            _append(file, json.dumps(self._state(), indent=2).encode())

    def _begin(self, force: bool) -> None:
        """Look at what is there, and begin anew or go on. RAISES ValueError [HS167]."""
        self._file.seek(0)
        log = self._file.read()
        self.entries = [self._read(i, line) for i, line in enumerate(log.split(b"\n")[:-1])]
        names = [entry["file"] for entry in self.entries]
        state = self._read_manifest()
        self.is_finished = state is not None and state["state"] == "finished"
        if names and not self.is_finished and not (self._parts / names[-1]).exists():
            self.entries.pop()  # the run ended before the part had its name
        halves = list(self._parts.glob(f"{len(self.entries):06}.*{BESIDE}"))
        self._refuse(self._parts, {*names, *(path.name for path in halves)})
        errors = [error for entry in self.entries for error in entry["errors"]]
        written = self._errors.read_bytes() if self._errors.exists() else b""
        if not b"".join(map(_line, errors)).startswith(written):
            raise self._refused(f"has another {self._errors.name} than a run has written")
        if force:
            self._delete()
        elif state is not None and self.entries:
            self._check(state)
            self._write_errors(errors, len(written))
        for path in halves:
            path.unlink()
        self._file.truncate(sum(len(_line(entry)) for entry in self.entries))
        self._save()

    def _read(self, number: int, line: bytes) -> State:
        """An entry of parts.jsonl."""
        model = _entry(Done(number, b"", 0, 0, [], 0, ""), "")
        try:
            entry = json.loads(line)
            kinds = [(name, type(value)) for name, value in entry.items()]
        except (AttributeError, ValueError):
            kinds = []
        is_known = kinds == [(name, type(value)) for name, value in model.items()]
        if not is_known or _line(entry) != line + b"\n":
            raise self._refused(
                f"has another line {number + 1} in {self._log.name} than a run writes"
            )
        return entry

    def _read_manifest(self) -> Optional[State]:
        """None if there is none. RAISES ValueError [HS167]: there is none, but files that a run
        would write over; it is not that of a run."""
        if not self._manifest.exists():
            if self.entries or self._errors.exists():
                raise self._refused(
                    "has files that no run has written, for there is no manifest.json"
                )
            return None
        try:
            state = dict(json.loads(self._manifest.read_bytes()))
        except (TypeError, ValueError):
            state = {}
        if not {"job", "state", "version"} <= set(state):
            raise self._refused("has a manifest.json that no run has written")
        return state

    def _check(self, state: State) -> None:
        """RAISES ValueError [HS167]: another job is there; files of the job are lost or were
        changed."""
        if state["job"] != self._header["job"]:
            raise self._refused("holds another job: other input or settings")
        if state != self._state():
            raise self._refused("has another manifest.json than the job has written")
        for entry in self.entries:
            path = self._parts / entry["file"]
            if not path.exists():
                raise self._refused(f"has lost {path.name}")
            if _sha256(path.read_bytes()) != entry["sha256"]:
                raise self._refused(f"has another {path.name} than the job has written")

    def _delete(self) -> None:
        """All that an earlier run has written, its list of it in the end."""
        for entry in self.entries:
            (self._parts / entry["file"]).unlink(missing_ok=True)
        self._errors.unlink(missing_ok=True)
        self.entries = []
        self.is_finished = False

    def _write_errors(self, errors: Iterable[State], n_written: int = 0) -> None:
        """Append. n_written: bytes that are there already."""
        data = b"".join(map(_line, errors))[n_written:]
        if data:
            with self._errors.open("ab") as file:
                _append(file, data)

    def _refuse(self, folder: Path, known: Iterable[str]) -> None:
        """RAISES ValueError [HS167]: files that no run has written."""
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        others = sorted(map(repr, names.difference(known)))
        if others:
            raise self._refused(f"has files that no run has written ({', '.join(others[:3])})")

    def _refused(self, problem: str) -> ValueError:
        return ValueError(Errors.HS167.format(path=self.path, problem=problem))


def _entry(done: Done, name: str) -> State:
    """A line of parts.jsonl."""
    digests = {"sha256": _sha256(done.data), "read": done.read}
    counts = {"rows": done.rows, "tokens": done.tokens, "errors": done.errors}
    return {"file": name, **digests, **counts}


def _counts(entries: Sequence[State]) -> State:
    errors = sum(len(entry["errors"]) for entry in entries)
    sums = {name: sum(entry[name] for entry in entries) for name in ("rows", "tokens")}
    return {"parts": len(entries), **sums, "errors": errors}


def _lock(file: IO[bytes], path: Path) -> None:
    """Until it is closed. RAISES ValueError [HS168]: another run holds it."""
    try:
        import fcntl
    except ImportError:  # on Windows nobody is told
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(Errors.HS168.format(path=path)) from error


@contextmanager
def _beside(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name in the end: under this name there is always a whole file."""
    temporary = path.with_name(f"{path.name}{BESIDE}")
    with temporary.open("wb") as file:
        yield file
    temporary.replace(path)


def _append(file: IO[bytes], data: bytes) -> None:
    """To the disk, not only to the system."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _line(entry: State) -> bytes:
    text = f"{json.dumps(entry, ensure_ascii=False)}\n"
    return text.encode("utf8", "backslashreplace")  # half of a pair of surrogates, as JSON has it


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
