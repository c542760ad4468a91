"""A job of `apply` and its output folder, which is valid at any moment, so that a run may be
interrupted.

    parts/000000.parquet ...   one file for each part, renamed once it is complete
    parts.jsonl                the job, a line for each part, and a last line when all is done
    errors.jsonl               at the end: what could not be read or annotated

A part is written under a temporary name; then its line is appended to parts.jsonl; then it gets its
name. The next run drops a last line whose part has no name, and goes on from there. No run
overwrites or deletes a file that no run has written.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from ..errors import Errors
from ..readers.account import Account
from .annotator import Annotator
from .formats import TABLES, Done, Work
from .inputs import STANDARD, InputOptions, Part, input_files, is_stream, parts_of
from .processes import in_processes

INCOMPLETE = ".writing"  # ending of a part that is not complete
Report = Callable[[Done], None]
Entry = dict[str, Any]  # of parts.jsonl


class Job:
    """A job: pipeline, input and output. inputs: files, folders, globs, "-". output (Path): the
    folder to write to, None = a stream. format (str): of the output.

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
        # a stream is a format whose parts can stand one behind the other
        if output is None and format not in ("jsonl", "conllu", "conll"):
            raise ValueError(Errors.HS174.format(problem=f"--format {format}"))
        if annotator.flat and format not in TABLES:
            raise ValueError(Errors.HS179.format(format=format))
        self.annotator = annotator
        self.output = output
        self.format = format
        self.options = options
        self.account = Account()
        self.files = input_files(inputs, output, self.account)
        self._has_streams = any(map(is_stream, self.files.values()))

    @property
    def size(self) -> int:
        """Bytes of all files; those of standard input are not known."""
        return sum(path.stat().st_size for path in self.files.values() if path.is_file())

    def to_stream(self, stream: IO[bytes], n_process: int, report: Report) -> Entry:
        """Write all parts. RETURNS counts of parts, rows, tokens and errors. RAISES ValueError
        [HS114, HS115, HS178]."""
        entries: list[Entry] = []
        for done in self._done(entries, False, n_process):
            stream.write(done.data)
            stream.flush()
            entries.append(done.entry)
            report(done)
        counts = _counts(entries)
        self.account.check(counts["rows"])
        return counts

    def to_folder(self, n_process: int, force: bool, report: Report) -> Entry:
        """Write the parts that are missing, and check that the input of the others is unchanged.
        RETURNS counts as `to_stream`. force (bool): delete what an earlier run has written.

        RAISES ValueError [HS114]: a process has ended; [HS115]: parts are gone when all is done;
        [HS167]: another job, or other files, are there; [HS168]: another run writes there; [HS169]: it
        cannot be written; [HS178]: the input has changed.
        """
        folder = _Folder(self.output or Path(), self._header(), self.account)
        with folder.opened(force):
            for done in self._done(folder.entries, folder.is_finished, n_process):
                folder.write(done)
                report(done)
            folder.finish()
            return _counts(folder.entries)

    def _done(self, entries: list[Entry], is_finished: bool, n_process: int) -> Iterator[Done]:
        """Parts that are not among the entries; the caller appends theirs. RAISES ValueError
        [HS178]: the input has changed."""
        before = self._stamps()
        if not is_finished:
            parts = self._remaining([entry["read"] for entry in entries])
            yield from in_processes(Work(self.annotator, self.format), parts, n_process)
        if is_finished or not self._has_streams:
            parts = parts_of(self.files, self.options, self.account)
            digests = [part.digest for part in parts]
            if digests != [entry["read"] for entry in entries] or self._stamps() != before:
                raise self._input_changed()

    def _remaining(self, digests: Sequence[str]) -> Iterator[Part]:
        """Parts after the first ones, which have these digests. RAISES ValueError [HS178]."""
        for part in parts_of(self.files, self.options, self.account):
            if part.number >= len(digests):
                yield part
            elif part.digest != digests[part.number]:
                raise self._input_changed()
        if part.number + 1 < len(digests):
            raise self._input_changed()

    def _stamps(self) -> list[tuple[int, int]]:
        """Size and time of each file that is there."""
        stamps = []
        for path in self.files.values():
            stamp = (-1, -1)
            if path.is_file():
                stat = path.stat()
                stamp = (stat.st_size, stat.st_mtime_ns)
            stamps.append(stamp)
        return stamps

    def _input_changed(self) -> ValueError:
        return ValueError(Errors.HS178.format(path=self.output or STANDARD))

    def _header(self) -> Entry:
        """The first line of parts.jsonl. job: a digest of all that decides what is written, except
        for the texts."""
        version = 1  # of the folder's format
        settings = [version, self.format, self.options, list(self.files)]
        job = _sha256(json.dumps([self.annotator.fingerprint, *settings]).encode())
        return {"job": job, **self.annotator.about, "inputs": list(self.files)[:100]}


class _Folder:
    """The output folder. header: the first line of parts.jsonl. Once it is opened, `entries` are the
    lines of the parts that are done. account: of what is read and written."""

    def __init__(self, path: Path, header: Entry, account: Account) -> None:
        self.path = path
        self.header = header
        self.account = account
        self.entries: list[Entry] = []
        self.is_finished = False
        self._errors = path / "errors.jsonl"
        self._parts = path / "parts"

    @contextmanager
    def opened(self, force: bool) -> Iterator[None]:
        """Start or go on, as the only run that writes here. RAISES ValueError [HS167, HS168,
        HS169]."""
        try:
            self._refuse_others(self.path, ["errors.jsonl", "parts", "parts.jsonl"])
            self._parts.mkdir(parents=True, exist_ok=True)
            with (self.path / "parts.jsonl").open("a+b") as self._log:
                _lock(self._log, self.path)
                header = self._read_log()
                self._clear(header, force)
                self._cut_log()
                yield
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=self.path, problem=error)) from error

    def write(self, done: Done) -> None:
        """Write the next part."""
        path = self._parts / done.entry["file"]
        incomplete = path.with_name(f"{path.name}{INCOMPLETE}")
        with incomplete.open("wb") as file:
            _append(file, done.data)
        # in this order: a part that has its name is in the list
        _append(self._log, _line(done.entry))
        incomplete.replace(path)
        self.account.wrote(path, len(done.data))
        self.entries.append(done.entry)

    def finish(self) -> None:
        """Write the errors, and that all is done. RAISES ValueError [HS115]: it is not there."""
        size = os.fstat(self._log.fileno()).st_size
        self.account.wrote(self.path / "parts.jsonl", size)
        self.account.check(_counts(self.entries)["rows"])
        if self.is_finished:
            return
        errors = self._error_lines()
        if errors:
            with self._errors.open("wb") as file:
                _append(file, errors)
        _append(self._log, _line({"state": "finished", **_counts(self.entries)}))

    def _error_lines(self) -> bytes:
        lines = []
        for entry in self.entries:
            for error in entry["errors"]:
                lines.append(f"{json.dumps(error, ensure_ascii=False)}\n")
        # a lone surrogate is written as JSON escapes it
        return "".join(lines).encode("utf8", "backslashreplace")

    def _read_log(self) -> Entry:
        """Read parts.jsonl, up to the last part that has its name. RETURNS its header."""
        self._log.seek(0)
        lines = self._log.read().split(b"\n")
        lines.pop()  # after the last line end: nothing, or a line that was cut short
        header, *self.entries = list(map(self._entry, lines)) or [self.header]
        if not self.entries:
            return header
        self.is_finished = "state" in self.entries[-1]
        if self.is_finished or not self._path_of(self.entries[-1]).exists():
            self.entries.pop()
        return header

    def _clear(self, header: Entry, force: bool) -> None:
        """Delete the part that is not complete; with `force`, all that a run has written. RAISES
        ValueError [HS167]: other files are there, or those of another job."""
        parts = list(map(self._path_of, self.entries))
        incomplete = list(self._parts.glob(f"{len(parts):06}.*{INCOMPLETE}"))
        self._refuse_others(self._parts, [path.name for path in (*parts, *incomplete)])
        # the errors may have been cut short, too
        if self._errors.exists() and not self._error_lines().startswith(self._errors.read_bytes()):
            raise self._refused(f"has another {self._errors.name} than a run has written")
        if force:
            incomplete += [*parts, self._errors]
            self.entries = []
            self.is_finished = False
        elif self.entries:
            self._check(header)
        for path in incomplete:
            path.unlink(missing_ok=True)

    def _cut_log(self) -> None:
        """Leave in parts.jsonl the lines of the header and of the parts that are done."""
        if not self.entries:
            self._log.truncate(0)
            _append(self._log, _line(self.header))
        elif not self.is_finished:
            self._log.truncate(sum(len(_line(entry)) for entry in (self.header, *self.entries)))

    def _entry(self, line: bytes) -> Entry:
        """What a line of parts.jsonl says. RAISES ValueError [HS167]: no run has written it."""
        with suppress(AttributeError, KeyError, RecursionError, TypeError, ValueError):
            entry: Entry = json.loads(line)
            del entry["line"]
            if line + b"\n" == _line(entry):
                return entry
        raise self._refused("has a line in parts.jsonl that no run has written")

    def _check(self, header: Entry) -> None:
        """RAISES ValueError [HS167]: this is another job, or parts were lost or changed."""
        if header != self.header:
            raise self._refused("holds another job: other files or settings")
        for entry in self.entries:
            path = self._path_of(entry)
            if not path.exists() or _sha256(path.read_bytes()) != entry["sha256"]:
                raise self._refused(f"has lost {path.name}, or it was changed since")
            self.account.wrote(path)

    def _path_of(self, entry: Entry) -> Path:
        return self._parts / str(entry.get("file"))

    def _refuse_others(self, folder: Path, known: Sequence[str]) -> None:
        """RAISES ValueError [HS167]: there are files that no run has written."""
        if folder.exists():
            others = sorted(map(repr, set(os.listdir(folder)).difference(known)))
            if others:
                raise self._refused(f"has files that no run has written ({', '.join(others[:3])})")

    def _refused(self, problem: str) -> ValueError:
        return ValueError(Errors.HS167.format(path=self.path, problem=problem))


def _counts(entries: Sequence[Entry]) -> Entry:
    counts = {"parts": len(entries), "rows": 0, "tokens": 0, "errors": 0}
    for entry in entries:
        counts["rows"] += entry["rows"]
        counts["tokens"] += entry["tokens"]
        counts["errors"] += len(entry["errors"])
    return counts


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock a file until it is closed. RAISES ValueError [HS168]: another run holds it."""
    with suppress(ImportError):  # Windows has no such lock
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(Errors.HS168.format(path=path)) from error


def _append(file: IO[bytes], data: bytes) -> None:
    """Write to the disk, not only to the system's memory."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _line(entry: Entry) -> bytes:
    """A line of parts.jsonl. It ends with a digest of itself, so that a later change is noticed."""
    digest = _sha256(json.dumps(entry)[:-1].encode())
    return f"{json.dumps({**entry, 'line': digest})}\n".encode()


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()
