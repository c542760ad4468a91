"""A pipeline that travels as its files, and is loaded once in each process."""

import atexit
import gc
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock

import srsly
from spacy.language import Language
from spacy.tokens import Doc

from ..components.base import SequenceComponent
from ..errors import Errors
from ..pipelines.loading import folder_of, load_from, run_code

TOKENS_PER_ZONE = 1_000_000  # after which a process forgets new words (`nlp.memory_zone`)
Text = str | bytes | None  # bytes: a Doc, as `doc.to_bytes()`; None: there is no text


class LoadedPipeline:
    """A pipeline of this process. with_probabilities (bool): Docs have those of the labels of
    `tagger`, which is None without."""

    def __init__(self, nlp: Language, with_probabilities: bool = False) -> None:
        self.nlp = nlp
        self.tagger: SequenceComponent | None = None
        self._zone = ExitStack()
        self._tokens_left = TOKENS_PER_ZONE
        # a zone needs modules that are gone when it is collected at the end of the process
        atexit.register(self._zone.close)
        if with_probabilities:
            self.tagger = _best_tagger(nlp)
        if self.tagger is not None:
            self.tagger.keep_confidences()

    def probable(self, outputs: Collection[str]) -> list[str]:
        """Names of the components whose probabilities are among these outputs."""
        names = []
        if self.tagger is not None:
            names.append(self.tagger.name)
        for pipe in _our_components(self.nlp):
            if pipe.target.labels_spans and "spans" in outputs:
                names.append(pipe.name)
        return names

    def docs(self, texts: Sequence[Text]) -> list[Doc | None]:
        """Docs from `nlp.pipe`; None where there is no text. RAISES Exception: whatever a
        component raises; ValueError [HS175]: one has dropped a Doc."""
        inputs: list[str | Doc] = []
        for text in texts:
            if isinstance(text, bytes):
                inputs.append(Doc(self.nlp.vocab).from_bytes(text))
            elif text is not None:
                inputs.append(text)
        docs = list(self.nlp.pipe(inputs, batch_size=len(inputs) or 1))
        if len(docs) != len(inputs):
            raise ValueError(Errors.HS175)
        remaining = iter(docs)
        return [None if text is None else next(remaining) for text in texts]

    def count(self, n_tokens: int) -> None:
        """Count tokens of Docs that are no longer in use. After every TOKENS_PER_ZONE, all words
        of the zone are forgotten.

        The words of the first TOKENS_PER_ZONE stay for good: within a zone, spaCy's tokenizer has
        no cache, which makes it three times as slow for new words.
        """
        self._tokens_left -= n_tokens
        if self._tokens_left <= 0:
            self._zone.close()
            self._zone.enter_context(self.nlp.memory_zone())
            self._tokens_left = TOKENS_PER_ZONE


class PipelineCache:
    """The pipelines of this process. The key is what an annotator is recognised by, its
    fingerprint; there is no bound. A process that was forked while another thread used a pipeline
    forgets all.

    lock: held by the one thread that uses a pipeline.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._pipelines: dict[str, LoadedPipeline] = {}
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._after_fork)

    def get(self, key: str, load: Callable[[], LoadedPipeline]) -> LoadedPipeline:
        """The pipeline with this key, loaded if it is new."""
        with self.lock:
            if key not in self._pipelines:
                self._pipelines[key] = load()
            return self._pipelines[key]

    def _after_fork(self) -> None:
        if self.lock.acquire(blocking=False):
            self.lock.release()
            return
        # The thread that holds the lock is not in this process, so it would never release it, and
        # its pipeline may be in the middle of a text.
        self.lock = RLock()
        self._pipelines.clear()
        gc.enable()  # it had disabled that


def _best_tagger(nlp: Language) -> SequenceComponent | None:
    """The last component that has probabilities of the tags; if there is none, of the parts of
    speech; if there is none, of any other labels of tokens."""

    def rank(pipe: SequenceComponent) -> list[bool]:
        target = pipe.target
        return ["tag" in target.places, "pos" in target.places, not target.finds_sentences]

    best = None
    for pipe in _our_components(nlp):
        if pipe.knows != "labels" and not pipe.target.labels_spans:
            if best is None or rank(pipe) >= rank(best):  # of two alike, the later one writes last
                best = pipe
    return best


def _our_components(nlp: Language) -> list[SequenceComponent]:
    return [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]


def files_of(name: str) -> dict[str, bytes]:
    """The files of a pipeline: of a folder, a package, or "en", "zh", "af", "cy". RAISES ValueError
    [HS130]: there is none."""
    files = {}
    try:
        folder = folder_of(name)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                files[path.relative_to(folder).as_posix()] = path.read_bytes()
        srsly.json_loads(files["meta.json"])
    except (KeyError, OSError, ValueError) as error:
        known = f"directories, packages, en, zh, af, cy ({error})"
        raise ValueError(Errors.HS130.format(name=name, known=known)) from error
    return files


def load_pipeline(
    name: str, files: dict[str, bytes], exclude: Sequence[str], code: str | Path | None
) -> Language:
    """Load a pipeline from its files. name (str): for messages. code: a Python file that the
    pipeline needs."""
    run_code(code)
    with TemporaryDirectory() as folder:
        for file, data in files.items():
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        try:
            return load_from(folder, exclude=exclude)
        except ValueError as error:
            raise ValueError(str(error).replace(folder, name)) from error
