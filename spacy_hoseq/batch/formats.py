"""What a part becomes: the bytes of one file."""

import io
import json
from functools import partial
from itertools import groupby
from typing import Any, Callable, Dict, Iterator, List, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from spacy.tokens import Doc, DocBin

from ..layers.listening.upstream import DATA as HANDED_OVER
from .schema import schema_of


def parquet_bytes(table: pa.Table) -> bytes:
    """One row group, compressed with zstd."""
    data = io.BytesIO()
    pq.write_table(table.combine_chunks(), data, compression="zstd", row_group_size=max(1, len(table)))
    return data.getvalue()


def json_lines_bytes(table: pa.Table) -> bytes:
    """An object in each line, with the columns as they are in Parquet. Made column by column: no object of Python for a
    token."""
    if not len(table):
        return b""
    table = table.combine_chunks()
    columns = [_json(table[name].chunk(0)) for name in table.schema.names]
    rows = _object(table.schema.names, columns)
    return "".join(f"{row}\n" for row in rows.to_pylist()).encode("utf8")


def _object(names: Sequence[str], values: Sequence[pa.Array]) -> pa.Array:
    """Objects, from the JSON of their values."""
    pieces: List[Any] = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        pieces += [pa.scalar(f"{'{' if not i else ', '}{json.dumps(name)}: ", pa.large_string()), value]
    return pc.binary_join_element_wise(*pieces, pa.scalar("}", pa.large_string()), pa.scalar("", pa.large_string()))


def _json(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_list(kind):
        inner = _json(values.flatten())
        lists = pa.LargeListArray.from_arrays(_offsets(values), inner)
        empty = pa.scalar("", pa.large_string())
        joined = pc.binary_join(lists, pa.scalar(", ", pa.large_string()))
        text = pc.binary_join_element_wise(
            pa.scalar("[", pa.large_string()), joined, pa.scalar("]", pa.large_string()), empty
        )
    elif pa.types.is_struct(kind):
        fields = values.flatten()
        text = _object([kind.field(i).name for i in range(kind.num_fields)], [_json(field) for field in fields])
    elif pa.types.is_string(kind):
        encoded = values.dictionary_encode()
        names = [json.dumps(name, ensure_ascii=False) for name in encoded.dictionary.to_pylist()]
        text = pa.array(names, pa.large_string()).take(encoded.indices)
    else:
        text = values.cast(pa.string()).cast(pa.large_string())
    return pc.if_else(values.is_valid(), text, pa.scalar("null", pa.large_string()))


def _offsets(values: pa.Array) -> pa.Array:
    lengths = pc.fill_null(values.value_lengths(), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


class DocsFile:
    """A .spacy file; `doc.user_data["id"]` is the id."""

    def __init__(self) -> None:
        self._docs = DocBin(store_user_data=True)

    def add(self, ids: Sequence[str], docs: Sequence[Doc]) -> None:
        """Docs may be forgotten behind it."""
        for name, doc in zip(ids, docs, strict=True):
            data: Dict[Any, Any] = doc.user_data
            data.pop(HANDED_OVER, None)  # from component to component: nothing that a reader wants
            data["id"] = name
            self._docs.add(doc)

    def data(self) -> bytes:
        return self._docs.to_bytes()


class LinesFile:
    """Lines of text. lines_of (Callable): of an id and its Doc."""

    def __init__(self, lines_of: Callable[[str, Doc], List[str]]) -> None:
        self._lines_of, self._pieces = lines_of, [b""]

    def add(self, ids: Sequence[str], docs: Sequence[Doc]) -> None:
        """Docs may be forgotten behind it."""
        lines = [line for name, doc in zip(ids, docs, strict=True) for line in self._lines_of(name, doc)]
        self._pieces.append("".join(f"{line}\n" for line in lines).encode("utf8"))

    def data(self) -> bytes:
        return b"".join(self._pieces)


def conll_lines(name: str, doc: Doc) -> List[str]:
    """Word, tag and chunk (or entity) in each line, a blank line behind each sentence, as CoNLL-2000 and 2003 are."""
    lines = ["-DOCSTART- -X- O", ""]
    spans = next((group for _, group in sorted(doc.spans.items())), doc.ents)
    marks = ["O"] * len(doc)
    for span in spans:
        words = [token.i for token in span if not token.is_space]
        for i in words:
            marks[i] = f"{'B' if i == words[0] else 'I'}-{span.label_}"
    for sentence in _sentences(doc):
        lines += [f"{token.text} {token.tag_ or '_'} {marks[token.i]}" for token in sentence]
        lines.append("")
    return lines


def conllu_lines(name: str, doc: Doc) -> List[str]:
    """CoNLL-U; white space is no token of it."""
    lines: List[str] = []
    for number, sentence in enumerate(_sentences(doc)):
        lines += [] if number else [f"# newdoc id = {' '.join(name.split())}"]
        text = doc.text[sentence[0].idx : sentence[-1].idx + len(sentence[-1])]
        lines.append(f"# text = {' '.join(text.split())}")
        places = {token.i: place for place, token in enumerate(sentence, 1)}
        for token in sentence:
            head = "_" if not token.dep else str(0 if token.head.i == token.i else places.get(token.head.i, 0))
            cells = (token.lemma_, token.pos_, token.tag_, str(token.morph))
            rest = (head, token.dep_ or "_", "_", "_" if token.whitespace_ else "SpaceAfter=No")
            lines.append("\t".join((str(places[token.i]), token.text, *(cell or "_" for cell in cells), *rest)))
        lines.append("")
    return lines


def _sentences(doc: Doc) -> Iterator[List[Any]]:
    """Words, without white space; one sentence where none are known."""
    words = [token for token in doc if not token.is_space]
    starts = np.cumsum([token.is_sent_start is True for token in doc])
    for _, sentence in groupby(words, key=lambda token: starts[token.i]):
        yield list(sentence)


TABLES: Dict[str, Callable[[pa.Table], bytes]] = {"parquet": parquet_bytes, "jsonl": json_lines_bytes}
DOCS: Dict[str, Callable[[], Any]] = {
    "spacy": DocsFile,
    "conll": partial(LinesFile, conll_lines),
    "conllu": partial(LinesFile, conllu_lines),
}
STREAMS = ("jsonl", "conll", "conllu")  # whose parts can stand one behind the other
FORMATS = (*TABLES, *DOCS)


def table_of(
    ids: List[str], texts: Sequence[Any], columns: Dict[str, Any], outputs: Sequence[str], about: Any
) -> pa.Table:
    """Columns in the order of the schema."""
    schema = schema_of(outputs, pa.string(), about)
    given = {**columns, "id": pa.array(ids, pa.string()), "text": pa.array(texts, pa.string())}
    return pa.table([given[name] for name in schema.names], schema=schema)
