"""A pipeline that travels as its files, and is loaded once in each process."""

import atexit
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import srsly
from spacy.language import Language
from spacy.tokens import Doc

from ..components.base import SequenceComponent
from ..errors import Errors
from ..pipelines.loading import folder_of, load_from, run_code

# after which a process forgets the words that it has met since (`nlp.memory_zone`)
ZONE_TOKENS = 1_000_000
Given = str | bytes | None  # a text; a Doc as `doc.to_bytes()`; null


class Loaded:
    """A pipeline of this process. with_probabilities (bool): keep those of the labels of tokens;
    `tagger` is the component that they are of, None without."""

    def __init__(self, nlp: Language, with_probabilities: bool = False) -> None:
        self.nlp = nlp
        self.tagger = _tagger_of(nlp) if with_probabilities else None
        self._zone = ExitStack()
        self._room = ZONE_TOKENS
        atexit.register(self._zone.close)  # before the modules are gone that it needs
        if self.tagger is not None:
            self.tagger.keep_confidences()

    def probable(self, outputs: Collection[str]) -> list[str]:
        """Names of the components whose probabilities are among these outputs."""
        ours = [pipe for _, pipe in self.nlp.pipeline if isinstance(pipe, SequenceComponent)]
        of_spans = [pipe for pipe in ours if pipe.target.labels_spans and "spans" in outputs]
        return [pipe.name for pipe in (self.tagger, *of_spans) if pipe is not None]

    def docs(self, rows: Sequence[Given]) -> list[Doc | None]:
        """Docs from `nlp.pipe`; None where there is no text. RAISES Exception: whatever a
        component raises; ValueError [HS175]: one has dropped a Doc."""
        vocab = self.nlp.vocab
        given = [Doc(vocab).from_bytes(row) if isinstance(row, bytes) else row for row in rows]
        there = [each for each in given if each is not None]
        found = list(self.nlp.pipe(there, batch_size=len(there) or 1))
        if len(found) != len(there):
            raise ValueError(Errors.HS175)
        docs = iter(found)
        return [None if row is None else next(docs) for row in rows]

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


def _tagger_of(nlp: Language) -> SequenceComponent | None:
    """The last component whose probabilities are those of the tags; if none writes tags, of the
    parts of speech; if none writes these, of any other labels of tokens."""
    ours = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    able = [pipe for pipe in ours if pipe.knows != "labels" and not pipe.target.labels_spans]

    def rank(pipe: SequenceComponent) -> list[bool]:
        target = pipe.target
        return ["tag" in target.places, "pos" in target.places, not target.finds_sentences]

    return max(reversed(able), key=rank, default=None)


def files_of(name: str) -> dict[str, bytes]:
    """The files of a pipeline: of a folder, a package, or "en", "zh", "af", "cy". RAISES ValueError
    [HS130]: there is none."""
    try:
        folder = folder_of(name)
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        parts = [path for path in paths if path.suffix != ".pyc"]
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in parts}
        srsly.json_loads(files["meta.json"])
    except (KeyError, OSError, ValueError) as error:
        known = f"directories, packages, en, zh, af, cy ({error})"
        raise ValueError(Errors.HS130.format(name=name, known=known)) from error
    return files


def load_pipeline(
    name: str, files: dict[str, bytes], exclude: Sequence[str], code: str | Path | None
) -> Language:
    """name (str): for messages. code: a Python file that the pipeline needs."""
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
