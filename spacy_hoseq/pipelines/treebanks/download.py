"""A treebank of Universal Dependencies by its name: the archive of a release, from its public
repository.

https://github.com/UniversalDependencies/UD_Irish-IDT/archive/refs/tags/r2.16.tar.gz

What is kept is the files of the treebank, its README and its licence; no name in the archive leads
out of the folder. Address, release and SHA-256 of the archive stand beside them in source.json.
"""

import re
import shutil
import tarfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import srsly

from ...errors import Errors

NAME = re.compile(r"UD_[A-Za-z_]+-[A-Za-z0-9]+")
KEPT = re.compile(r"[\w.-]+\.conllu|README(\.(md|txt))?|LICENSE(\.txt)?")
REPOSITORIES = "https://github.com/UniversalDependencies"
MAX_BYTES = 2**30  # of an archive, and of a file in it: the largest treebank has a third
SOURCE_FILE = "source.json"  # beside the files of a treebank

Progress = Callable[[Iterable[bytes]], Iterable[bytes]]


def downloaded(name: str, folder: Path, release: str, progress: Progress = iter) -> Path:
    """The folder of a treebank below `folder`, which is fetched if it is not there.

    name: such as "UD_Irish-IDT". release: such as "2.16". progress: of the parts of the archive.
    RAISES ValueError [HS192]: it cannot be fetched, is too large, or is no treebank.
    """
    target = folder / name
    if source_of_files(target).get("release") == release:
        return target
    repository = f"{REPOSITORIES}/{name}"
    url = f"{repository}/archive/refs/tags/r{release}.tar.gz"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # beside the target, so that it can take its place in one step
        with TemporaryDirectory(dir=folder) as temporary:
            archive = Path(temporary) / "archive.tar.gz"
            digest = _fetch(url, archive, progress)
            new = Path(temporary) / name
            new.mkdir()
            _unpack(archive, new)
            srsly.write_json(new / SOURCE_FILE, {"url": url, "release": release, "sha256": digest})
            shutil.rmtree(target, ignore_errors=True)
            new.rename(target)
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is the answer, too
        problem = str(getattr(error, "reason", error))
        message = Errors.HS192.format(name=name, url=url, problem=problem, repository=repository)
        raise ValueError(message) from error
    return target


def source_of_files(folder: Path) -> dict[str, Any]:
    """Where the files of a treebank were fetched: "url", "release", "sha256"; nothing if a user has
    put them there."""
    with suppress(OSError, ValueError):
        return dict(srsly.read_json(folder / SOURCE_FILE))
    return {}


def _fetch(url: str, path: Path, progress: Progress) -> str:
    """Write what is at an address to a file. RETURNS its SHA-256. RAISES OSError: also if it is
    too large, or comes from an address of another kind."""
    digest = sha256()
    size = 0
    with urlopen(url, timeout=60) as response, path.open("wb") as file:
        if response.url.partition(":")[0] != url.partition(":")[0]:
            raise OSError(f"it was sent on to {response.url}")
        for data in progress(iter(lambda: response.read(1 << 16), b"")):
            size += len(data)
            if size > MAX_BYTES:
                raise OSError(f"it is larger than {MAX_BYTES:,} bytes")
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


def _unpack(archive: Path, folder: Path) -> None:
    """Write the files of a treebank. RAISES OSError: there are none, or one is too large."""
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            path = PurePosixPath(member.name)
            # those in folders below are sources, or other versions of the same text
            is_kept = len(path.parts) == 2 and KEPT.fullmatch(path.name)
            if not (is_kept and member.isfile()):
                continue
            if member.size > MAX_BYTES:
                raise OSError(f"{path.name} is larger than {MAX_BYTES:,} bytes")
            source = members.extractfile(member)
            with (folder / path.name).open("wb") as file:
                shutil.copyfileobj(source, file)  # type: ignore[arg-type]  # a file has one
    if not any(folder.glob("*.conllu")):
        raise OSError("the archive has no .conllu file")
