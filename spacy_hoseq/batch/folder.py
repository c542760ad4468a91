"""The folder of a job: parts that are done, what failed, how far it is. It may be interrupted at any moment.

    parts/000000.parquet ...   one file for each part, under its name only when it is whole
    errors.jsonl               what could not be read or annotated
    manifest.json              which job, how many parts are done, whether that is all
    .lock                      held by the run that writes

A part is written beside, then renamed; then its errors are appended; then the manifest is replaced. It says how long
errors.jsonl is, so that what an interrupted run appended beyond is cut off.
"""

import json
import os
import re
import shutil
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Dict

from ..errors import Errors
from .work import Done

FORMAT = 1  # of the manifest
FINISHED, UNFINISHED = "finished", "unfinished"
BESIDE = ".writing"  # ending of a file that is not whole
OURS = re.compile(r"(manifest|errors)(-\d+-of-\d+)?\.jsonl?(\.writing)?|\.lock(-\d+-of-\d+)?|parts")
A_PART = re.compile(r"(\d{6,})\.(parquet|jsonl|spacy|conll|conllu)(\.writing)?")


class Shard:
    """Every nth part, beginning with the ith: "2/4" is the second of four. RAISES ValueError [HS171]."""

    def __init__(self, text: str = "1/1") -> None:
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        self.i, self.n = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= self.i <= self.n:
            raise ValueError(Errors.HS171.format(shard=text))

    def has(self, part: int) -> bool:
        return part % self.n == self.i - 1

    @property
    def ending(self) -> str:
        """Of names of files that each shard has for itself."""
        return "" if self.n == 1 else f"-{self.i}-of-{self.n}"


class Folder:
    """Entered, it is locked, and knows which parts are done.

    job (str): fingerprint; a folder holds one job. about: what else the manifest says. format (str): ending of parts.
    restart (bool): delete what an earlier run has written.
    RAISES ValueError [HS167]: another job, or other files, are there; [HS168]: another run writes there; [HS169]: it
    cannot be written.
    """

    def __init__(self, path: Path, job: str, about: Dict[str, Any], format: str, shard: Shard, restart: bool) -> None:
        self.path, self.format, self.shard = path, format, shard
        self._restart, self._files = restart, ExitStack()
        self.errors = path / f"errors{shard.ending}.jsonl"
        self._manifest = path / f"manifest{shard.ending}.json"
        self.state: Dict[str, Any] = {
            "format": FORMAT, "job": job, "state": UNFINISHED, "shard": f"{shard.i}/{shard.n}", "parts": 0, "rows": 0,
            "tokens": 0, "errors": 0, "errors_bytes": 0, "position": 0, **about,
        }  # fmt: skip

    def __enter__(self) -> "Folder":
        try:
            (self.path / "parts").mkdir(parents=True, exist_ok=True)
            self._lock()
            self._check()
            self._resume()
        except OSError as error:
            self._files.close()
            raise ValueError(Errors.HS169.format(path=self.path, problem=error)) from error
        except ValueError:
            self._files.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self._files.close()

    @property
    def is_finished(self) -> bool:
        return bool(self.state["state"] == FINISHED)

    def wants(self, part: int) -> bool:
        """Whether the part is of this shard, and not yet done."""
        return self.shard.has(part) and part // self.shard.n >= self.state["parts"]

    def write(self, done: Done) -> None:
        """The next part. RAISES ValueError [HS169]: the disk is full, or gone; the part is as if it had not been."""
        path = self._part(done.number)
        state = dict(self.state)
        lines = "".join(f"{json.dumps(error, ensure_ascii=False)}\n" for error in done.errors).encode("utf8")
        for name, value in (("parts", 1), ("rows", done.rows), ("tokens", done.tokens), ("errors", len(done.errors))):
            state[name] += value
        state["errors_bytes"] += len(lines)
        state["position"] = done.position
        try:
            _replace(path, done.data)
            if lines:
                with self.errors.open("ab") as file:
                    file.write(lines)
                    _to_disk(file)
            self._save(state)
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=path, problem=error)) from error

    def finish(self) -> None:
        """All parts are done."""
        try:
            self._save({**self.state, "state": FINISHED})
        except OSError as error:
            raise ValueError(Errors.HS169.format(path=self._manifest, problem=error)) from error

    def _part(self, number: int) -> Path:
        return self.path / "parts" / f"{number:06}.{self.format}"

    def _save(self, state: Dict[str, Any]) -> None:
        _replace(self._manifest, (json.dumps(state, indent=2, ensure_ascii=False) + "\n").encode("utf8"))
        self.state = state

    def _lock(self) -> None:
        """Held until the process ends, in whatever way."""
        path = self.path / f".lock{self.shard.ending}"
        file = self._files.enter_context(path.open("a+b"))
        if not _locked(file):
            file.seek(0)
            owner = file.read().decode("utf8", "replace").strip() or "unknown"
            raise ValueError(Errors.HS168.format(path=self.path, owner=owner))
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()

    def _check(self) -> None:
        """RAISES ValueError [HS167]: what is there is not of this job."""
        others = [p.name for p in self.path.iterdir() if not OURS.fullmatch(p.name)]
        others += [f"parts/{p.name}" for p in (self.path / "parts").iterdir() if not A_PART.fullmatch(p.name)]
        if others:
            raise ValueError(Errors.HS167.format(path=self.path, problem=f"has other files ({', '.join(others[:3])})"))
        if self._restart:
            return
        for path in sorted(self.path.glob("manifest*.json")):
            state = _read(path)
            if path == self._manifest and (state.get("state"), state.get("parts")) == (UNFINISHED, 0):
                continue  # it came to nothing, for want of a --code perhaps, and nobody else has it: we hold its lock
            if state.get("job") != self.state["job"] or not str(state.get("shard")).endswith(f"/{self.shard.n}"):
                problem = f"holds another job, {state.get('state', 'damaged')} ({path.name}): other input or settings"
                raise ValueError(Errors.HS167.format(path=self.path, problem=problem))

    def _resume(self) -> None:
        if self._restart:
            shutil.rmtree(self.path / "parts") if self.shard.n == 1 else self._delete_shard()
            (self.path / "parts").mkdir(exist_ok=True)
            names = ["manifest*", "errors*"] if self.shard.n == 1 else [self._manifest.name, self.errors.name]
            for path in (path for name in names for path in self.path.glob(name)):
                path.unlink()
        state = _read(self._manifest) if self._manifest.exists() else {}
        if state.get("job") == self.state["job"]:
            self.state = state
            for k in range(self.state["parts"]):
                path = self._part(k * self.shard.n + self.shard.i - 1)
                if not path.exists():
                    raise ValueError(Errors.HS167.format(path=self.path, problem=f"has lost {path.name}"))
            if self.errors.exists():
                os.truncate(self.errors, self.state["errors_bytes"])
        else:
            self.errors.unlink(missing_ok=True)
            self._save(self.state)

    def _delete_shard(self) -> None:
        for path in (self.path / "parts").iterdir():
            match = A_PART.fullmatch(path.name)
            if match and self.shard.has(int(match[1])):
                path.unlink()


def _read(path: Path) -> Dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except ValueError:
        return {}


def _replace(path: Path, data: bytes) -> None:
    """Write beside, then rename: under this name there is always a whole file."""
    beside = path.with_name(f"{path.name}{BESIDE}")
    try:
        with beside.open("wb") as file:
            file.write(data)
            _to_disk(file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _locked(file: IO[bytes]) -> bool:
    """Whether this process holds the lock now."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(1 << 20)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
