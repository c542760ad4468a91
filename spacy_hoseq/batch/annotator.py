"""A pipeline as a map from Arrow batches to Arrow batches.

It is small and can be pickled, so every engine that moves Arrow can run it: what travels is the
name of the pipeline, or its bytes; each process loads it once. What comes out does not depend on
how rows were cut into batches (tests/batch/test_annotator.py).
"""

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Union,
)

import pyarrow as pa
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .. import __version__
from ..errors import Errors
from .columns import Annotated, columns_of
from .pipeline import ZONE_TOKENS, Loaded, Source, digest_of, load_pipeline, meta_of, once, packed
from .schema import DEFAULT, check_outputs, schema_of

CHARACTERS = 500_000  # of the texts that go through the pipeline at a time: some 100,000 tokens
ROW = 50  # characters that a row counts for beside its text
Given = Union[str, Doc, None]


class Annotator:
    """Annotates a column of texts. Needs pyarrow (`pip install "spacy-hoseq[arrow]"`).

        annotate = Annotator("en")
        annotate(pa.table({"id": [1], "text": ["They tag it."]}))

    pipeline: directory or package of any pipeline of spaCy, "en" or "zh", or what `nlp.to_bytes()`
        gives.
    text, id (str): columns of what comes in; id = None: there is none. outputs: of what comes out,
        beside `id` and
    `error`: "text", "sentences", "spans", and fields of tokens beside `start` and `end`
    (schema.py). "prob", how probable the tag of a token is, takes the pipeline longer than the tag.
    offsets: "characters" or "bytes" (UTF-8).
    exclude: components not to load. max_length (int): `nlp.max_length`. code: a Python file that
        the pipeline needs.

    optional: outputs that are null where the pipeline has no such thing: "prob". Others are refused.
    fingerprint (str): of pipeline, settings and versions; what has the same fingerprint gives the
        same columns.
    RAISES ValueError [HS160]: no such pipeline; [HS161]: no such output. When it is first called
        [HS183]: no component has probabilities of tokens.
    """

    def __init__(
        self,
        pipeline: Union[Source, Path],
        text: str = "text",
        id: Optional[str] = "id",
        outputs: Sequence[str] = DEFAULT,
        *,
        optional: Collection[str] = (),
        offsets: str = "characters",
        exclude: Iterable[str] = (),
        max_length: Optional[int] = None,
        code: Union[str, Path, None] = None,
        characters: int = CHARACTERS,
        zone_tokens: int = ZONE_TOKENS,
    ) -> None:
        check_outputs(outputs, offsets)
        self.pipeline: Union[str, bytes] = (
            pipeline if isinstance(pipeline, bytes) else str(pipeline)
        )
        self.text = text
        self.id = id
        self.outputs = tuple(outputs)
        self.optional = tuple(optional)
        self.offsets = offsets
        self.exclude = tuple(sorted(exclude))
        self.max_length = max_length
        self.code = None if code is None else str(code)
        self._characters = characters
        self._zone_tokens = zone_tokens  # of speed and memory only
        self._meta = meta_of(self.pipeline)
        self.fingerprint = self._fingerprint(digest_of(self.pipeline))

    @property
    def about(self) -> Dict[str, Any]:
        """What the schema says of where the columns come from: model, its version and labels,
        fingerprint."""
        meta = self._meta
        return {
            "model": f"{meta.get('lang', '')}_{meta.get('name', '')}",
            "version": meta.get("version", ""),
            "fingerprint": self.fingerprint,
            "labels": {
                name: labels
                for name, labels in meta.get("labels", {}).items()
                if name not in self.exclude
            },
            "offsets": self.offsets,
            "spacy": spacy.__version__,
            "spacy_hoseq": __version__,
        }

    @property
    def loaded(self) -> Loaded:
        """The pipeline, which is loaded once in each process."""
        return once(self.fingerprint + str(self._zone_tokens), self._load)

    @cached_property
    def schema(self) -> pa.Schema:
        """Of what comes out, if ids are strings; the column of ids has the type it came with."""
        return schema_of(self.outputs, None if self.id is None else pa.string(), self.about)

    def __call__(self, data: Any) -> object:
        """Rows with what the pipeline finds, in the same order. A row that fails has `error`, and
        null elsewhere.

        data (RecordBatch or Table): at least the columns `text` and `id`. RETURNS: the same kind.
        RAISES ValueError [HS162]: a column is missing or of another type; [HS163]: this process has
        another pipeline.
        """
        texts = self._column(data, self.text)
        ids = None if self.id is None else data.column(self._index(data, self.id))
        if not _is_text(texts.type):
            raise ValueError(
                Errors.HS162.format(
                    name=self.text, problem=f"has the type {texts.type}, not string"
                )
            )
        strings = texts.cast(pa.string())
        columns = [self.columns(rows) for rows in self.annotate(lambda _: strings.to_pylist())]
        parts = [pa.table(part) for part in columns]
        schema = schema_of(self.outputs, None if ids is None else ids.type, self.about)
        whole = pa.concat_tables(parts) if parts else schema.empty_table()
        given = {"id": ids, "text": strings}
        table = pa.table(
            [whole[n] if n in whole.column_names else given[n] for n in schema.names], schema=schema
        )
        if isinstance(data, pa.Table):
            return table
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=schema)

    def stream(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batch by batch, as `mapInArrow` of Spark asks for it."""
        return map(self, batches)

    def annotate(
        self, rows: Callable[[Vocab], Iterable[Given]], *, on_docs: bool = False
    ) -> Iterator[Annotated]:
        """Docs of texts, or of Docs without annotation, in pieces of about so many characters.

        rows: given the vocabulary of the pipeline. on_docs: write to the Docs all that the pipeline
        finds; chunks, too, which are columns without. Docs are to be used before the next piece is
        asked for.
        """
        loaded = self.loaded
        with loaded.lock:
            for piece in _pieces(rows(loaded.nlp.vocab), self._characters):
                result = annotated(loaded, piece, on_docs=on_docs)
                yield result
                n_tokens = sum(len(doc) for doc in result.docs if doc is not None)
                del result, piece
                loaded.remember(n_tokens)

    def columns(self, rows: Annotated) -> Dict[str, pa.Array]:
        """tokens, sentences, spans and error of the rows, as far as they are asked for."""
        return columns_of(rows, self.outputs, self.offsets)

    def with_bytes(self) -> "Annotator":
        """The same, with the pipeline as bytes: for processes on machines that do not have its
        files."""
        copy: Annotator = object.__new__(Annotator)
        copy.__dict__.update(self.__dict__)
        if not isinstance(self.pipeline, bytes):
            copy.pipeline = packed(self.pipeline)
        return copy

    def _fingerprint(self, pipeline: str) -> str:
        code = (
            None if self.code is None else hashlib.sha256(Path(self.code).read_bytes()).hexdigest()
        )
        settings = [
            self.text,
            self.id,
            self.outputs,
            self.offsets,
            self.exclude,
            self.max_length,
            code,
        ]
        parts = [pipeline, settings, spacy.__version__, __version__]
        return hashlib.sha256(json.dumps(parts).encode("utf8")).hexdigest()[:32]

    def _load(self) -> Loaded:
        if (
            not isinstance(self.pipeline, bytes)
            and self._fingerprint(digest_of(self.pipeline)) != self.fingerprint
        ):
            raise ValueError(Errors.HS163.format(source=self.pipeline))
        nlp = load_pipeline(self.pipeline, self.exclude, self.code)
        loaded = Loaded(nlp, self._zone_tokens, "prob" in self.outputs)
        if loaded.tagger is None and "prob" in {*self.outputs} - {*self.optional}:
            raise ValueError(Errors.HS183.format(components=", ".join(nlp.pipe_names) or "none"))
        if self.max_length is not None:
            loaded.nlp.max_length = self.max_length
        return loaded

    def _column(self, data: Any, name: str) -> Any:
        return data.column(self._index(data, name))

    def _index(self, data: Any, name: str) -> int:
        index: int = data.schema.get_field_index(name)
        if index < 0:
            problem = f"is not among the columns {', '.join(data.schema.names)}, or is there twice"
            raise ValueError(Errors.HS162.format(name=name, problem=problem))
        return index


def annotated(loaded: Loaded, rows: List[Given], *, on_docs: bool) -> Annotated:
    """All at once, or if that fails, those that can be, one by one. on_docs: chunks are written to
    the Docs, too."""
    there = [row for row in rows if row is not None]
    try:
        result = loaded.annotated(there, on_docs)
    except Exception as error:  # whatever a component of any package raises
        if len(rows) == 1:
            return Annotated([None], [_problem(error, there)], [None], [None])
        parts = [annotated(loaded, [row], on_docs=on_docs) for row in rows]
        return Annotated(*(sum(lists, []) for lists in zip(*parts, strict=True)))
    places = iter(range(len(there)))
    at = [None if row is None else next(places) for row in rows]
    return Annotated(
        [None if i is None else result.docs[i] for i in at],
        [Errors.HS164 if i is None else None for i in at],
        [None if i is None else result.chunks[i] for i in at],
        [None if i is None else result.probabilities[i] for i in at],
    )


def _problem(error: Exception, there: List[Union[str, Doc]]) -> str:
    """What a row says that a component failed on. there: the row, unless it is null."""
    if isinstance(error, MemoryError) and there:
        return Errors.HS176.format(length=len(getattr(there[0], "text", there[0])))
    return f"{type(error).__name__}: {error}"


def _pieces(rows: Iterable[Given], characters: int) -> Iterator[List[Given]]:
    piece: List[Given] = []
    room = characters
    for row in rows:
        size = ROW + (0 if row is None else len(row.text if isinstance(row, Doc) else row))
        if piece and size > room:
            yield piece
            piece = []
            room = characters
        piece.append(row)
        room -= size
    if piece:
        yield piece


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )
