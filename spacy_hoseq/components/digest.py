"""Whether what was read belongs together: one digest of a model's bytes and of what gives its
columns their meaning.

A saved model is a msgpack map. Its last entry, "digest", is the SHA-256 of all bytes before it and
of what the component says of its labels and of the tables of the vocabulary that its features read.
`cfg` names the same digest. One bit that differs in any of them, another table, or a `cfg` of one
training beside the `model` of another, is found before anything is made of the weights.

A pipeline has a list of files, too, `digests.json`, which `spacy_hoseq.load` compares: of all its
files in the package and where a command wrote it, else of its tokenizer.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, Optional

import srsly
from spacy.lookups import Table

SIZE = 32  # bytes of SHA-256
FILES = "digests.json"  # in the folder of a pipeline
KEY = b"\xa6digest\xc4" + bytes([SIZE])  # msgpack: a string of 6 bytes; a binary of SIZE bytes
FORMAT_WITH_DIGEST = 3  # of layers (layers/weights/storage.py)


def with_digest(model: bytes, meaning: Dict[str, Any]) -> bytes:
    """model: a msgpack map of fewer than 15 entries, as thinc makes it; its first byte says how
    many. meaning: of its columns, as JSON has it."""
    body = bytes([model[0] + 1]) + model[1:] + KEY
    return body + _digest(body, meaning)


def belongs(data: bytes, meaning: Dict[str, Any]) -> bool:
    """Whether the digest of a model is that of its bytes and this meaning."""
    return has_digest(data) and data[-SIZE:] == _digest(data[:-SIZE], meaning)


def digest_in(data: bytes) -> str:
    """The digest of a model that has one, as `cfg` names it."""
    return data[-SIZE:].hex()


def digest_of_table(table: Optional[Table]) -> Optional[str]:
    """SHA-256 of what a table of the vocabulary holds, in any order of its keys; None: there is no
    such table."""
    if table is None:
        return None
    entries = [[key, value] for key, value in sorted(table.items())]
    return hashlib.sha256(srsly.msgpack_dumps(entries)).hexdigest()


def has_digest(data: bytes) -> bool:
    return data[-SIZE - len(KEY) : -SIZE] == KEY


def is_older(data: bytes) -> bool:
    """Whether a model without a digest was saved when there was none. RAISES Exception of any kind:
    damaged."""
    layers = [
        srsly.msgpack_loads(shim) for shims in srsly.msgpack_loads(data)["shims"] for shim in shims
    ]
    return all(layer.get("format", 1) < FORMAT_WITH_DIGEST for layer in layers)


def _digest(body: bytes, meaning: Dict[str, object]) -> bytes:
    whole = hashlib.sha256(json.dumps(meaning, sort_keys=True).encode("ascii"))
    whole.update(body)
    return whole.digest()


def write_digests(folder: Path) -> None:
    """Name all files of a saved pipeline, with the SHA-256 of each, in `digests.json`."""
    lines = json.dumps(file_digests(folder), indent=0)
    (folder / FILES).write_text(lines + "\n", encoding="utf8")


def write_digest_of_tokenizer(folder: Path) -> None:
    """The same for the tokenizer alone: spaCy writes it before the components, and the vocabulary
    after them. Earlier lists are of the pipeline as it was."""
    names = file_digests(folder, "tokenizer*")
    if names:
        (folder / FILES).write_text(json.dumps(names, indent=0) + "\n", encoding="utf8")
    else:
        (folder / FILES).unlink(missing_ok=True)


def file_digests(folder: Path, pattern: str = "*") -> Dict[str, str]:
    """Of the files of a pipeline that change what it does; not of its card, its licence and
    `meta.json`. pattern: of names in the folder."""
    parts = [path for part in folder.glob(pattern) for path in [part, *part.rglob("*")]]
    paths = sorted(path for path in parts if path.is_file())
    names = [(path.relative_to(folder).as_posix(), path) for path in paths]
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in names if is_read(path)
    }


def is_read(path: Path) -> bool:
    """Whether what a pipeline does depends on a file in its folder."""
    is_card = path.name in (FILES, "meta.json", "__init__.py") or path.suffix in (".md", ".pyc")
    return not is_card and not path.name.startswith("LICENSE")


def changed_file(folder: Path) -> str:
    """The first file that is not as `digests.json` has it; "" if all are, or if there is no such
    list. Files that it does not name are not looked at. RAISES Exception of any kind: the list is
    damaged."""
    path = folder / FILES
    if not path.is_file():
        return ""
    saved = json.loads(path.read_text(encoding="utf8"))
    there = file_digests(folder)
    return next((name for name in sorted(saved) if saved[name] != there.get(name)), "")


def is_listed(folder: Path, name: str) -> bool:
    """Whether `digests.json` is there, and names a file."""
    path = folder / FILES
    return path.is_file() and name in json.loads(path.read_text(encoding="utf8"))
