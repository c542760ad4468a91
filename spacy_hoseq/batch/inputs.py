"""Files of texts, the rows in them, and parts: rows that one process annotates together, and that
become one file.

What cannot be read is a Problem; all other rows are read. The bounds of parts depend on the input
alone, so a job writes the same files with any number of processes, and after any interruption.
"""

import glob
import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import srsly
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from ..readers.account import Account
from ..readers.docs import sentences_to_doc
from ..readers.files import MAX_LINE_BYTES, Line, read_lines
from ..readers.formats.recognised import read_corpus
from ..readers.rows import Entry, json_rows, parquet_rows, table_rows
from ..readers.sentences import Problem
from ..readers.settings import Settings
from .annotator import CHARACTERS_PER_ROW, is_text

STANDARD = "-"  # standard input
MIN_CHARACTERS_PER_PART = 30_000  # if there are more


class InputOptions(NamedTuple):
    """How inputs are read. text, id (str): columns, or keys of .jsonl. whole (bool): a .txt file is
    one text, not one in each line. part_size (int): most rows of a part."""

    text: str = "text"
    id: str = "id"
    whole: bool = False
    part_size: int = 5000


class Row(NamedTuple):
    """A text. id (str): that in the file, else file and line. text: bytes are a Doc. position (int):
    how many bytes of the file were read up to here."""

    id: str
    text: str | bytes | None
    position: int = 0


class Part(NamedTuple):
    """Rows that become one file. number (int): from 0. position (int): how many bytes of all files
    were read up to its end."""

    number: int
    rows: list[Row]
    problems: list[Problem]
    position: int

    @property
    def digest(self) -> str:
        """A digest of what was read: texts, ids and problems."""
        # not positions, which depend on how much is read ahead
        rows = [(row.id, row.text) for row in self.rows]
        problems = str(self.problems).encode("utf8", "backslashreplace")
        return blake2b(srsly.msgpack_dumps([rows, problems]), digest_size=16).hexdigest()


# number of the line or row (0: the whole file), text, and its id, if the file has one
Record = tuple[int, str | bytes | None, str | None]
Items = Iterator[Record | Problem]
Files = dict[str, Path]  # by their names in messages and ids


def input_files(inputs: Sequence[str], output: Path | None, account: Account) -> Files:
    """Files of folders and globs, in order. output: a folder of which nothing is read.

    RAISES ValueError [HS074]: there is no such file; [HS167]: an input lies in the output.
    """
    endings = [*FORMATS, *(f"{ending}.zst" for ending in FORMATS)]
    folder = None if output is None else _real(output)
    files: list[Path] = []
    for name in inputs:
        for path in _matches(name):
            if folder in (_real(path), *_real(path).parents):
                problem = f"holds the input {path}"
                raise ValueError(Errors.HS167.format(path=output, problem=problem))
            files += [path] if is_stream(path) else account.find(path, endings)
    by_name = {}
    for file in files:
        if folder in _real(file).parents:
            account.leave_out([file], "below the output")
        else:
            # bytes of a name that are no UTF-8 are shown as \xff
            by_name[os.fsencode(file).decode("utf8", "backslashreplace")] = file
    if not by_name and not account.unreadable:
        known = {"path": ", ".join(inputs), "suffixes": ", ".join(FORMATS)}
        raise ValueError(Errors.HS074.format(problem="nothing matches", **known))
    return by_name


def is_stream(path: Path) -> bool:
    """True if it can be read once only: standard input, a pipe."""
    return path == Path(STANDARD) or path.exists() and not (path.is_file() or path.is_dir())


def parts_of(files: Files, options: InputOptions, account: Account) -> Iterator[Part]:
    """Parts of all files, at least one."""
    part = Part(0, [], [*account.unreadable], 0)
    file_start = 0  # bytes of the files before this one
    n_characters = 0  # of all rows
    room = MIN_CHARACTERS_PER_PART
    for name, path in files.items():
        for item in account.read(path, rows_in(name, path, options)):
            if isinstance(item, Problem):
                part.problems.append(item)
                continue
            size = CHARACTERS_PER_ROW + len(item.text or "")
            if part.rows and (len(part.rows) == options.part_size or size > room):
                yield part
                part = Part(part.number + 1, [], [], part.position)
                # The first parts are small, so that each process soon has one; later ones grow with
                # what was read, so that none is a large share of all.
                room = min(max(MIN_CHARACTERS_PER_PART, n_characters // 32), 4_000_000)
            part.rows.append(item)
            part = part._replace(position=file_start + item.position)
            room -= size
            n_characters += size
        if path.is_file():
            file_start += path.stat().st_size
    if part.rows or part.problems or not part.number:
        yield part._replace(position=file_start)


def rows_in(name: str, path: Path, options: InputOptions) -> Iterator[Row | Problem]:
    """The rows of a file in their order, and the problems. name (str): of the file in messages and
    ids."""
    ending = ".txt"
    for known in FORMATS:
        if path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith(known):
            ending = known
    try:
        with sys.stdin.buffer if path == Path(STANDARD) else path.open("rb") as file:
            for item in FORMATS[ending](path, _unpacked(path, file), options):
                # of a packed file, the bytes that are unpacked already; a reader may close it
                is_open = not file.closed and file.seekable()
                yield _row(name, item, file.tell() if is_open else 0)
    except Exception as error:  # whatever unpacking, Arrow, spaCy and msgpack raise
        actual = str(error) or type(error).__name__
        yield Problem(Path(name), 0, actual, f"a file of {ending} that can be read")


def _row(name: str, item: Record | Problem, position: int) -> Row | Problem:
    """A row, whose id is that of the file or its place in it."""
    if isinstance(item, Problem):
        return item._replace(path=Path(name))
    number, text, row_id = item
    if isinstance(text, str) and not _is_unicode(text):
        actual = "bytes or surrogates that are none"
        return Problem(Path(name), number, actual, "text of Unicode")
    if row_id is None or not _is_unicode(row_id):
        row_id = f"{name}:{number}" if number else name
    return Row(row_id, text, position)


def _matches(name: str) -> list[Path]:
    """Paths that an input names: itself, or those that a glob finds."""
    path = Path(name)
    if glob.has_magic(name) and not path.exists():
        return [Path(match) for match in sorted(glob.glob(name, recursive=True))]
    return [path]


def _real(path: Path) -> Path:
    """The path without links; that of a link to itself stays."""
    return Path(os.path.realpath(path))


def _is_unicode(text: str) -> bool:
    """False if there are surrogates: bytes that are no UTF-8, or half of a pair in JSON."""
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def _unpacked(path: Path, file: Any) -> Any:
    """The file as it was before .gz or .zst."""
    ending = path.suffix.lower()
    # Arrow refuses zeros behind the end of .gz, which tapes and some stores add
    if ending == ".gz":
        return gzip.open(file)
    if ending == ".zst":
        return io.BufferedReader(pa.CompressedInputStream(file, "zstd"))
    return file


def read_text(path: Path, data: Any, options: InputOptions) -> Items:
    """One text if `options.whole`, else one for each line that is not blank."""
    if options.whole:
        content = data.read(MAX_LINE_BYTES)
        if len(content) == MAX_LINE_BYTES:
            raise ValueError(f"a text of {MAX_LINE_BYTES:,} bytes or more")
        text = content.decode("utf-8-sig")
        yield 0, text.removesuffix("\n").removesuffix("\r"), None
        return
    for line in _lines(path, data):
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            yield line.number, line.text, None


def read_json_lines(path: Path, data: Any, options: InputOptions) -> Items:
    """A row for each object. Ids that are no strings stay JSON."""
    expected = f'an object with a string "{options.text}"'
    for entry in json_rows(path, _lines(path, data), expected, lists=False):
        if isinstance(entry, Problem):
            yield entry
        elif isinstance(entry.value, dict) and isinstance(entry.value.get(options.text), str):
            row_id = entry.value.get(options.id)
            if not (row_id is None or isinstance(row_id, str)):
                row_id = json.dumps(row_id)
            yield entry.number, entry.value[options.text], row_id
        else:
            yield Problem(path, entry.number, entry.text[:200], expected)


def read_delimited(path: Path, data: Any, options: InputOptions, delimiter: str = ",") -> Items:
    """A table of text, as `csv` reads it: the first row names the columns."""
    entries = table_rows(path, data, "utf-8", delimiter, strict=True)
    header = next(entries, Entry(1, []))
    if isinstance(header, Problem):
        raise ValueError(header.actual)
    names = header.value
    _check_columns(names, options)
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
        elif len(entry.value) == len(names):
            fields = dict(zip(names, entry.value, strict=True))
            yield entry.number, fields[options.text], fields.get(options.id)
        elif entry.value:  # an empty line has no cells
            expected = f"{len(names)}, as in the first line"
            yield Problem(path, entry.number, f"{len(entry.value)} cells", expected)


def read_parquet(path: Path, data: Any, options: InputOptions) -> Items:
    """A row for each row; where the text is null, it is None."""
    with pq.ParquetFile(data) as file:
        schema = file.schema_arrow
        _check_columns(schema.names, options)
        kind = schema.field(options.text).type
        if not is_text(kind):
            raise ValueError(f'the column "{options.text}" has the type {kind}')
        columns = [name for name in (options.text, options.id) if name in schema.names]
        for entry in parquet_rows(path, file, columns, as_text=True):
            if isinstance(entry, Problem):
                yield entry
            else:
                yield entry.number, entry.value[options.text], entry.value.get(options.id)


def read_docs(path: Path, data: Any, options: InputOptions) -> Items:
    """A row for each Doc of a `DocBin`."""
    for number, doc in enumerate(DocBin().from_bytes(data.read()).get_docs(Vocab()), 1):
        yield number, doc.to_bytes(), None


def read_treebank(path: Path, data: Any, options: InputOptions) -> Items:
    """A row for each sentence of CoNLL-U, with all that is annotated there."""
    vocab = Vocab()
    for number, item in enumerate(read_corpus(path, "conllu", Settings()), 1):
        if isinstance(item, Problem):
            yield item
        else:
            yield number, sentences_to_doc(vocab, [item], "").to_bytes(), None


def _lines(path: Path, data: Any) -> Iterator[Line | Problem]:
    return read_lines(path, ["utf-8"], lambda _: data)


def _check_columns(names: Sequence[str], options: InputOptions) -> None:
    """Check the columns of a table. RAISES ValueError: there is no text, or a column twice."""
    if names.count(options.text) != 1 or names.count(options.id) > 1:
        raise ValueError(f'"{options.text}" is not once among the columns {", ".join(names)}')


FORMATS: dict[str, Callable[[Path, Any, InputOptions], Items]] = {
    ".jsonl": read_json_lines,
    ".csv": read_delimited,
    ".tsv": partial(read_delimited, delimiter="\t"),
    ".parquet": read_parquet,
    ".txt": read_text,
    ".spacy": read_docs,
    ".conllu": read_treebank,
}
