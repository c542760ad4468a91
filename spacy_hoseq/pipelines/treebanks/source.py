"""What a folder of a treebank contains: the files of its parts, its language and its licence."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Errors
from ...readers.account import Account
from ..names import checked_language
from .download import source_of_files

PARTS = ("train", "dev", "test")


class Treebank(NamedTuple):
    """A treebank. name: that of its folder. files: by part, "train", "dev" or "test"; "" has those of
    no part. licence, contributors: as its README has them, "" = it does not say. fetched: address,
    release and SHA-256 of the archive, if it was fetched by its name."""

    name: str
    lang: str
    files: dict[str, list[Path]]
    licence: str
    contributors: str
    fetched: dict[str, Any]


def treebank_in(folder: Path, lang: str = "", account: Account | None = None) -> Treebank:
    """The treebank in a folder. account: of what was found there.

    lang (str): "" = as its files say, "af_afribooms-ud-train.conllu", if spaCy has that language,
        else "xx".
    RAISES ValueError [HS074]: no .conllu file; [HS027]: no such language; [HS191]: a folder below it
        cannot be read.
    """
    if lang:
        checked_language(lang)
    if account is None:
        account = Account()
    name = folder.resolve().name
    below = account.find(folder, [".conllu"])
    for problem in account.unreadable:
        raise ValueError(Errors.HS191.format(name=name, problem=problem.actual))
    # folders below it often have the same sentences again, as sources or in other versions
    files = [file for file in below if file.parent == folder] or below
    account.leave_out(set(below).difference(files), "in folders below")
    by_part: dict[str, list[Path]] = {}
    for file in files:
        by_part.setdefault(part_of(file), []).append(file)
    readme = _readme(folder)
    return Treebank(
        name,
        lang or language_of(files[0]),
        by_part,
        _field(readme, "License"),
        _field(readme, "Contributors"),
        source_of_files(folder),
    )


def part_of(file: Path) -> str:
    """The part in the name of a file: "af_afribooms-ud-dev.conllu.gz" -> "dev"; "" = none."""
    words = re.split(r"[^a-z]+", file.name.lower())
    return next((part for part in PARTS if part in words), "")


def language_of(file: Path) -> str:
    """The language at the beginning of a file's name, if spaCy has it, else "xx"."""
    try:
        return checked_language(file.name.partition("_")[0].lower())
    except ValueError:
        return "xx"


def _readme(folder: Path) -> str:
    for path in sorted(folder.glob("README*")):
        return path.read_text(encoding="utf8", errors="replace")
    return ""


def _field(readme: str, name: str) -> str:
    """The value of "name: value" in the metadata of a README; the last one, if there are several."""
    values = re.findall(rf"^{name}:\s*(.+?)\s*$", readme, re.MULTILINE)
    return values[-1] if values else ""
