"""A pipeline as a map from Arrow batches to Arrow batches.

It can be pickled, so every engine that moves Arrow can run it: the files of the pipeline travel with
it, and each process loads them once. The result does not depend on how rows are cut into batches.
"""

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import spacy
import srsly
from spacy.tokens import Doc

from .. import __version__
from ..errors import Errors, unknown_name
from .columns import TOKEN_ATTRIBUTES, Docs, row_columns, token_columns
from .pipeline import LoadedPipeline, PipelineCache, Text, files_of, load_pipeline

MAX_CHARACTERS_PER_BATCH = 500_000  # of the texts in one `nlp.pipe`: about 100,000 tokens
CHARACTERS_PER_ROW = 50  # that a row costs beside its text
_PIPELINES = PipelineCache()
Convert = Callable[[Docs, slice], Any]


class Annotator:
    """Annotates a column of texts. Needs pyarrow (`pip install "spacy-hoseq[arrow]"`).

        annotate = Annotator("en")
        annotate(pa.table({"id": [1], "text": ["They tag it."]}))

    pipeline: directory or package of any pipeline of spaCy, or "en", "zh", "af", "cy".
    text, id (str): columns of the input; id = None: there is none. outputs: columns of the result
        beside `id` and `error`: "text", "sentences", "spans", and fields of tokens beside `start`
        and `end`: "word", "norm", "tag", "pos", "morph", "lemma", "dep", "head", and "prob", how
        probable the tag of a token is, which takes the pipeline longer than the tag. None: word,
        tag, pos, sentences, spans; with `flat`, lemma and prob, too, and "prob" is null if no
        component knows it.
    flat (bool): a row for each token, not for each text: `columns.token_columns`.
    exclude: components not to load. max_length (int): `nlp.max_length`. code: a Python file that
        the pipeline needs.

    fingerprint (str): of pipeline, settings and versions: annotators with the same fingerprint give
        the same columns. about: model, version and fingerprint, in the metadata of the schema.
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
        known = (*TOKEN_ATTRIBUTES, "head", "prob", "text", "sentences", "spans")
        if outputs:
            self.outputs = tuple(outputs)
        elif flat:
            self.outputs = ("word", "lemma", "tag", "pos", "prob", "sentences", "spans")
        else:
            self.outputs = ("word", "tag", "pos", "sentences", "spans")
        for name in self.outputs:
            if name not in known:
                raise unknown_name(name, known)
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
        # files go into the fingerprint by their content: a path says nothing about it
        files = {**self._files, "code": b""}
        if code:
            files["code"] = Path(code).read_bytes()
        digests = {name: sha256(data).hexdigest() for name, data in files.items()}
        self.fingerprint = sha256(json.dumps([settings, digests]).encode()).hexdigest()[:32]
        self.about = {
            "model": f"{meta.get('lang', '')}_{meta.get('name', '')}",
            "version": meta.get("version", ""),
            "fingerprint": self.fingerprint,
            **versions,
        }

    def __call__(self, data: Any) -> Any:
        """Annotate rows, in their order. A row that fails has `error`, and null elsewhere; with
        `flat`, it is left out.

        data (RecordBatch or Table): at least the columns `text` and `id`. RETURNS: the same kind.
        RAISES ValueError [HS162]: a column is missing or of another type.
        """
        texts = self._column(data, self.text)
        if not is_text(texts.type):
            problem = f"has the type {texts.type}, not string"
            raise ValueError(Errors.HS162.format(name=self.text, problem=problem))
        ids = None if self.id is None else self._column(data, self.id)
        table = self.table(texts.cast(pa.string()).to_pylist(), ids).result
        if isinstance(data, pa.Table):
            return table
        columns = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)

    def stream(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Annotate batch by batch, as `mapInArrow` of Spark calls it."""
        return map(self, batches)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result if ids are strings; ids of another type keep it."""
        ids = None if self.id is None else pa.array([], pa.string())
        return self._finished([self._columns([], ids, [], slice(0))], []).schema

    @property
    def loaded(self) -> LoadedPipeline:
        """The pipeline, which is loaded once in each process."""
        return _PIPELINES.get(self.fingerprint, self._load)

    def table(self, texts: Sequence[Text], ids: Any) -> "Annotated":
        """Annotate texts. ids: a column, None without. RETURNS a table as `result`."""
        annotated = self.annotate(texts, partial(self._columns, texts, ids))
        return annotated._replace(result=self._finished(annotated.result, annotated.errors))

    def annotate(self, texts: Sequence[Text], convert: Convert) -> "Annotated":
        """Annotate texts. convert: makes something of the Docs of a slice of the texts; if it fails,
        these texts have failed. RETURNS a list of what it made as `result`."""
        loaded = self.loaded
        parts: list[Annotated] = []
        with _PIPELINES.lock:
            for rows in _batches(texts):
                with _no_garbage_collection():
                    batch = _annotated(loaded, texts, rows, convert)
                loaded.count(sum(part.n_tokens for part in batch))
                parts += batch
        results, errors, n_tokens = zip(*parts, strict=True)
        return Annotated([*chain(*results)], [*chain(*errors)], sum(n_tokens))

    def _columns(self, texts: Sequence[Text], ids: Any, docs: Docs, rows: slice) -> pa.Table:
        """The columns of some of the texts."""
        columns = {}
        if ids is not None:
            columns["id"] = ids[rows]
        if self.flat:
            fields, row_numbers = token_columns(docs, self.outputs)
            if ids is not None:
                columns["id"] = ids[rows].take(pa.array(row_numbers))
            return pa.table({**columns, **fields})
        if "text" in self.outputs:
            strings = [_string(text, doc) for text, doc in zip(texts[rows], docs, strict=True)]
            columns["text"] = pa.array(strings, pa.string())
        return pa.table({**columns, **row_columns(docs, self.outputs)})

    def _finished(self, tables: list[pa.Table], errors: Sequence[str | None]) -> pa.Table:
        table = pa.concat_tables(tables)
        if not self.flat:  # a row that failed has no tokens, so it has no place in a flat table
            table = table.append_column("error", pa.array(errors, pa.string()))
        about = json.dumps(self.about, sort_keys=True, ensure_ascii=False)
        return table.replace_schema_metadata({b"spacy_hoseq": about.encode("utf8")})

    def _load(self) -> LoadedPipeline:
        nlp = load_pipeline(self.pipeline, self._files, self._exclude, self._code)
        nlp.max_length = self._max_length or nlp.max_length
        loaded = LoadedPipeline(nlp, "prob" in self.outputs)
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

    result: Any
    errors: list[str | None]
    n_tokens: int


def is_text(kind: pa.DataType) -> bool:
    """True if a column of this type holds texts."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _annotated(
    loaded: LoadedPipeline, texts: Sequence[Text], rows: slice, convert: Convert
) -> list[Annotated]:
    """Some rows: all at once, or if that fails each half, down to the rows that fail."""
    batch = texts[rows]
    try:
        docs = loaded.docs(batch)
        result = convert(docs, rows)
    except Exception as error:  # whatever a component of any package raises
        if len(batch) == 1:
            problem = str(error)
            if not problem.startswith("[HS"):
                problem = f"{type(error).__name__}: {error}"
            return [Annotated([convert([None], rows)], [problem], 0)]
    else:
        errors = [Errors.HS164 if text is None else None for text in batch]
        return [Annotated([result], errors, sum(len(doc or ()) for doc in docs))]
    # some of several rows fail: halve them, so that one bad row costs few repetitions
    middle = rows.start + len(batch) // 2
    first = _annotated(loaded, texts, slice(rows.start, middle), convert)
    return first + _annotated(loaded, texts, slice(middle, rows.stop), convert)


def _batches(texts: Sequence[Text]) -> Iterator[slice]:
    """Slices of the rows, each of about MAX_CHARACTERS_PER_BATCH."""
    sizes = np.cumsum([CHARACTERS_PER_ROW + len(text or "") for text in texts], dtype=np.int64)
    is_cut = np.diff(sizes // MAX_CHARACTERS_PER_BATCH) > 0
    bounds = [0, *(np.flatnonzero(is_cut) + 1).tolist(), len(texts)]
    for start, end in pairwise(bounds):
        yield slice(start, end)


def _string(text: Text, doc: Doc | None) -> str | None:
    if isinstance(text, str):
        return text
    return None if doc is None else doc.text


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The collector would look at all tokens of a batch again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
