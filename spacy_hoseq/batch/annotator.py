"""A pipeline as a map from Arrow batches to Arrow batches.

It can be pickled, so every engine that moves Arrow can run it: the files of the pipeline travel with
it, and each process loads them once. What comes out does not depend on how rows were cut into
batches.
"""

import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import (
    Any,
    NamedTuple,
)

import numpy as np
import pyarrow as pa
import spacy
import srsly

from .. import __version__
from ..errors import Errors
from .columns import ROW_FIELDS, TOKEN_FIELDS, Docs, row_columns, token_columns
from .pipeline import Given, Loaded, files_of, load_pipeline

OF_TEXTS = ("word", "tag", "pos", "sentences", "spans")
OF_TOKENS = ("word", "lemma", "tag", "pos", "prob", "sentences", "spans")
KEY = b"spacy_hoseq"  # of the metadata
CHARACTERS = 500_000  # of the texts that go through the pipeline at a time: some 100,000 tokens
ROW = 50  # characters that a row counts for beside its text
STRINGS = (pa.string(), pa.large_string(), pa.string_view())
Make = Callable[[Docs, slice], Any]

_LOADED: dict[str, Loaded] = {}  # of this process, by fingerprint
_LOCK = RLock()  # one thread at a time


def _after_fork() -> None:
    """In a new process: if another thread of the parent was annotating, it does not exist here, so
    its lock is never released, and its pipelines may be in the middle of a text: both are new."""
    global _LOCK
    if _LOCK.acquire(blocking=False):
        _LOCK.release()
    else:
        _LOCK = RLock()
        _LOADED.clear()
        gc.enable()  # which the other thread had disabled


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


class Annotator:
    """Annotates a column of texts. Needs pyarrow (`pip install "spacy-hoseq[arrow]"`).

        annotate = Annotator("en")
        annotate(pa.table({"id": [1], "text": ["They tag it."]}))

    pipeline: directory or package of any pipeline of spaCy, or "en", "zh", "af", "cy".
    text, id (str): columns of what comes in; id = None: there is none. outputs: of what comes out,
        beside `id` and `error`: "text", "sentences", "spans", and fields of tokens beside `start`
        and `end`: "word", "norm", "tag", "pos", "morph", "lemma", "dep", "head", and "prob", how
        probable the tag of a token is, which takes the pipeline longer than the tag. None:
        OF_TEXTS, or with `flat` OF_TOKENS, where "prob" is null if no component knows it.
    flat (bool): a row for each token, not for each text: `columns.token_columns`.
    exclude: components not to load. max_length (int): `nlp.max_length`. code: a Python file that
        the pipeline needs.

    fingerprint (str): of pipeline, settings and versions; what has the same fingerprint gives the
        same columns. about: model, version and fingerprint, in the metadata of the schema.
    RAISES ValueError [HS130]: no such pipeline; [HS161]: no such output. When it is first called
        [HS183]: no component has probabilities of tokens.
    """

    def __init__(
        self,
        pipeline: str | Path,
        text: str = "text",
        id: str | None = "id",
        outputs: Sequence[str] | None = None,
        *,
        flat: bool = False,
        exclude: Iterable[str] = (),
        max_length: int | None = None,
        code: str | Path | None = None,
    ) -> None:
        known = (*TOKEN_FIELDS, *ROW_FIELDS)
        self.outputs = tuple(outputs or (OF_TOKENS if flat else OF_TEXTS))
        for name in self.outputs:
            if name not in known:
                raise ValueError(Errors.HS161.format(name=name, known=", ".join(known)))
        self.text = text
        self.id = id
        self.flat = flat
        self.pipeline = str(pipeline)
        self._needs_prob = "prob" in (outputs or ())
        self._exclude = sorted(exclude)
        self._max_length = max_length
        self._code = code
        self._files = files_of(self.pipeline)
        meta = srsly.json_loads(self._files["meta.json"])
        versions = {"spacy": spacy.__version__, "spacy_hoseq": __version__}
        settings = [text, id, self.outputs, flat, self._exclude, max_length, versions]
        read = {**self._files, "code": Path(code).read_bytes() if code else b""}
        digests = {name: sha256(data).hexdigest() for name, data in read.items()}
        self.fingerprint = sha256(json.dumps([settings, digests]).encode()).hexdigest()[:32]
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
        texts = self._column(data, self.text)
        if not is_text(texts.type):
            problem = f"has the type {texts.type}, not string"
            raise ValueError(Errors.HS162.format(name=self.text, problem=problem))
        ids = None if self.id is None else self._column(data, self.id)
        table = self.table(texts.cast(pa.string()).to_pylist(), ids).made
        if isinstance(data, pa.Table):
            return table
        columns = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)

    def stream(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batch by batch, as `mapInArrow` of Spark asks for it."""
        return map(self, batches)

    @property
    def schema(self) -> pa.Schema:
        """The schema of what comes out, if ids are strings; ids keep the type that they came
        with."""
        ids = None if self.id is None else pa.array([], pa.string())
        return self._finished([self._columns([], ids, [], slice(0))], []).schema

    @property
    def loaded(self) -> Loaded:
        """The pipeline, which is loaded once in each process."""
        with _LOCK:
            if self.fingerprint not in _LOADED:
                _LOADED[self.fingerprint] = self._load()
            return _LOADED[self.fingerprint]

    def table(self, given: Sequence[Given], ids: Any) -> "Annotated":
        """ids: a column, None without."""
        done = self.annotate(given, partial(self._columns, given, ids))
        return done._replace(made=self._finished(done.made, done.errors))

    def annotate(self, given: Sequence[Given], make: Make) -> "Annotated":
        """make: what is made of the Docs of some rows; if it fails, these rows have failed. RETURNS
        a list of what was made."""
        loaded = self.loaded
        pieces: list[Annotated] = []
        with _LOCK:
            for here in _pieces(given):
                was_enabled = gc.isenabled()
                gc.disable()  # it would look at all tokens of the batch again and again
                try:
                    some = _annotated(loaded, given, here, make)
                finally:
                    if was_enabled:
                        gc.enable()
                loaded.remember(sum(piece.n_tokens for piece in some))
                pieces += some
        made, errors, n_tokens = zip(*pieces, strict=True)
        return Annotated([*chain(*made)], [*chain(*errors)], sum(n_tokens))

    def _columns(self, given: Sequence[Given], ids: Any, docs: Docs, here: slice) -> pa.Table:
        """The columns of some of the rows that were given."""
        columns = {} if ids is None else {"id": ids[here]}
        if self.flat:
            of_tokens, of_row = token_columns(docs, self.outputs)
            columns = {name: column.take(pa.array(of_row)) for name, column in columns.items()}
            return pa.table({**columns, **of_tokens})
        if "text" in self.outputs:
            pairs = zip(given[here], docs, strict=True)
            texts = [
                row if isinstance(row, str) else getattr(doc, "text", None) for row, doc in pairs
            ]
            columns["text"] = pa.array(texts, pa.string())
        return pa.table({**columns, **row_columns(docs, self.outputs)})

    def _finished(self, tables: list[pa.Table], errors: Sequence[str | None]) -> pa.Table:
        table = pa.concat_tables(tables)
        if not self.flat:
            table = table.append_column("error", pa.array(errors, pa.string()))
        about = json.dumps(self.about, sort_keys=True, ensure_ascii=False)
        return table.replace_schema_metadata({KEY: about.encode("utf8")})

    def _load(self) -> Loaded:
        nlp = load_pipeline(self.pipeline, self._files, self._exclude, self._code)
        nlp.max_length = self._max_length or nlp.max_length
        loaded = Loaded(nlp, "prob" in self.outputs)
        if loaded.tagger is None and self._needs_prob:
            raise ValueError(Errors.HS183.format(components=", ".join(nlp.pipe_names) or "none"))
        return loaded

    def _column(self, data: Any, name: str) -> Any:
        index: int = data.schema.get_field_index(name)
        if index < 0:
            problem = f"is not among the columns {', '.join(data.schema.names)}, or is there twice"
            raise ValueError(Errors.HS162.format(name=name, problem=problem))
        return data.column(index)


class Annotated(NamedTuple):
    """Rows that are done. errors: why a row failed, else None."""

    made: Any
    errors: list[str | None]
    n_tokens: int


def is_text(kind: pa.DataType) -> bool:
    """True if a column of this type holds texts."""
    return (kind.value_type if pa.types.is_dictionary(kind) else kind) in STRINGS


def _annotated(loaded: Loaded, given: Sequence[Given], here: slice, make: Make) -> list[Annotated]:
    """What is made of some rows: of all at once, or if that fails of each half, down to the rows
    that fail."""
    rows = given[here]
    try:
        docs = loaded.docs(rows)
        errors = [Errors.HS164 if row is None else None for row in rows]
        return [Annotated([make(docs, here)], errors, sum(len(doc or ()) for doc in docs))]
    except Exception as error:  # whatever a component of any package raises
        if len(rows) == 1:
            own = str(error).startswith("[HS")
            problem = str(error) if own else f"{type(error).__name__}: {error}"
            return [Annotated([make([None], here)], [problem], 0)]
    middle = here.start + len(rows) // 2
    halves = (slice(here.start, middle), slice(middle, here.stop))
    return [piece for half in halves for piece in _annotated(loaded, given, half, make)]


def _pieces(rows: Sequence[Given]) -> Iterator[slice]:
    """Slices of the rows with about so many characters each."""
    sizes = np.cumsum([ROW + len(row or "") for row in rows], dtype=np.int64)
    cuts = [0, *(np.flatnonzero(np.diff(sizes // CHARACTERS)) + 1).tolist(), len(rows)]
    return map(slice, cuts, cuts[1:])
