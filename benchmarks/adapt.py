"""Ways to adapt a pipeline to a few sentences, compared: F of names and accuracy of tags, on new and on old text.

    python -m benchmarks.adapt WORK CORPORA [--page docs/tasks/adapt.md] [--seeds 3]

Names: `en` to UNER English-EWT, which does not annotate MISC, and to WNUT 17 with its own six types, three of which the
pipeline does not have; old text: tweets of BTC without names of users. Tags: a tagger of 4,000 sentences of EWT, which
WORK gets, to conversations and to academic texts of GUM; old text: the development part of EWT.

A cell has the mean over seeds, on new / on old text. A seed draws the sentences that are learnt from; the text that is
measured on stays the same. Rehearsal: as many sentences of the old kind again, with the labels of the old pipeline.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Config

import spacy_hoseq
from spacy_hoseq.inspection.calibration import annotated_before
from spacy_hoseq.pipelines.adaptation.adaptation import Adapter, labels_in, renamed
from spacy_hoseq.pipelines.adaptation.comparison import evaluated
from spacy_hoseq.pipelines.recipes import recipe
from spacy_hoseq.pipelines.treebanks.training import train_recipe
from spacy_hoseq.readers.annotated import annotated_with

from .corpora import sentences
from .page import show, write_table


class Task(NamedTuple):
    """nlp: to adapt. new: to learn from, and to measure on. old, rehearsed: the same of the old kind."""

    nlp: Language
    component: str
    new: tuple[list[Doc], list[Doc]]
    old: list[Doc]
    rehearsed: list[Doc]
    labels: Mapping[str, str] = {}


class FromNothing(Adapter):
    """Components of the same settings, which have learnt nothing else."""

    def train(self, docs: Sequence[Doc], progress: Callable[[], object]) -> None:
        examples = [Example(annotated_with(doc, []), doc) for doc in docs]
        rng = np.random.default_rng(self._seed)
        for original in self.originals:
            config = dict(self._nlp.get_pipe_config(original.name))
            annotated = annotated_before(self._nlp, original.name, examples)
            pipe: Any = self._nlp.replace_pipe(original.name, config.pop("factory"), config=config)
            pipe.initialize(lambda some=annotated: some, nlp=self._nlp)
            for _ in range(10):
                order = rng.permutation(len(annotated)).tolist()
                for batch in minibatch([annotated[i] for i in order], 10):
                    pipe.update(batch, drop=0.1)
                    pipe.finish_update(None)


class Rehearsing(Adapter):
    """Sees a batch of the old kind of text, with the labels of the old pipeline, after each of the new."""

    rehearsed: Sequence[Example] = ()
    rng = np.random.default_rng(0)

    def update(self, pipe: Any, batch: Sequence[Example]) -> None:
        super().update(pipe, batch)
        (original,) = self.originals
        new = sorted({*pipe.labels} - {*self.labels_of(original)})
        if pipe.target.labels_spans and new:
            pipe.leave_open(new)
        some = self.rng.permutation(len(self.rehearsed))[: len(batch)].tolist()
        pipe.update([self.rehearsed[i] for i in some], drop=0.1)
        pipe.finish_update(None)
        pipe.labels_changed()


METHODS: dict[str, tuple[type[Adapter], float]] = {  # and how strongly weights are held
    "from nothing": (FromNothing, 0.0),
    "gone on": (Adapter, 0.0),
    "rehearsed": (Rehearsing, 0.0),
    "held": (Adapter, 3.0),
    "both": (Rehearsing, 3.0),
}


def main(work: Path, corpora: Path, page: Path | None = None, seeds: int = 3) -> None:
    rows = []
    for name, task in tasks(work, corpora).items():
        for n in (50, 200):
            cells = [f"{name}, {n}"]
            for scores in compare(task, n, seeds):
                new, old = 100 * np.mean(scores, axis=0)
                cells.append(f"{new:.1f} / {old:.1f}")
            rows.append(cells)
            print(*cells, sep="\t", flush=True)
    header = ["new text, sentences", "as it was", *METHODS]
    show(header, rows)
    if page:
        write_table(page, "adapt", header, rows)


def compare(task: Task, n: int, seeds: int) -> list[list[tuple[float, float]]]:
    """Scores on new and old text of each seed: as it was, and by each method."""
    pool, test = task.new
    old = [renamed(doc.copy(), task.labels) for doc in task.old]
    columns: list[list[tuple[float, float]]] = [[] for _ in range(len(METHODS) + 1)]
    for seed in range(seeds):
        drawn = np.random.default_rng(seed).permutation(len(pool))[:n]
        docs = [pool[i] for i in drawn.tolist()]
        original = task.nlp.get_pipe(task.component)
        for i, (kind, hold) in enumerate([(Adapter, 0.0), *METHODS.values()]):
            adapter = kind(task.nlp, docs, [task.component], task.labels, hold, seed)
            if isinstance(adapter, Rehearsing):
                again = adapter.predictions(task.rehearsed)
                examples = [Example(annotated_with(doc, []), doc) for doc in again]
                adapter.rehearsed = annotated_before(task.nlp, task.component, examples)
                adapter.rng = np.random.default_rng(seed)
            if i:
                adapter.train(docs, lambda: None)
            scores = [score_of(adapter, original, gold) for gold in (test, old)]
            columns[i].append((scores[0], scores[1]))
            put_back(task, original)
    return columns


def score_of(adapter: Adapter, original: Any, docs: list[Doc]) -> float:
    labels = labels_in(original, docs)
    return evaluated(docs, adapter.predictions(docs), original.target.place, labels).value


def put_back(task: Task, original: Any) -> None:
    """The component as it was."""
    config = dict(task.nlp.get_pipe_config(task.component))
    pipe: Any = task.nlp.replace_pipe(task.component, config.pop("factory"), config=config)
    pipe.from_bytes(original.to_bytes(exclude=["vocab"]), exclude=["vocab"])


def tasks(work: Path, corpora: Path) -> dict[str, Task]:
    """What is measured, by its name."""
    # names read tags, and nothing else
    others = ["hoseq_sentences", "hoseq_morphologizer", "hoseq_lemmatizer", "hoseq_chunker"]
    nlp = spacy_hoseq.load("en", exclude=others)
    ewt = shuffled(corpora / "uner_en_ewt" / "en_ewt-ud-dev.iob2.gz", nlp)
    wnut = shuffled(corpora / "wnut17" / "dev.conll.gz", nlp)
    btc = shuffled(corpora / "btc" / "dev.conll.gz", nlp)
    again = shuffled(corpora / "btc" / "train.conll.gz", nlp)[:200]
    old = [doc for doc in btc if "@" not in doc.text][:400]
    found = {
        "names, UNER": Task(nlp, "hoseq_entities", (ewt[:1000], ewt[1000:1600]), old, again),
        "names, WNUT": Task(
            nlp,
            "hoseq_entities",
            (wnut[:500], wnut[500:]),
            old,
            again,
            {"PER": "person", "LOC": "location", "ORG": "corporation"},
        ),
    }
    tagger = tagger_of(work, corpora)
    for genre in ("conversation", "academic"):
        docs = shuffled(genre_of(work, corpora, genre), tagger)
        ewt_dev = shuffled(corpora / "en_ewt" / "dev.conllu.gz", tagger)
        ewt_train = shuffled(corpora / "en_ewt" / "train.conllu.gz", tagger)[:200]
        found[f"tags, {genre}"] = Task(
            tagger, "hoseq_tagger", (docs[:300], docs[300:700]), ewt_dev[:400], ewt_train
        )
    return found


def shuffled(path: Path, nlp: Language) -> list[Doc]:
    """The sentences of a file, in any order: files have one kind of text after the other."""
    docs = [*sentences(path, "en", nlp.vocab)]
    return [docs[i] for i in np.random.default_rng(7).permutation(len(docs)).tolist()]


def genre_of(work: Path, corpora: Path, genre: str) -> Path:
    """The texts of one kind in GUM, training and development part."""
    path = work / f"{genre}.conllu"
    with path.open("w", encoding="utf8") as file:
        for part in ("train", "dev"):
            is_wanted = False
            for line in gzip.open(corpora / "en_gum" / f"{part}.conllu.gz", "rt", encoding="utf8"):
                if line.startswith("# newdoc id"):
                    is_wanted = f"_{genre}_" in line
                if is_wanted:
                    file.write(line)
    return path


def tagger_of(work: Path, corpora: Path) -> Language:
    """A tagger of some sentences of EWT, which is trained once."""
    for folder in ("corpus", "configs"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    blank = spacy.blank("en")
    for part, n in (("train", 4000), ("dev", 500)):
        path = work / "corpus" / f"{part}.spacy"
        if not path.exists():
            docs = shuffled(corpora / "en_ewt" / f"{part}.conllu.gz", blank)
            DocBin(docs=docs[-n:]).to_disk(path)
    config = Config().from_str(recipe("tagger", "en"), interpolate=False)
    config["training"]["max_epochs"] = 5
    config.to_disk(work / "configs" / "tagger.cfg")
    train_recipe(work, "tagger")
    return spacy.load(work / "training" / "tagger" / "model-best")


if __name__ == "__main__":
    typer.run(main)
