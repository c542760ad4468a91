"""A pipeline that travels as its files, and is loaded once in each process."""

import atexit
import gc
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Callable, Collection, Dict, Iterator, List, Optional, Sequence, Union

import numpy as np
import srsly
from spacy.attrs import IDX, LENGTH
from spacy.language import Language
from spacy.tokens import Doc

from ..arrays import Floats32
from ..components.base import SequenceComponent
from ..errors import Errors
from ..pipelines import found_at, load_from, run_code
from ..pipelines.loading import folder_of
from .columns import Annotated

# after which a process forgets the words that it has met since (`nlp.memory_zone`)
ZONE_TOKENS = 1_000_000


class Loaded:
    """A pipeline of this process. One thread at a time may use it. with_probabilities (bool): of
    the labels of tokens, too."""

    def __init__(self, nlp: Language, with_probabilities: bool = False) -> None:
        self.nlp = nlp
        self.lock = RLock()
        self.tagger = _tagger_of(nlp) if with_probabilities else None
        self._zone = ExitStack()
        self._room = ZONE_TOKENS
        atexit.register(self._zone.close)  # before the modules are gone that it needs
        if self.tagger is not None:
            self.tagger.keep_probabilities()

    def probable(self, outputs: Collection[str]) -> List[str]:
        """Names of the components whose probabilities are among these outputs."""
        ours = [pipe for _, pipe in self.nlp.pipeline if isinstance(pipe, SequenceComponent)]
        of_spans = [pipe.name for pipe in ours if pipe.target.of_spans and "spans" in outputs]
        return of_spans if self.tagger is None else [self.tagger.name, *of_spans]

    def annotated(self, rows: Sequence[Union[str, Doc]]) -> Annotated:
        """What the pipeline finds, as `nlp.pipe` does.

        RAISES Exception: whatever a component raises; ValueError [HS175]: one has dropped a Doc.
        """
        names = self.nlp.pipe_names
        probabilities: List[Optional[Floats32]] = [None] * len(rows)
        if self.tagger is None or not rows:
            docs = self._through(rows, names)
        else:
            place = names.index(self.tagger.name)
            docs = self._through(rows, names[:place])
            reading = self.tagger.predict(docs)
            self.tagger.set_annotations(docs, reading)
            found = reading.of_tokens(reading.confidences().astype(np.float32), np.nan)
            places = [doc.to_array([IDX, LENGTH]) for doc in docs]
            docs = self._through(docs, names[place + 1 :])
            probabilities = list(map(_on_tokens, docs, places, found))
        return Annotated([*docs], [None] * len(docs), probabilities)

    def _through(self, rows: Sequence[Union[str, Doc]], names: Sequence[str]) -> List[Doc]:
        """The Docs behind these components."""
        others = [name for name in self.nlp.pipe_names if name not in names]
        docs = list(self.nlp.pipe(rows, batch_size=len(rows) or 1, disable=others))
        if len(docs) != len(rows):
            raise ValueError(Errors.HS175)
        return docs

    def remember(self, n_tokens: int) -> None:
        """The words of so many tokens more, or forget all: no Doc made before may be in use any
        more.

        The words of the first ZONE_TOKENS stay for good, those of later ones until there are as
        many again: within a zone the tokenizer of spaCy keeps nothing of a word, which makes it
        three times as slow for new ones.
        """
        self._room -= n_tokens
        if self._room <= 0:
            self._zone.close()
            self._zone.enter_context(self.nlp.memory_zone())
            self._room = ZONE_TOKENS


def _on_tokens(doc: Doc, places: Any, found: Floats32) -> Floats32:
    """Probabilities of tokens that are still there; NaN for those that were merged or split."""
    now = doc.to_array([IDX, LENGTH])
    if np.array_equal(now, places):
        return found
    by_place = dict(zip(map(tuple, places.tolist()), found.tolist(), strict=True))
    return np.array([by_place.get(tuple(place), np.nan) for place in now.tolist()], np.float32)


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


@contextmanager
def without_gc() -> Iterator[None]:
    """No search for cycles while a batch runs: it would look at all its tokens again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_LOADED: Dict[str, Loaded] = {}  # of this process, by what tells them apart
_LOADING = RLock()


def once(key: str, load: Callable[[], Loaded]) -> Loaded:
    """What was loaded under this name in this process, or is now."""
    with _LOADING:
        if key not in _LOADED:
            _LOADED[key] = load()
        return _LOADED[key]


def files_of(name: str) -> Dict[str, bytes]:
    """The files of a pipeline: of a folder, a package, or "en", "zh", "af", "cy". RAISES ValueError
    [HS130]: there is none."""
    try:
        folder = folder_of(found_at(name))
        paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*"))}
        files = {path: full.read_bytes() for path, full in paths.items() if full.is_file()}
        data = {path.as_posix(): files[path] for path in files if "__pycache__" not in path.parts}
        srsly.json_loads(data["meta.json"])
    except (KeyError, OSError, ValueError) as error:
        known = f"directories, packages, en, zh, af, cy ({error})"
        raise ValueError(Errors.HS130.format(name=name, known=known)) from error
    return data


def load_pipeline(
    name: str, files: Dict[str, bytes], exclude: Sequence[str], code: Optional[str]
) -> Language:
    """name (str): for messages. code (str): a Python file that the pipeline needs."""
    run_code(code)
    with tempfile.TemporaryDirectory() as folder:
        for file, data in files.items():
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        try:
            return load_from(folder, exclude=exclude)
        except ValueError as error:
            raise ValueError(str(error).replace(folder, name)) from error
