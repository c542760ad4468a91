"""Contents of a folder of a treebank: files of its parts, language, licence."""

import re
from pathlib import Path
from typing import NamedTuple

from ...readers.files import find_files
from ..names import checked_language

PARTS = ("train", "dev", "test")
ANY_LANGUAGE = "xx"
_FIELD = re.compile(r"^(License|Contributors):\s*(.+?)\s*$", re.MULTILINE)


class Treebank(NamedTuple):
    """A treebank. name: of its folder. files: of each part, "train", "dev" or "test"; those of no
    part by "". licence, contributors: as its README has them, "" = it does not say."""

    name: str
    lang: str
    files: dict[str, list[Path]]
    licence: str
    contributors: str


def treebank_in(folder: Path, lang: str = "") -> Treebank:
    """The treebank in a folder. lang (str): "" = as its files say, "af_afribooms-ud-train.conllu",
    if spaCy has that language; else "xx". Files of folders in it count only if it has
    none itself. RAISES ValueError [HS074]: no .conllu file; [HS027]: no such language."""
    if lang:
        checked_language(lang)
    below = find_files(folder, [".conllu"])
    files = [file for file in below if file.parent == folder] or below
    by_part: dict[str, list[Path]] = {}
    for file in files:
        by_part.setdefault(part_of(file), []).append(file)
    fields = dict(_FIELD.findall(_readme(folder)))
    licence, contributors = (fields.get(field, "") for field in ("License", "Contributors"))
    return Treebank(
        folder.resolve().name, lang or language_of(files[0]), by_part, licence, contributors
    )


def part_of(file: Path) -> str:
    """The part that the name of a file has: "af_afribooms-ud-dev.conllu.gz" -> "dev"; "" = none."""
    words = re.split(r"[^a-z]+", file.name.lower())
    return next((part for part in PARTS if part in words), "")


def language_of(file: Path) -> str:
    """The language that the name of a file begins with, if spaCy has it."""
    try:
        return checked_language(file.name.partition("_")[0].lower())
    except ValueError:
        return ANY_LANGUAGE


def _readme(folder: Path) -> str:
    paths = sorted(folder.glob("README*"))
    return paths[0].read_text(encoding="utf8", errors="replace") if paths else ""
