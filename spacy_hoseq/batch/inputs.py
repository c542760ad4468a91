"""Which files of texts there are, and the rows in them. What cannot be read is a Problem, and
nothing else is lost."""

import csv
import glob
import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import (
    IO,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import pyarrow as pa
import pyarrow.parquet as pq
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from ..readers.docs import sentences_to_doc
from ..readers.files import find_files, read_lines
from ..readers.formats.recognised import read_corpus
from ..readers.sentences import Problem, Settings

STANDARD = Path("-")  # standard input
PACKED = (".gz", ".zst")
BUFFER = 1 << 20  # bytes of a packed file
ROWS = 1000  # of Parquet that are read at a time
QUOTED_LINES = 1000  # of a row of .csv, at most; what is longer is a stray quote
SHOWN = 200  # characters of a line that is none
STRINGS = (pa.string(), pa.large_string(), pa.string_view())
csv.field_size_limit(2**31 - 1)


class InputOptions(NamedTuple):
    """text, id (str): columns, or keys of .jsonl. whole (bool): a .txt file is one text, not one in
    each line."""

    text: str = "text"
    id: str = "id"
    whole: bool = False


class Row(NamedTuple):
    """id (str): what the file says, else file and line. text: bytes are a Doc. own (bool): whether
    the file says the id."""

    id: str
    text: Union[str, bytes, None]
    own: bool


Items = Iterator[Union[Row, Problem]]


class Source:
    """A file that is being read. `position`: bytes of it so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: Optional[IO[bytes]] = None

    @property
    def position(self) -> int:
        return self._raw.tell() if self._raw and not self._raw.closed else 0

    def close(self) -> None:
        if self._raw:
            self._raw.close()

    def open(self, _: Optional[Path] = None) -> IO[bytes]:
        """The bytes of the file, unpacked."""
        if self.path == STANDARD:
            return sys.stdin.buffer
        self._raw = raw = self.path.open("rb")
        name = self.path.name.lower()
        if name.endswith(".gz"):
            return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
        if name.endswith(".zst"):
            unpacked: Any = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
            return io.BufferedReader(unpacked, BUFFER)
        return raw

    def row(self, number: int, text: Optional[str], own: Optional[str]) -> Union[Row, Problem]:
        """number (int): of the line, or row. own: the id that the file gives, None if it gives
        none."""
        if text is not None and not _is_unicode(text):
            return Problem(
                self.path, number, "bytes or surrogates that are none", "text of Unicode"
            )
        if own is not None and _is_unicode(own):
            return Row(own, text, True)
        return Row(f"{self.path.as_posix()}:{number}", text, False)


def input_files(inputs: Sequence[str], output: Optional[Path]) -> List[Path]:
    """All files, in order: of folders, and of globs. output: of which nothing is read.

    RAISES ValueError [HS074]: there is no such file; [HS167]: an input lies in the output.
    """
    files: List[Path] = []
    for name in inputs:
        is_glob = glob.has_magic(name) and not Path(name).exists()
        paths = sorted(glob.glob(name, recursive=True)) if is_glob else [name]
        for path in map(Path, paths):
            files += [STANDARD] if path == STANDARD else _files_at(path, output)
    if not files:
        suffixes = ", ".join(FORMATS)
        raise ValueError(
            Errors.HS074.format(
                path=", ".join(inputs), problem="nothing matches", suffixes=suffixes
            )
        )
    return list(dict.fromkeys(files))


def rows_of(source: Source, options: InputOptions) -> Items:
    """The rows of a file in their order, and the problems."""
    if not _is_unicode(source.path.as_posix()):
        yield Problem(Path(shown(source.path)), 0, "bytes that are none", "a name in UTF-8")
        return
    ending = _ending(source.path.name)
    try:
        yield from FORMATS[ending](source, options)
    except Exception as error:  # whatever unpacking, Arrow, spaCy and msgpack raise
        actual = str(error) or type(error).__name__
        yield Problem(source.path, 0, actual, f"a whole file of {ending}")
    finally:
        source.close()


def shown(path: Path) -> str:
    """A path as text, if its bytes are no UTF-8, too."""
    return os.fsencode(path).decode("utf8", "backslashreplace")


def _files_at(path: Path, output: Optional[Path]) -> List[Path]:
    parents = [path.resolve(), *path.resolve().parents]
    if output is not None and output.resolve() in parents:
        problem = f"holds the input {path}"
        raise ValueError(Errors.HS167.format(path=output, problem=problem))
    files = find_files(path, [ending + packed for ending in FORMATS for packed in ("", ".zst")])
    return [
        file for file in files if output is None or output.resolve() not in file.resolve().parents
    ]


def _ending(name: str) -> str:
    """By which the format is known; any other file is text."""
    name = name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return next((ending for ending in FORMATS if name.endswith(ending)), ".txt")


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def read_text(source: Source, options: InputOptions) -> Items:
    """One text if `options.whole`, else one for each line that is not blank."""
    if options.whole:
        text = source.open().read().decode("utf-8-sig")
        yield Row(source.path.as_posix(), text.removesuffix("\n").removesuffix("\r"), False)
        return
    for line in read_lines(source.path, ["utf-8"], source.open):
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            yield source.row(line.number, line.text, None)


def read_json_lines(source: Source, options: InputOptions) -> Items:
    """A row for each object; empty lines are passed over. Ids that are no strings stay JSON."""
    expected = f'an object with a string "{options.text}"'
    for line in read_lines(source.path, ["utf-8"], source.open):
        if isinstance(line, Problem) or not line.text.strip():
            yield from [line] if isinstance(line, Problem) else []
            continue
        try:
            fields = json.loads(line.text)
        except (ValueError, RecursionError) as error:
            yield Problem(source.path, line.number, str(error), expected)
            continue
        text = fields.get(options.text) if isinstance(fields, dict) else None
        if not isinstance(text, str):
            yield Problem(source.path, line.number, line.text[:SHOWN], expected)
            continue
        own = fields.get(options.id)
        is_written = own is None or isinstance(own, str)
        yield source.row(
            line.number, text, own if is_written else json.dumps(own, ensure_ascii=False)
        )


def read_delimited(source: Source, options: InputOptions) -> Items:
    """Tables separated by commas, or tabs (.tsv): the first row names the columns."""
    delimiter = "\t" if _ending(source.path.name) == ".tsv" else ","
    with io.TextIOWrapper(source.open(), "utf-8-sig", "surrogateescape", newline="") as lines:
        rows = _delimited_rows(lines, delimiter)
        _, names = next(rows, (1, ""))
        if isinstance(names, str):
            names = [names]
        if _are_wrong(names, options):
            yield Problem(source.path, 1, _shown(names), f'a column "{options.text}"')
            return
        for number, cells in rows:
            if isinstance(cells, str):
                yield Problem(source.path, number, cells, "cells in quotes that end")
            elif len(cells) != len(names):
                expected = f"{len(names)}, as in the first line"
                yield Problem(source.path, number, f"{len(cells)} cells", expected)
            else:
                fields = dict(zip(names, cells, strict=True))
                yield source.row(number, fields[options.text], fields.get(options.id))


def _delimited_rows(
    lines: Iterator[str], delimiter: str
) -> Iterator[Tuple[int, Union[List[str], str]]]:
    """Number of the first line, and cells as `csv` gives them, or why there are none. After a
    quote that does not end, the lines behind the first are read again."""
    again: List[str] = []  # the next one is the last
    taken: List[str] = []  # of this row
    number = 1

    def feed() -> Iterator[str]:
        while len(taken) < QUOTED_LINES:
            line = again.pop() if again else next(lines, None)
            if line is None:
                return
            taken.append(line)
            yield line

    while True:
        taken.clear()
        try:
            cells: Union[List[str], str, None]
            cells = next(csv.reader(feed(), delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            cells = str(error)
            again += reversed(taken[1:])
            del taken[1:]
        if cells is None:
            return
        if cells:
            yield number, cells
        number += len(taken)


def read_parquet(source: Source, options: InputOptions) -> Items:
    """A row for each row; where the text is null, `text` is None."""
    number = 0
    with pq.ParquetFile(source.open()) as file:
        schema = file.schema_arrow
        actual = _shown(schema.names)
        if not _are_wrong(schema.names, options):
            kind = schema.field(options.text).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            actual = "" if kind in STRINGS else f"a column of {kind}"
        if actual:
            yield Problem(source.path, 0, actual, f'a column "{options.text}" of strings')
            return
        columns = [name for name in (options.text, options.id) if name in schema.names]
        for batch in file.iter_batches(ROWS, columns=columns):
            texts, *ids = (_strings(batch.column(name)) for name in columns)
            for text, own in zip(texts, ids[0] if ids else [None] * len(texts), strict=True):
                number += 1
                yield source.row(number, text, own)


def _strings(column: pa.Array) -> List[Optional[str]]:
    """Of any column; bytes that are no UTF-8 as surrogates."""
    try:
        values = column.cast(pa.string()).cast(pa.binary()).to_pylist()
    except pa.ArrowException:  # a list, or an object
        return [None if value is None else str(value) for value in column.to_pylist()]
    return [None if value is None else value.decode("utf8", "surrogateescape") for value in values]


def _are_wrong(names: Sequence[str], options: InputOptions) -> bool:
    """Of a table: there is no text, or a column twice."""
    return names.count(options.text) != 1 or names.count(options.id) > 1


def _shown(names: Sequence[str]) -> str:
    return f"columns {', '.join(names)}"


def read_docs(source: Source, options: InputOptions) -> Items:
    """A row for each Doc of a `DocBin`."""
    docs = DocBin().from_bytes(source.open().read()).get_docs(Vocab())
    for number, doc in enumerate(docs, 1):
        yield Row(f"{source.path.as_posix()}:{number}", doc.to_bytes(), False)


def read_treebank(source: Source, options: InputOptions) -> Items:
    """A row for each sentence of CoNLL-U, with all that is annotated there."""
    vocab = Vocab()
    for number, item in enumerate(read_corpus(source.path, "conllu", Settings()), 1):
        if isinstance(item, Problem):
            yield item
        else:
            doc = sentences_to_doc(vocab, [item], "")
            yield Row(f"{source.path.as_posix()}:{number}", doc.to_bytes(), False)


FORMATS: Dict[str, Callable[[Source, InputOptions], Items]] = {
    ".jsonl": read_json_lines,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".parquet": read_parquet,
    ".txt": read_text,
    ".spacy": read_docs,
    ".conllu": read_treebank,
}
