"""A pipeline that travels: named by a path, a name or its bytes, and loaded once in each process
that needs it."""

import atexit
import hashlib
import io
import json
import tempfile
import zipfile
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from typing import Any, Callable, Collection, Dict, Iterator, List, Optional, Sequence, Union

import numpy as np
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_package_path, is_package, load_model_from_config
from thinc.api import Config

from ..arrays import Floats32
from ..components import SequenceComponent
from ..errors import Errors
from ..pipelines import found_at, load_found, load_from, run_code
from .columns import Annotated, Chunks

Source = Union[str, Path, bytes]
SPANS = "spans."  # how the place of a group of spans begins
# after which a process forgets the words that it has met since (`nlp.memory_zone`)
ZONE_TOKENS = 1_000_000
META = "meta.json"
CONFIG = "config.cfg"
PYTHON = "__pycache__"
PACKED = b"PK\x03\x04"  # how a zip begins


class Loaded:
    """A pipeline of this process. One thread at a time may use it. with_probabilities (bool): of
    the tags, too."""

    def __init__(self, nlp: Language, zone_tokens: int, with_probabilities: bool = False) -> None:
        self.nlp = nlp
        self.lock = RLock()
        self.tagger = _tagger_of(nlp) if with_probabilities else None
        self._chunker = _chunker_of(nlp)
        self._zone = ExitStack()
        self._zone_tokens = zone_tokens
        self._room = zone_tokens
        atexit.register(self._zone.close)  # before the modules are gone that it needs
        if self.tagger is not None and "save_marginals" in self.tagger.cfg:
            self.tagger.cfg["save_marginals"] = True  # so that `predict` asks for probabilities

    def probable(self, outputs: Collection[str]) -> List[str]:
        """Names of the components whose probabilities are among these outputs."""
        ours = [pipe for _, pipe in self.nlp.pipeline if isinstance(pipe, SequenceComponent)]
        of_spans = [pipe.name for pipe in ours if pipe.target.of_spans and "spans" in outputs]
        return of_spans if self.tagger is None else [self.tagger.name, *of_spans]

    def annotated(self, rows: Sequence[Union[str, Doc]], on_docs: bool) -> Annotated:
        """What the pipeline finds. on_docs (bool): all is to be on the Docs. Otherwise chunks of a
        chunker that is the last component are not: spans of spaCy are objects, and to make and read
        them takes as long as to find chunks.

        RAISES Exception: whatever a component raises; ValueError [HS175]: one has dropped a Doc.
        """
        names = list(self.nlp.pipe_names)
        chunker = None if on_docs else self._chunker
        if chunker is not None:
            names.pop()
        probabilities: List[Optional[Floats32]] = [None] * len(rows)
        if self.tagger is not None and self.tagger.name in names:
            place = names.index(self.tagger.name)
            docs = self._through(rows, names[:place])
            reading = self.tagger.predict(docs)
            self.tagger.set_annotations(docs, reading)
            probabilities = list(
                reading.of_tokens(reading.confidences().astype(np.float32), np.nan)
            )
            docs = self._through(docs, names[place + 1 :])
        else:
            docs = self._through(rows, names)
        return Annotated([*docs], [None] * len(docs), self._chunks(chunker, docs), probabilities)

    def _through(self, rows: Sequence[Union[str, Doc]], names: Sequence[str]) -> List[Doc]:
        """The Docs behind these components."""
        others = [name for name in self.nlp.pipe_names if name not in names]
        docs = list(self.nlp.pipe(rows, batch_size=len(rows) or 1, disable=others))
        if len(docs) != len(rows):
            raise ValueError(Errors.HS175)
        return docs

    def _chunks(
        self, chunker: Optional[SequenceComponent], docs: List[Doc]
    ) -> List[Optional[Chunks]]:
        """What the chunker finds, which is not written to the Docs unless they have chunks
        already."""
        if chunker is None or not docs:
            return [None] * len(docs)
        reading: Any = chunker.predict(docs)
        key = chunker.target.place.removeprefix(SPANS)
        if any(key in doc.spans for doc in docs):
            chunker.set_annotations(docs, reading)
            return [None] * len(docs)
        return [Chunks(key, chunks) for chunks in reading.chunks]

    def remember(self, n_tokens: int) -> None:
        """The words of so many tokens more, or forget all: no Doc made before may be in use any
        more.

        The words of the first `zone_tokens` stay for good, those of later ones until there are as
        many again: within a zone the tokenizer of spaCy keeps nothing of a word, which makes it
        three times as slow for new ones.
        """
        self._room -= n_tokens
        if self._room <= 0:
            self._zone.close()
            self._zone.enter_context(self.nlp.memory_zone())
            self._room = self._zone_tokens


def _tagger_of(nlp: Language) -> Optional[SequenceComponent]:
    """The component whose probabilities are those of the tags; if none writes tags, of the parts of
    speech; if none writes these, of any other labels of tokens."""
    ours = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    able = [pipe for pipe in ours if pipe.knows != "labels" and not pipe.target.of_spans]
    for place in ("tag", "pos"):
        fitting = [pipe for pipe in able if place in pipe.target.places]
        if fitting:
            return fitting[-1]
    others = [pipe for pipe in able if not pipe.target.finds_sentences] or able
    return others[-1] if others else None


def _chunker_of(nlp: Language) -> Optional[SequenceComponent]:
    """The last component, if it finds spans that are no entities."""
    last = nlp.pipeline[-1][1] if nlp.pipeline else None
    if not isinstance(last, SequenceComponent) or not last.target.of_spans:
        return None
    return None if "ents" in last.target.places else last


_LOADED: Dict[str, Loaded] = {}  # of this process, by what tells them apart
_LOADING = RLock()


def once(key: str, load: Callable[[], Loaded]) -> Loaded:
    """What was loaded under this name in this process, or is now."""
    with _LOADING:
        if key not in _LOADED:
            _LOADED[key] = load()
        return _LOADED[key]


def load_pipeline(source: Source, exclude: "tuple[str, ...]", code: Optional[str]) -> Language:
    """source: a folder, a package, "en", "zh", or what `nlp.to_bytes()` gives. RAISES ValueError
    [HS160]."""
    run_code(code)
    if not isinstance(source, bytes):
        return load_found(str(source), exclude=exclude)
    if source.startswith(PACKED):
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(io.BytesIO(source)) as files:
            files.extractall(folder)
            return load_from(Path(folder), exclude=exclude)
    config = Config().from_bytes(_entries(source)[CONFIG])
    return load_model_from_config(config, exclude=exclude, auto_fill=True).from_bytes(
        source, exclude=exclude
    )


def packed(source: Union[str, Path]) -> bytes:
    """The files of a pipeline. Not `nlp.to_bytes()`, with which some components of spaCy do not
    come back whole (an EntityRuler loses its phrases)."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as files:
        folder = _data_folder(source)
        for path in _files(folder):
            files.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
    return data.getvalue()


def digest_of(source: Source) -> str:
    """SHA-256 of all that the pipeline consists of: its bytes, or the names and bytes of its
    files."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()
    total = hashlib.sha256()
    for path in _files(_folder(source)):
        total.update(
            json.dumps([path.relative_to(_folder(source)).as_posix(), path.stat().st_size]).encode(
                "utf8"
            )
        )
        total.update(path.read_bytes())
    return total.hexdigest()


def meta_of(source: Source) -> Dict[str, Any]:
    """The pipeline's meta.json, without loading it. RAISES ValueError [HS160]: it has none."""
    if isinstance(source, bytes):
        return dict(srsly.json_loads(_entries(source)[META]))
    try:
        return dict(srsly.read_json(_folder(source) / META))
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(
            Errors.HS160.format(source=source, problem=f"{META} cannot be read ({error})")
        ) from error


def _entries(data: bytes) -> Dict[str, Any]:
    try:
        if data.startswith(PACKED):
            with zipfile.ZipFile(io.BytesIO(data)) as files:
                return {name: files.read(name) for name in (META, CONFIG)}
        entries = srsly.msgpack_loads(data)
        return {name: entries[name] for name in (META, CONFIG)}
    except Exception as error:  # msgpack has no base of its own
        raise ValueError(
            Errors.HS160.format(
                source="bytes",
                problem=f"{len(data)} bytes that `nlp.to_bytes()` did not make ({error!r})",
            )
        ) from error


def _folder(source: Union[str, Path]) -> Path:
    place = found_at(str(source))
    return get_package_path(str(place)) if is_package(str(place)) else Path(place)


def _data_folder(source: Union[str, Path]) -> Path:
    """Of a package, the folder within it that `spacy.load` reads."""
    folder = _folder(source)
    inner = sorted(path.parent for path in folder.glob(f"*/{CONFIG}"))
    return inner[0] if inner and not (folder / CONFIG).is_file() else folder


def _files(folder: Path) -> Iterator[Path]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return (path for path in files if PYTHON not in path.parts)
