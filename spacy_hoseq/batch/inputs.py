"""Files of texts: which, and the rows in them. What cannot be read is a Problem, and nothing else is lost."""

import csv
import glob
import gzip
import io
import sys
from pathlib import Path
from typing import IO, Any, Iterator, List, NamedTuple, Optional, Sequence, Union

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import Errors
from ..readers.files import find_files, json_entries, read_lines, whole_text
from ..readers.sentences import Problem

STANDARD = Path("-")  # standard input
ENDINGS = (".txt", ".jsonl", ".csv", ".tsv", ".parquet", ".spacy")
PACKED = (".gz", ".zst")
SUFFIXES = [end + packed for end in ENDINGS for packed in ("", ".zst")]  # .gz goes without saying
ROWS = 1000  # that are read of a .parquet file at a time
csv.field_size_limit(2**31 - 1)


class Reading(NamedTuple):
    """text, id (str): columns, or keys of .jsonl. whole (bool): a .txt file is one text, not one in each line."""

    text: str = "text"
    id: str = "id"
    whole: bool = False


class Row(NamedTuple):
    """id (str): what the file says, else file and line. own (bool): whether the file says it."""

    id: str
    text: Optional[str]
    own: bool


Items = Iterator[Union[Row, Problem]]


def input_files(inputs: Sequence[str], output: Optional[Path]) -> List[Path]:
    """All files, in order: of folders, and of globs. output: of which nothing is read.

    RAISES ValueError [HS165]: there is no such file; [HS166]: an input lies in the output.
    """
    files: List[Path] = []
    for name in inputs:
        if Path(name) == STANDARD:
            files.append(STANDARD)
        elif Path(name).exists() or not glob.has_magic(name):
            files += _at(Path(name), output)
        else:
            files += [file for one in sorted(glob.glob(name, recursive=True)) for file in _at(Path(one), output)]
    if not files:
        raise ValueError(Errors.HS165.format(path=", ".join(inputs), problem="nothing matches"))
    return list(dict.fromkeys(files))


def _at(path: Path, output: Optional[Path]) -> List[Path]:
    if output is not None and output.resolve() in [path.resolve(), *path.resolve().parents]:
        raise ValueError(Errors.HS166.format(path=path, output=output))
    if not path.exists():
        raise ValueError(Errors.HS165.format(path=path, problem="there is neither a file nor a folder"))
    try:
        files = find_files(path, SUFFIXES)
    except ValueError as error:
        raise ValueError(Errors.HS165.format(path=path, problem=f"no file ends with {', '.join(ENDINGS)}")) from error
    return [file for file in files if output is None or output.resolve() not in file.resolve().parents]


class Source:
    """A file, and how far it is read: `position`, in bytes of what lies on the disk."""

    def __init__(self, path: Path) -> None:
        self.path, self.position = path, 0
        self.size = 0 if path == STANDARD else path.stat().st_size
        self._raw: Optional[IO[bytes]] = None
        name = path.name.lower()
        self.ending = next((end for end in ENDINGS if name.removesuffix(".gz").removesuffix(".zst").endswith(end)), "")

    def rows(self, reading: Reading) -> Items:
        """In the order of the file. Not of .spacy files."""
        if self.ending == ".jsonl":
            read = self._json_lines(reading)
        elif self.ending in (".csv", ".tsv"):
            read = self._table(reading, "," if self.ending == ".csv" else "\t")
        elif self.ending == ".parquet":
            read = self._parquet(reading)
        else:
            read = self._whole() if reading.whole else self._text_lines()
        try:
            for item in read:
                if self._raw is not None and not self._raw.closed:
                    self.position = self._raw.tell()
                yield item
            self.position = self.size
        finally:
            if self._raw is not None:
                self._raw.close()

    def _open(self, path: Path) -> IO[bytes]:
        if path == STANDARD:
            return sys.stdin.buffer
        self._raw = raw = path.open("rb")
        if path.name.endswith(".gz"):
            return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
        if path.name.endswith(".zst"):
            return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"), 1 << 20)  # type: ignore[arg-type, unused-ignore]
        return raw

    def _lines(self) -> Any:
        return read_lines(self.path, ["utf-8"], self._open)

    def _row(self, number: int, text: Any, own: Any) -> Union[Row, Problem]:
        """own: the id that the file gives, None if it gives none."""
        place = self.path.as_posix()
        if isinstance(text, str) and not _is_unicode(text):
            return Problem(self.path, number, "half of a pair of surrogates", "text of Unicode")
        row = Row(f"{place}:{number}", text, False)
        return row if own is None or not _is_unicode(str(own)) else row._replace(id=str(own), own=True)

    def _text_lines(self) -> Items:
        for line in self._lines():
            if isinstance(line, Problem):
                yield line
            elif line.text.strip():
                yield self._row(line.number, line.text, None)

    def _whole(self) -> Items:
        text = whole_text(self._lines())
        yield text if isinstance(text, Problem) else Row(self.path.as_posix(), text, False)

    def _json_lines(self, reading: Reading) -> Items:
        for entry in json_entries(self.path, self._lines(), reading.text):
            if isinstance(entry, Problem):
                yield entry
            else:
                yield self._row(entry.number, entry.text, entry.fields.get(reading.id))

    def _table(self, reading: Reading, delimiter: str) -> Items:
        problems: List[Problem] = []
        rows = csv.reader(self._plain(problems), delimiter=delimiter, strict=True)
        names: Optional[List[str]] = None
        while True:
            number = rows.line_num + 1
            try:
                cells = next(rows, None)
            except csv.Error as error:
                cells, names = [], names or []
                problems.append(Problem(self.path, number, str(error), "cells in quotes that end"))
            yield from problems
            problems.clear()
            if cells is None:
                return
            if names is None:
                names = cells
                if reading.text not in names:
                    yield Problem(self.path, 1, f"columns {', '.join(names)}", f'a column "{reading.text}"')
                    return
            elif cells and len(cells) != len(names):
                yield Problem(self.path, number, f"{len(cells)} cells", f"{len(names)}, as in the first line")
            elif cells:
                own = cells[names.index(reading.id)] if reading.id in names else None
                yield self._row(number, cells[names.index(reading.text)], own)

    def _plain(self, problems: List[Problem]) -> Iterator[str]:
        for line in self._lines():
            if isinstance(line, Problem):
                problems.append(line)
            else:
                yield f"{line.text}\n"

    def _parquet(self, reading: Reading) -> Items:
        number = 0
        try:
            with pq.ParquetFile(self.path) as file:
                problem = _problem_of(file.schema_arrow, reading)
                if problem:
                    yield Problem(self.path, 1, problem, f'a column "{reading.text}" of strings')
                    return
                columns = [name for name in (reading.text, reading.id) if name in file.schema_arrow.names]
                for batch in file.iter_batches(ROWS, columns=columns):
                    texts = batch.column(reading.text).cast(pa.string()).to_pylist()
                    ids = batch.column(reading.id).to_pylist() if reading.id in columns else [None] * len(batch)
                    for text, own in zip(texts, ids, strict=True):
                        number += 1
                        yield self._row(number, text, own)
                    self.position = self.size * number // max(1, file.metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            yield Problem(self.path, number + 1, str(error), "a file of Parquet, whole")


def _problem_of(schema: Any, reading: Reading) -> str:
    if schema.names.count(reading.text) != 1:
        return f"columns {', '.join(schema.names)}"
    kind = schema.field(reading.text).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return "" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else f"a column of {kind}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True
