"""Contents of a folder of a treebank: files of its parts, language, licence."""

import io
import re
import urllib.request
import zipfile
from pathlib import Path
from typing import Dict, List, NamedTuple

from spacy.util import get_lang_class

from ..errors import Errors
from ..readers.files import find_files

PARTS = ("train", "dev", "test")
ADDRESS = "https://github.com/UniversalDependencies/{name}/archive/refs/heads/master.zip"
ANY_LANGUAGE = "xx"
_FIELD = re.compile(r"^(License|Contributors):\s*(.+?)\s*$", re.MULTILINE)
_WANTED = re.compile(r"[^/]+/([^/]*\.conllu(?:\.gz)?|README[^/]*|LICENSE[^/]*)")
SECONDS = 60  # without an answer


class Treebank(NamedTuple):
    """name: of its folder. files: of each part, "train", "dev" or "test"; those of no part by "".
    licence,
    contributors: as its README has them, "" = it does not say."""

    name: str
    lang: str
    files: Dict[str, List[Path]]
    licence: str
    contributors: str


def treebank_in(folder: Path, lang: str = "") -> Treebank:
    """The treebank in a folder. lang (str): "" = as its files say, "af_afribooms-ud-train.conllu",
    if spaCy has that language; else "xx". Files of folders in it count only if it has
    none itself. RAISES ValueError [HS074]: no .conllu file."""
    below = find_files(folder, [".conllu"])
    files = [file for file in below if file.parent == folder] or below
    by_part: Dict[str, List[Path]] = {}
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
    lang = file.name.partition("_")[0].lower()
    try:
        get_lang_class(lang)
    except ImportError:
        return ANY_LANGUAGE
    return lang


def _readme(folder: Path) -> str:
    paths = sorted(folder.glob("README*"))
    return paths[0].read_text(encoding="utf8", errors="replace") if paths else ""


def _not_fetched(name: str, url: str, problem: object) -> ValueError:
    advice = f"not fetched from {url}: {problem}. Download it by hand, and give its folder"
    return ValueError(Errors.HS191.format(name=name, problem=advice))


def download(name: str, folder: Path, address: str = ADDRESS) -> Path:
    """Fetch a treebank by its name, "UD_Afrikaans-AfriBooms", into a folder below this one. RETURNS
    that folder.
    RAISES ValueError [HS191]: it cannot be fetched, or has no .conllu file."""
    url = address.format(name=name)
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            archive = zipfile.ZipFile(io.BytesIO(answer.read()))
    except Exception as error:  # also no address, and an answer that breaks off
        raise _not_fetched(name, url, error) from error
    members = {
        match[1]: member
        for member in archive.namelist()
        for match in [_WANTED.fullmatch(member)]
        if match
    }
    if not any(".conllu" in file for file in members):
        raise _not_fetched(name, url, "the archive has no .conllu file")
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    for file, member in members.items():
        (target / file).write_bytes(archive.read(member))
    return target
