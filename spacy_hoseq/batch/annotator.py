"""A pipeline as a map from Arrow batches to Arrow batches.

It can be pickled, so every engine that moves Arrow can run it: the files of the pipeline travel with
it, and each process loads them once. What comes out does not depend on how rows were cut into
batches.
"""

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import (
    Any,
    Callable,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)

import pyarrow as pa
import spacy
import srsly
from spacy.tokens import Doc

from .. import __version__
from ..errors import Errors
from .columns import (
    ROW_FIELDS,
    TOKEN_FIELDS,
    Annotated,
    row_columns,
    token_columns,
)
from .pipeline import Loaded, files_of, load_pipeline, once, without_gc

DEFAULT = ("word", "tag", "pos", "sentences", "spans")
KEY = b"spacy_hoseq"  # of the metadata
CHARACTERS = 500_000  # of the texts that go through the pipeline at a time: some 100,000 tokens
ROW = 50  # characters that a row counts for beside its text
Given = Union[str, bytes, None]  # a text; a Doc as `doc.to_bytes()`; null
Make = Callable[[Annotated, slice], Any]


class Annotator:
    """Annotates a column of texts. Needs pyarrow (`pip install "spacy-hoseq[arrow]"`).

        annotate = Annotator("en")
        annotate(pa.table({"id": [1], "text": ["They tag it."]}))

    pipeline: directory or package of any pipeline of spaCy, or "en", "zh", "af", "cy".
    text, id (str): columns of what comes in; id = None: there is none. outputs: of what comes out,
        beside `id` and `error`: "text", "sentences", "spans", and fields of tokens beside `start`
        and `end`: "word", "norm", "tag", "pos", "morph", "lemma", "dep", "head", and "prob", how
        probable the tag of a token is, which takes the pipeline longer than the tag.
    flat (bool): a row for each token, not for each text: `columns.token_columns`.
    exclude: components not to load. max_length (int): `nlp.max_length`. code: a Python file that
        the pipeline needs.
    optional: outputs that are null where the pipeline has no such thing: "prob". Others are refused.

    fingerprint (str): of pipeline, settings and versions; what has the same fingerprint gives the
        same columns. about: model, version and fingerprint, in the metadata of the schema.
    RAISES ValueError [HS130]: no such pipeline; [HS161]: no such output. When it is first called
        [HS183]: no component has probabilities of tokens.
    """

    def __init__(
        self,
        pipeline: Union[str, Path],
        text: str = "text",
        id: Optional[str] = "id",
        outputs: Sequence[str] = DEFAULT,
        *,
        flat: bool = False,
        optional: Sequence[str] = (),
        exclude: Iterable[str] = (),
        max_length: Optional[int] = None,
        code: Union[str, Path, None] = None,
    ) -> None:
        known = (*TOKEN_FIELDS, *ROW_FIELDS)
        for name in outputs:
            if name not in known:
                raise ValueError(Errors.HS161.format(name=name, known=", ".join(known)))
        self.text = text
        self.id = id
        self.outputs = tuple(outputs)
        self.flat = flat
        self.optional = tuple(optional)
        self.exclude = tuple(sorted(exclude))
        self.max_length = max_length
        self._code = None if code is None else str(code)
        self.pipeline = str(pipeline)
        self._files = files_of(self.pipeline)
        meta = srsly.json_loads(self._files["meta.json"])
        versions = {"spacy": spacy.__version__, "spacy_hoseq": __version__}
        settings = [text, id, self.outputs, flat, self.exclude, max_length, versions]
        read = {**self._files, "code": Path(code).read_bytes() if code else b""}
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in read.items()}
        known_by = json.dumps([settings, digests]).encode()
        self.fingerprint = hashlib.sha256(known_by).hexdigest()[:32]
        self.about = {
            "model": f"{meta.get('lang', '')}_{meta.get('name', '')}",
            "version": meta.get("version", ""),
            "fingerprint": self.fingerprint,
            **versions,
        }

    def __call__(self, data: Any) -> Any:
        """Rows with what the pipeline finds, in the same order. A row that fails has `error`, and
        null elsewhere; with `flat`, it has no rows.

        data (RecordBatch or Table): at least the columns `text` and `id`. RETURNS: the same kind.
        RAISES ValueError [HS162]: a column is missing or of another type.
        """
        texts = data.column(self._index(data, self.text))
        kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
        if kind not in (pa.string(), pa.large_string(), pa.string_view()):
            problem = f"has the type {texts.type}, not string"
            raise ValueError(Errors.HS162.format(name=self.text, problem=problem))
        ids = None if self.id is None else data.column(self._index(data, self.id))
        texts = texts.cast(pa.string())

        def make(rows: Annotated, here: slice) -> pa.Table:
            return self.table(rows, None if ids is None else ids[here], texts[here])

        tables = [piece.made for piece in self.annotate(texts.to_pylist(), make)]
        schema = self.schema_of(None if ids is None else ids.type)
        table = pa.concat_tables(tables) if tables else schema.empty_table()
        if isinstance(data, pa.Table):
            return table
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=schema)

    def stream(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batch by batch, as `mapInArrow` of Spark asks for it."""
        return map(self, batches)

    @cached_property
    def schema(self) -> pa.Schema:
        """Of what comes out, if ids are strings; the column of ids has the type it came with."""
        return self.schema_of(None if self.id is None else pa.string())

    @property
    def loaded(self) -> Loaded:
        """The pipeline, which is loaded once in each process."""
        return once(self.fingerprint, self._load)

    def annotate(self, rows: Sequence[Given], make: Make) -> Iterator["Piece"]:
        """All rows in their order, in pieces of about so many characters. make: what is made of
        the Docs of some rows; if it fails, these rows have failed."""
        loaded = self.loaded
        with loaded.lock:
            for here in _pieces(rows):
                with without_gc():
                    pieces = _annotated(loaded, rows, here, make)
                yield from pieces
                loaded.remember(sum(piece.n_tokens for piece in pieces))

    def table(self, rows: Annotated, ids: Any, texts: Any) -> pa.Table:
        """What comes out for these rows. ids: None if there are none."""
        columns = {} if ids is None else {"id": ids}
        if self.flat:
            of_tokens, of_row = token_columns(rows, self.outputs)
            columns = {name: column.take(pa.array(of_row)) for name, column in columns.items()}
            columns |= of_tokens
        else:
            columns |= {"text": texts} if "text" in self.outputs else {}
            columns |= row_columns(rows, self.outputs)
        about = json.dumps(self.about, sort_keys=True, ensure_ascii=False)
        return pa.table(columns).replace_schema_metadata({KEY: about.encode("utf8")})

    def schema_of(self, id_type: Optional[pa.DataType]) -> pa.Schema:
        """id_type: of the column of ids, None without."""
        ids = None if id_type is None else pa.array([], id_type)
        return self.table(Annotated([], [], []), ids, pa.array([], pa.string())).schema

    def _load(self) -> Loaded:
        nlp = load_pipeline(self.pipeline, self._files, self.exclude, self._code)
        loaded = Loaded(nlp, "prob" in self.outputs)
        if loaded.tagger is None and "prob" in {*self.outputs} - {*self.optional}:
            raise ValueError(Errors.HS183.format(components=", ".join(nlp.pipe_names) or "none"))
        if self.max_length is not None:
            nlp.max_length = self.max_length
        return loaded

    def _index(self, data: Any, name: str) -> int:
        index: int = data.schema.get_field_index(name)
        if index < 0:
            problem = f"is not among the columns {', '.join(data.schema.names)}, or is there twice"
            raise ValueError(Errors.HS162.format(name=name, problem=problem))
        return index


class Piece(NamedTuple):
    """Rows that are done. errors: why a row failed, else None."""

    errors: List[Optional[str]]
    n_tokens: int
    made: Any


def _annotated(loaded: Loaded, rows: Sequence[Given], here: slice, make: Make) -> List[Piece]:
    """All at once; if that fails, each half, down to the rows that fail."""
    given = rows[here]
    try:
        result = _docs(loaded, given)
        return [_piece(result, here, make)]
    except Exception as error:  # whatever a component of any package raises
        if len(given) == 1:
            return [_piece(Annotated([None], [_problem(error, given[0])], [None]), here, make)]
    middle = here.start + len(given) // 2
    halves = (slice(here.start, middle), slice(middle, here.stop))
    return [piece for half in halves for piece in _annotated(loaded, rows, half, make)]


def _docs(loaded: Loaded, rows: Sequence[Given]) -> Annotated:
    vocab = loaded.nlp.vocab
    there = [Doc(vocab).from_bytes(row) if isinstance(row, bytes) else row for row in rows]
    result = loaded.annotated([row for row in there if row is not None])
    docs = iter(result.docs)
    probabilities = iter(result.probabilities)
    return Annotated(
        [None if row is None else next(docs) for row in rows],
        [Errors.HS164 if row is None else None for row in rows],
        [None if row is None else next(probabilities) for row in rows],
    )


def _piece(rows: Annotated, here: slice, make: Make) -> Piece:
    n_tokens = sum(len(doc) for doc in rows.docs if doc is not None)
    return Piece(rows.errors, n_tokens, make(rows, here))


def _problem(error: Exception, row: Given) -> str:
    """What a row says that a component failed on."""
    if isinstance(error, MemoryError):
        return Errors.HS176.format(length=len(row or ""))
    return str(error) if str(error).startswith("[HS") else f"{type(error).__name__}: {error}"


def _pieces(rows: Sequence[Given]) -> Iterator[slice]:
    first = 0
    size = 0
    for i, row in enumerate(rows):
        more = ROW + len(row or "")
        if size and size + more > CHARACTERS:
            yield slice(first, i)
            first = i
            size = 0
        size += more
    if size:
        yield slice(first, len(rows))
