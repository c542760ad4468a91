"""The systems that are compared. Each trains on the same files and labels the same sentences.

`tag` is what is timed: from what `prepare` gives to labels that can be read. `benchmarks.worker` runs one of them in a
process of its own.
"""

import shutil
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Protocol, Set

import spacy
from spacy.tokens import Doc

from .corpora import KEY, Chunk, Data, entity_folder
from .history import LOGGER, WATCH, History

TOLERANCE = 0.0005  # how much accuracy compaction may cost


class Labelled(NamedTuple):
    """What a system says of the sentences; None = it does not say that."""

    n_tokens: int
    tags: Optional[List[List[str]]] = None
    chunks: Optional[List[Set[Chunk]]] = None


Reader = Callable[[List[str]], Iterable[Doc]]


class System(Protocol):
    """folder: one that belongs to the system. The model is all that `model` names: a file or a folder. `reader`: from
    raw texts to labelled Docs, loaded anew, so that it has seen no word; None if the system reads no text.
    """

    def train(self, data: Data, folder: Path) -> History: ...

    def model(self, folder: Path) -> Optional[Path]: ...

    def load(self, folder: Path) -> None: ...

    def prepare(self, words: List[List[str]]) -> Any: ...

    def tag(self, prepared: Any) -> Any: ...

    def read(self, result: Any) -> Labelled: ...

    def reader(self, folder: Path) -> Optional[Reader]: ...

    def version(self) -> str: ...


class Tokenizer:
    """spaCy's rules for English, on the text of the same words with a space between all of them."""

    def train(self, data: Data, folder: Path) -> History:
        return []

    def model(self, folder: Path) -> Optional[Path]:
        return None

    def load(self, folder: Path) -> None:
        self.nlp = spacy.blank("en")

    def prepare(self, words: List[List[str]]) -> Any:
        return [" ".join(sentence) for sentence in words]

    def tag(self, prepared: Any) -> Any:
        return sum(map(len, self.nlp.tokenizer.pipe(prepared)))

    def read(self, result: Any) -> Labelled:
        return Labelled(result)

    def reader(self, folder: Path) -> Optional[Reader]:
        reader: Reader = spacy.blank("en").tokenizer.pipe
        return reader

    def version(self) -> str:
        return version("spacy")


class Pipeline:
    """A pipeline through `spacy train`; tags and chunks through `nlp.pipe` over Docs that are ready.

    config: a file of configs/, or a component whose configuration `spacy init config` writes, for efficiency.
    chunks: the attribute with the chunks, if it finds some: "spans" or "ents". package: whose version counts.
    """

    def __init__(
        self, config: str, *, chunks: str = "", tags: bool = True, package: str = "spacy-hoseq", **changes: Any
    ) -> None:
        self.config, self.chunks, self.tags, self.package, self.changes = config, chunks, tags, package, changes

    def train(self, data: Data, folder: Path) -> History:
        from spacy.cli.train import train

        corpus = data.chunks if self.chunks else data.tags
        if self.chunks == "ents":
            corpus = entity_folder(data.chunks, folder / "corpus")
        changes = {key.replace("__", "."): value for key, value in self.changes.items()}
        changes.update({f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")})
        changes["training.logger.@loggers"] = LOGGER
        config = Path("configs") / self.config
        if not self.config.endswith(".cfg"):
            config = init_config(self.config, folder)
            changes.update({f"corpora.{part}.gold_preproc": True for part in ("train", "dev")})
        train(config, folder, overrides=changes)
        return WATCH.history

    def model(self, folder: Path) -> Optional[Path]:
        return folder / "model-best"

    def load(self, folder: Path) -> None:
        self.nlp = spacy.load(folder / "model-best")

    def prepare(self, words: List[List[str]]) -> Any:
        return [Doc(self.nlp.vocab, words=sentence) for sentence in words]

    def tag(self, prepared: Any) -> Any:
        for _ in self.nlp.pipe(prepared):
            pass
        return prepared

    def read(self, result: Any) -> Labelled:
        tags = [[token.tag_ for token in doc] for doc in result] if self.tags else None
        chunks = None
        if self.chunks:
            spans = [doc.ents if self.chunks == "ents" else doc.spans[KEY] for doc in result]
            chunks = [{(span.start, span.end, span.label_) for span in some} for some in spans]
        return Labelled(sum(map(len, result)), tags, chunks)

    def reader(self, folder: Path) -> Optional[Reader]:
        return spacy.load(folder / "model-best").pipe

    def version(self) -> str:
        return version(self.package)


class Compacted(Pipeline):
    """The model of another system after `python -m spacy hoseq compact`, which it is trained for first."""

    def __init__(self, of: str) -> None:
        super().__init__("")
        self.of = of

    def train(self, data: Data, folder: Path) -> History:
        from spacy_hoseq.compaction.search import compact_pipeline, dev_examples, save_compact

        whole, system = folder.parent / folder_name(self.of), SYSTEMS[self.of].make()
        history = [] if (whole / "model-best").exists() else system.train(data, whole)
        nlp = spacy.load(whole / "model-best")
        compact_pipeline(nlp, dev_examples(nlp, data.tags / "dev.spacy"), TOLERANCE)
        save_compact(nlp, folder / "model-best")
        return history


def init_config(component: str, folder: Path) -> Path:
    from spacy.cli.init_config import init_config

    path = folder / "config.cfg"
    folder.mkdir(parents=True, exist_ok=True)
    init_config(lang="en", pipeline=[component], optimize="efficiency", silent=True).to_disk(path)
    return path


def folder_name(system: str) -> str:
    return system.replace(" ", "_").replace("+", "and").replace(",", "")


class Entry(NamedTuple):
    """needs: the package without which the system is left out; program: the same for a program on the PATH."""

    make: Callable[[], System]
    needs: str = ""
    program: str = ""

    @property
    def missing(self) -> str:
        """What must be installed first; "" if nothing."""
        if self.program and shutil.which(self.program) is None:
            return self.program
        return self.needs if self.needs and find_spec(self.needs) is None else ""


def crfsuite(algorithm: str) -> System:
    from .peers import Crfsuite

    return Crfsuite(algorithm)


def nltk() -> System:
    from .peers import Nltk

    return Nltk()


def wapiti() -> System:
    from .peers import Wapiti

    return Wapiti()


ORDER = "components__hoseq_bidirectional_tagger__model__order"
TOKENIZER, FIRST, HIGHER, JOINT = "spaCy tokenizer", "hoseq first order", "hoseq higher order", "hoseq tagger + chunker"
EASIEST, COMPACTED = "hoseq easiest first, order 1", "hoseq first order, compacted"
CRFSUITE, CRFSUITE_LBFGS = "crfsuite perceptron", "crfsuite L-BFGS"
CNN, NER, PERCEPTRON, WAPITI = "spaCy CNN tagger", "spaCy CNN ner", "NLTK perceptron", "Wapiti"

SYSTEMS: Dict[str, Entry] = {
    TOKENIZER: Entry(Tokenizer),
    FIRST: Entry(partial(Pipeline, "tagger.cfg")),
    COMPACTED: Entry(partial(Compacted, FIRST)),
    HIGHER: Entry(partial(Pipeline, "tagger_ho.cfg")),
    EASIEST: Entry(partial(Pipeline, "bidirectional.cfg", **{ORDER: 1})),
    JOINT: Entry(partial(Pipeline, "pipeline_joint.cfg", chunks="spans")),
    CRFSUITE: Entry(partial(crfsuite, "ap"), needs="pycrfsuite"),
    CRFSUITE_LBFGS: Entry(partial(crfsuite, "lbfgs"), needs="pycrfsuite"),
    CNN: Entry(partial(Pipeline, "tagger", package="spacy")),
    NER: Entry(partial(Pipeline, "ner", chunks="ents", tags=False, package="spacy")),
    PERCEPTRON: Entry(nltk, needs="nltk"),
    WAPITI: Entry(wapiti, program="wapiti"),
}
