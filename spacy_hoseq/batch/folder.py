"""The folder of a job: parts that are done, what failed, how far it is. It may be interrupted at
any moment.

    parts/000000.parquet ...   one file for each part, under its name only when it is whole
    parts.jsonl                which of these files belong to the job: name, size, digest, digest of what was read
    errors.jsonl               what could not be read or annotated
    manifest.json              which job, how many parts are done, whether that is all
    .lock ...                  held by the runs that write (locks.py)

A part's line is appended to parts.jsonl; the part is written beside, then renamed; its errors are
appended; then the manifest is replaced. It says how long parts.jsonl and errors.jsonl are: what an
interrupted run appended behind is cut off, and tells whether a file that the manifest does not know
is that of the run. No other file is overwritten.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional

from ..errors import Errors
from .locks import Locks
from .log import BESIDE, Log, replace
from .parts import InputPart
from .work import Done
from .writing import output_formats

FORMAT = 2  # of the manifest
FINISHED = "finished"
UNFINISHED = "unfinished"
OURS = re.compile(r"(manifest|errors|parts)(-\d+-of-\d+)?\.jsonl?|\.lock(-gate|-\d+-of-\d+)?|parts")
A_PART = re.compile(rf"(\d{{6,}})\.({'|'.join(output_formats())})")


class Shard:
    """Every nth part, beginning with the ith: "2/4" is the second of four. RAISES ValueError
    [HS171]."""

    def __init__(self, text: str = "1/1") -> None:
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        self.i = int(match[1]) if match else 0
        self.n = int(match[2]) if match else 0
        if not 1 <= self.i <= self.n:
            raise ValueError(Errors.HS171.format(shard=text))

    def has(self, part: int) -> bool:
        return part % self.n == self.i - 1

    def part(self, k: int) -> int:
        """The number of the shard's kth part."""
        return k * self.n + self.i - 1

    @property
    def ending(self) -> str:
        """Of names of files that each shard has for itself."""
        return "" if self.n == 1 else f"-{self.i}-of-{self.n}"


class Folder:
    """Entered, it is locked, and knows which parts are done.

    job (str): fingerprint; a folder holds one job. about: what else the manifest says. format
        (str): ending of parts.
    restart (bool): delete what an earlier run has written.
    RAISES ValueError [HS167]: another job, or other files, are there; [HS168]: another run writes
    there; [HS169]: it cannot be written; [HS177]: an earlier version has written there.
    """

    def __init__(
        self, path: Path, job: str, about: Dict[str, Any], format: str, shard: Shard, restart: bool
    ) -> None:
        self.path = path
        self.format = format
        self.shard = shard
        self.errors = path / f"errors{shard.ending}.jsonl"
        self._restart = restart
        self._locks = Locks(path, shard.ending, shard.i, restart)
        self._manifest = path / f"manifest{shard.ending}.json"
        self._parts_log = Log(path / f"parts{shard.ending}.jsonl")
        self._errors_log = Log(self.errors)
        self._written: List[Dict[str, Any]] = []  # lines of parts.jsonl
        self.state: Dict[str, Any] = {
            "format": FORMAT, "job": job, "state": UNFINISHED, "shard": f"{shard.i}/{shard.n}", "parts": 0, "rows": 0,
            "tokens": 0, "errors": 0, "position": 0, **self._log_states(), **about,
        }  # fmt: skip

    def __enter__(self) -> "Folder":
        try:
            (self.path / "parts").mkdir(parents=True, exist_ok=True)
            self._locks.take()
            self._enter()
            self._locks.begin()
        except OSError as error:
            self._locks.close()
            raise ValueError(Errors.HS169.format(path=self.path, problem=error)) from error
        except BaseException:
            self._locks.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    @property
    def is_finished(self) -> bool:
        return bool(self.state["state"] == FINISHED)

    def missing(self, parts: Iterable[InputPart]) -> Iterator[InputPart]:
        """The parts of this shard that are not yet done. Those that are done are compared with what
        was read then.

        RAISES ValueError [HS178]: the input has changed since.
        """
        n_done = self.state["parts"]
        n_seen = 0
        for part in parts:
            if not self.shard.has(part.number):
                continue
            if n_seen < n_done and part.digest != self._written[n_seen]["read"]:
                raise self._has_changed(f"part {part.number} was read from another text")
            if n_seen >= n_done and self.is_finished:
                raise self._has_changed("there is more of it now")
            n_seen += 1
            if n_seen > n_done:
                yield part
        if n_seen < n_done:
            raise self._has_changed("there was more of it")

    def write(self, done: Done) -> None:
        """The next part. RAISES ValueError [HS169]: the disk is full, or gone; the part is as if it
        had not been;
        [HS167]: there is a file of this name that the job has not written."""
        path = self._part(done.number)
        if path.exists():
            raise self._refused(f"has a file that the job did not write (parts/{path.name})")
        state = dict(self.state)
        counts = {"parts": 1, "rows": done.rows, "tokens": done.tokens, "errors": len(done.errors)}
        for name, count in counts.items():
            state[name] += count
        state["position"] = done.position
        try:
            entry = {
                "part": done.number,
                "file": f"parts/{path.name}",
                "bytes": len(done.data),
                "sha256": _sha256(done.data),
                "read": done.read,
                "rows": done.rows,
            }
            self._parts_log.append(_line(entry))
            replace(path, done.data)
            self._errors_log.append(b"".join(map(_line, done.errors)))
            self._save({**state, **self._log_states()})
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=path, problem=error)) from error

    def finish(self) -> None:
        """All parts are done."""
        try:
            self._save({**self.state, "state": FINISHED})
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=self._manifest, problem=error)) from error

    def _log_states(self) -> Dict[str, object]:
        return {"errors_log": self._errors_log.state, "parts_log": self._parts_log.state}

    def _part(self, number: int) -> Path:
        return self.path / "parts" / f"{number:06}.{self.format}"

    def _save(self, state: Dict[str, object]) -> None:
        replace(
            self._manifest, (json.dumps(state, indent=2, ensure_ascii=False) + "\n").encode("utf8")
        )
        self.state = state

    def _refused(self, problem: str) -> ValueError:
        return ValueError(Errors.HS167.format(path=self.path, problem=problem))

    def _has_changed(self, problem: str) -> ValueError:
        return ValueError(Errors.HS178.format(path=self.path, problem=problem))

    def _enter(self) -> None:
        """Look at what is there, and begin anew or go on."""
        self._refuse_strangers()
        if self._restart:
            self._check_other_shards()
            self._delete()
            self._save(self.state)
            return
        state = self._check_manifests()
        if state is None:
            self._refuse_files_without_manifest()
            self._save(self.state)
        else:
            self.state = state
            self._resume()

    def _refuse_strangers(self) -> None:
        """RAISES ValueError [HS167]: files that no job has written."""
        strangers = [path.name for path in self.path.iterdir() if not OURS.fullmatch(_name(path))]
        inside = (path for path in (self.path / "parts").iterdir())
        strangers += [f"parts/{path.name}" for path in inside if not A_PART.fullmatch(_name(path))]
        if strangers:
            raise self._refused(f"has other files ({', '.join(sorted(strangers)[:3])})")

    def _check_manifests(self) -> Optional[Dict[str, object]]:
        """What the manifest of this shard says; None if there is none, or that of a run that came
        to nothing.

        RAISES ValueError [HS167]: another job is there; [HS177]: an earlier version has written
        there.
        """
        self._check_other_shards()
        if not self._manifest.exists():
            return None
        state = _read(self._manifest)
        if state.get("job") == self.state["job"]:
            return state
        came_to_nothing = (state.get("state"), state.get("parts")) == (UNFINISHED, 0)
        if came_to_nothing and not self._files():
            return None  # for want of a --code perhaps, and nobody else has it: we hold its lock
        raise self._another_job(self._manifest, state)

    def _check_other_shards(self) -> None:
        """RAISES ValueError [HS167]: a shard of another job, or of another number of shards;
        [HS177]."""
        for path in sorted(self.path.glob("manifest*.json")):
            state = _read(path)
            if self._restart and (path == self._manifest or self.shard.n == 1):
                continue
            if state.get("format", FORMAT) != FORMAT:
                raise ValueError(
                    Errors.HS177.format(path=self.path, format=state["format"], known=FORMAT)
                )
            is_other = path != self._manifest
            is_of_job = state.get("job") == self.state["job"]
            if is_other and not (
                is_of_job and str(state.get("shard")).endswith(f"/{self.shard.n}")
            ):
                raise self._another_job(path, state)

    def _another_job(self, path: Path, state: Dict[str, object]) -> ValueError:
        progress = state.get("state", "damaged")
        return self._refused(
            f"holds another job, {progress} ({path.name}): other input or settings"
        )

    def _files(self) -> List[Path]:
        """All that a run of this shard would write over, but for files that are not whole."""
        logs = [log.path for log in (self._parts_log, self._errors_log) if log.path.exists()]
        return [*logs, *(path for path in self._own_parts() if not path.name.endswith(BESIDE))]

    def _own_parts(self) -> Iterator[Path]:
        """Files with names of parts of this shard, or of a shard that has no manifest."""
        numbers = range(1, self.shard.n + 1)
        begun = {
            i for i in numbers if (self.path / f"manifest-{i}-of-{self.shard.n}.json").exists()
        }
        for path in sorted((self.path / "parts").iterdir()):
            number = int(path.name.partition(".")[0])
            is_of_other = not self.shard.has(number) and number % self.shard.n + 1 in begun
            if not is_of_other or _name(path).rpartition(".")[2] != self.format:
                yield path

    def _refuse_files_without_manifest(self) -> None:
        """RAISES ValueError [HS167]: a run of this shard would write over files that no run has
        written."""
        names = [path.relative_to(self.path).as_posix() for path in self._files()]
        if names:
            raise self._refused(f"has files that the job did not write ({', '.join(names[:3])})")

    def _resume(self) -> None:
        """RAISES ValueError [HS167]: files of the job are lost or were changed, or others lie where
        it writes."""
        interrupted = self._parts_log.open(self.state["parts_log"])
        errors = self._errors_log.open(self.state["errors_log"])
        number = self.shard.part(self.state["parts"])
        for log, tail in ((self._parts_log, interrupted), (self._errors_log, errors)):
            if not _is_of_part(tail, number):
                raise self._refused(f"has lines in {log.path.name} that the job did not write")
        lines = (
            self._parts_log.path.read_bytes().splitlines(keepends=True)
            if self.state["parts"]
            else []
        )
        self._written = [json.loads(line) for line in lines[: self.state["parts"]]]
        last = json.loads(interrupted) if interrupted.endswith(b"\n") else {}
        self._check_parts(last)
        self._parts_log.cut()
        self._errors_log.cut()

    def _check_parts(self, last: Dict[str, object]) -> None:
        """Remove the part that was being written when the last run ended; last: its line in
        parts.jsonl, if any.

        RAISES ValueError [HS167]: a part is lost or has another size; a file is none of the job's.
        """
        known = set()
        for entry in self._written:
            path = self.path / entry["file"]
            known.add(path)
            if not path.exists():
                raise self._refused(f"has lost {path.name}")
            size = path.stat().st_size
            if size != entry["bytes"]:
                raise self._refused(
                    f"has a damaged {path.name}: {size:,} bytes, {entry['bytes']:,} were written"
                )
        for path in self._own_parts():
            if path in known or path.name.endswith(BESIDE):
                continue
            if (
                f"parts/{path.name}" == last.get("file")
                and _sha256(path.read_bytes()) == last["sha256"]
            ):
                path.unlink()
            else:
                raise self._refused(f"has a file that the job did not write (parts/{path.name})")

    def _delete(self) -> None:
        """All that earlier runs have written, or earlier runs of this shard."""
        for path in (self.path / "parts").iterdir():
            if self.shard.has(int(path.name.partition(".")[0])):
                path.unlink()
        ending = self.shard.ending or "*"
        for name in ("manifest", "errors", "parts"):
            for path in self.path.glob(f"{name}{ending}.json*"):
                path.unlink()


def _name(path: Path) -> str:
    """The name of a file, also while it is being written."""
    return path.name.removesuffix(BESIDE)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _line(entry: Dict[str, object]) -> bytes:
    return f"{json.dumps(entry, ensure_ascii=False)}\n".encode()


def _is_of_part(tail: bytes, number: int) -> bool:
    """Whether all lines of a log's end are of this part; the last one may be torn."""
    beginning = f'{{"part": {number}, '.encode()
    return all(line[: len(beginning)] == beginning[: len(line)] for line in tail.split(b"\n"))


def _read(path: Path) -> Dict[str, object]:
    try:
        return dict(json.loads(path.read_bytes()))
    except ValueError:
        return {}
