"""Pipelines of spaCy as systems: ours, and its own."""

from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable, List, Optional

import spacy
from spacy.tokens import Doc

from spacy_hoseq.recipes import recipe

from .corpora import KEY, Data, entity_folder
from .history import LOGGER, WATCH, History
from .system import Caller, Labelled, Reader, System, folder_name

TOLERANCE = 0.0005  # how much accuracy compaction may cost


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

    def caller(self, folder: Path) -> Optional[Caller]:
        caller: Caller = spacy.blank("en")
        return caller

    def version(self) -> str:
        return version("spacy")


class Pipeline:
    """A pipeline through `spacy train`; tags and chunks through `nlp.pipe` over Docs that are ready.

    config: a recipe of ours; with package = "spacy", a component that `spacy init config` configures, for efficiency.
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
        if self.package == "spacy":
            config = init_config(self.config, folder)
            changes.update({f"corpora.{part}.gold_preproc": True for part in ("train", "dev")})
        else:
            config = folder / "recipe.cfg"
            folder.mkdir(parents=True, exist_ok=True)
            config.write_text(recipe(self.config), encoding="utf8")
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

    def caller(self, folder: Path) -> Optional[Caller]:
        return spacy.load(folder / "model-best")

    def version(self) -> str:
        return version(self.package)


class Compacted(Pipeline):
    """The model of another system after `python -m spacy hoseq compact`, which it is trained for first."""

    def __init__(self, name: str, make: Callable[[], System]) -> None:
        super().__init__("")
        self.name, self.make = name, make

    def train(self, data: Data, folder: Path) -> History:
        from spacy_hoseq.compaction.pipeline import compact_pipeline, dev_examples, save_compact

        whole = folder.parent / folder_name(self.name)
        history = [] if (whole / "model-best").exists() else self.make().train(data, whole)
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
