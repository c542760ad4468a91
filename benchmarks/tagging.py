"""Taggers beside each other on CoNLL-2000: accuracy, speed, memory, size.

    python -m benchmarks.tagging METRICS --data CORPORA [--turns 3] [--plot FILE.svg]
        [--page docs/measurements/performance.md ...]

Each system learns from the same text in a process of its own, two at a time; half of the last tenth of train.txt
chooses the epoch, the other half is measured (test.txt, where it is there). Then, in turns, each labels it in new
processes: after one text, raw text with words that are new, and Docs that are ready. Processor time of one core;
medians of the turns; *time*: of raw text, over the tokenizer's. Models that are in METRICS/tagging are not trained
again.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import spacy
import srsly
import typer
from spacy.cli.init_config import init_config
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.pipelines.compaction.pipeline import compact_pipeline, save_compact
from spacy_hoseq.readers.annotated import dev_examples
from spacy_hoseq.recipes import recipe
from spacy_hoseq.reporting.scores import counts, pairs_of
from spacy_hoseq.reporting.significance import f_score

from .corpora import Corpus, divide, docs_of
from .crfsuite import Crfsuite
from .machine import environment, peak_bytes, pin_to_one_core
from .page import show, write_table

CONLL = Corpus("en", "spans.chunks", "conll2000/train.txt")
TOLERANCE = 0.0005  # what compaction may cost
LEAST_SECONDS = 0.5  # of passes over ready Docs
TOKENIZER = "spaCy tokenizer"
FIRST = "A first text loads what is loaded late."
ORDER = "components.hoseq_bidirectional_tagger.model.order"
COLUMNS = (
    "system", "accuracy", "F", "ready Docs, words/s", "raw text, words/s", "time", "training", "memory", "model",
)  # fmt: skip


class System(NamedTuple):
    """kind: how it is trained ("recipe", "compact", "spacy", "crfsuite"; "" = not at all). chunks: it finds chunks."""

    kind: str
    name: str = ""
    settings: dict[str, Any] = {}
    chunks: bool = False


SYSTEMS = {
    TOKENIZER: System(""),
    "hoseq first order": System("recipe", "tagger"),
    "hoseq first order, compacted": System("compact", "hoseq first order"),
    "hoseq higher order": System("recipe", "higher-order"),
    "hoseq easiest first, order 1": System("recipe", "bidirectional", {ORDER: 1}),
    "hoseq tagger + chunker": System("recipe", "pipeline", chunks=True),
    "CRFsuite, features of `tagger`": System("crfsuite", "tagger"),
    "spaCy CNN tagger": System("spacy", "tagger"),
}


def main(
    metrics: Path,
    data: Path = typer.Option(..., help="The folder of corpora", exists=True),
    turns: int = 3,
    page: list[Path] | None = typer.Option(None, help="Pages whose tables are replaced"),
    plot: Path | None = typer.Option(None, help="Picture to draw"),
) -> None:
    folder = metrics / "tagging"
    divide(CONLL, data, 0, folder / "corpus")
    missing = [
        name for name in SYSTEMS if not (folder / file_name(name) / "training.json").exists()
    ]
    with ThreadPoolExecutor(2) as pool:  # the last one takes longest
        list(
            pool.map(
                partial(asked, "train", folder=folder),
                [n for n in missing[::-1] if not is_compact(n)],
            )
        )
    for name in filter(is_compact, missing):
        asked("train", name, folder)
    measured: dict[str, list[dict[str, Any]]] = {name: [] for name in SYSTEMS}
    for _ in range(turns):
        for name, rows in measured.items():
            rows.append(asked("measure", name, folder))
    systems = {name: median_of(rows) for name, rows in measured.items()}
    cells = [cells_of(name, row, systems[TOKENIZER]) for name, row in systems.items()]
    show(COLUMNS, cells)
    for path in page or []:
        write_table(path, "tagging", COLUMNS, cells)
    if plot is not None:
        draw(systems, plot)


def asked(task: str, name: str, folder: Path) -> dict[str, Any]:
    """What a process prints that trains or measures a system."""
    command = [sys.executable, "-m", "benchmarks.tagging", task, name, str(folder)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if done.returncode:
        msg.fail(f"{name} failed", done.stderr[-2000:], exits=1)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def is_compact(name: str) -> bool:
    """Whether it is made of another system."""
    return SYSTEMS[name].kind == "compact"


def file_name(system: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in system)


def train(name: str, folder: Path) -> dict[str, Any]:
    """Write the model of a system, and what training took."""
    system, output, corpus = SYSTEMS[name], folder / file_name(name), folder / "corpus"
    output.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    if system.kind == "crfsuite":
        Crfsuite("ap", "tag").trained(config_of(system.name), corpus, output)
    elif system.kind == "compact":
        nlp = spacy.load(folder / file_name(system.name) / "model-best")
        compact_pipeline(nlp, dev_examples(nlp, corpus / "dev.spacy"), TOLERANCE)
        save_compact(nlp, output / "model-best")
    elif system.kind:
        paths = {f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")}
        config = spacys(system.name) if system.kind == "spacy" else config_of(system.name)
        config.to_disk(output / "config.cfg")
        spacy_train(output / "config.cfg", output, overrides={**paths, **system.settings})
    result = {"training": time.process_time() - start}
    srsly.write_json(output / "training.json", result)
    return result


def config_of(name: str) -> Config:
    """A recipe."""
    return Config().from_str(recipe(name), interpolate=False)


def spacys(component: str) -> Config:
    """spaCy's own component, configured for efficiency."""
    return init_config(lang="en", pipeline=[component], optimize="efficiency", silent=True)


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Times on text, memory; labels against the gold ones."""
    system, output = SYSTEMS[name], folder / file_name(name)
    label, prepare = labeller(system, output)
    gold = docs_of(folder / "corpus" / "test.spacy", prepare.vocab)
    texts, n_words = [doc.text for doc in gold], sum(map(len, gold))
    row: dict[str, Any] = {**srsly.read_json(output / "training.json"), "words": n_words}
    seconds_of(label, map(prepare, [FIRST]))
    row["new"] = seconds_of(label, map(prepare, texts))
    passes: list[float] = []
    while sum(passes) < LEAST_SECONDS and system.kind:
        docs = [
            Doc(prepare.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc])
            for doc in gold
        ]
        passes.append(seconds_of(label, docs))
    row["ready"] = statistics.mean(passes) if passes else None
    row["memory"] = peak_bytes()
    if system.kind:
        scores = {
            place: score(gold, docs, place) for place in ("tag", *[CONLL.place] * system.chunks)
        }
        row |= {"accuracy": scores["tag"], "F": scores.get(CONLL.place), "bytes": bytes_of(output)}
    return row


def labeller(system: System, output: Path) -> tuple[Callable[[Iterable[Doc]], Iterable[Doc]], Any]:
    """What labels Docs, and the pipeline that makes them of texts."""
    if not system.kind:
        blank = spacy.blank("en")
        return (lambda docs: docs), blank.tokenizer
    if system.kind == "crfsuite":
        tagger = Crfsuite("ap", "tag").loaded(config_of(system.name), output)
        return tagger.pipe, spacy.blank(tagger.vocab.lang, vocab=tagger.vocab).tokenizer
    nlp: Language = spacy.load(output / "model-best")
    return nlp.pipe, nlp.tokenizer


def seconds_of(label: Callable[[Iterable[Doc]], Iterable[Doc]], docs: Iterable[Doc]) -> float:
    start = time.process_time()
    for _ in label(docs):
        pass
    return time.process_time() - start


def score(gold: Sequence[Doc], guesses: Sequence[Doc], place: str) -> float:
    pairs = pairs_of(gold, guesses, place)
    return float(f_score(counts(gold, pairs).sum(axis=0, keepdims=True))[0])


def bytes_of(output: Path) -> int:
    """Of a model."""
    model = output / "model-best"
    files = model.rglob("*") if model.exists() else output.glob("model.*")
    return sum(file.stat().st_size for file in files if file.is_file())


def median_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        key: None if rows[0].get(key) is None else statistics.median(row[key] for row in rows)
        for key in rows[0]
    }


def cells_of(name: str, row: dict[str, Any], tokenizer: dict[str, Any]) -> list[str]:
    """Columns as in COLUMNS."""
    shown: dict[str, Callable[[Any], str]] = {
        "accuracy": "{:.2%}".format,
        "F": "{:.2%}".format,
        "ready": lambda seconds: f"{row['words'] / seconds:,.0f}",
        "new": lambda seconds: f"{row['words'] / seconds:,.0f}",
        "times": "{:.2f}x".format,
        "training": "{:.0f} s".format,
        "memory": lambda size: f"{size / 2**20:,.0f} MiB",
        "bytes": lambda size: f"{size / 1e6:.1f} MB",
    }
    given = {
        **row,
        "times": row["new"] and row["new"] / tokenizer["new"],
        "training": row["training"] or None,
    }
    return [
        name,
        *("-" if given.get(key) is None else show(given[key]) for key, show in shown.items()),
    ]


def draw(systems: dict[str, dict[str, Any]], path: Path) -> None:
    """Accuracy against the speed on ready Docs. Needs matplotlib (the extra `report`)."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tagging"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.4, 4.0))
    shown = {name: row for name, row in systems.items() if row.get("accuracy")}
    for i, (name, row) in enumerate(
        sorted(shown.items(), key=lambda pair: pair[1]["ready"]), start=1
    ):
        point = (row["words"] / row["ready"], 100 * row["accuracy"])
        colour = "#2f6fb3" if name.startswith("hoseq") else "#c0392b"
        axes.scatter(*point, s=130, color=colour, alpha=0.85, label=f"{i}  {name}")
        axes.annotate(str(i), point, ha="center", va="center", fontsize=8, color="white")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
    axes.set_xscale("log")
    axes.set_xlabel("words a second, one core, ready Docs (logarithmic)")
    axes.set_ylabel("accuracy, %")
    axes.margins(0.2)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] in (["train"], ["measure"]):
        if sys.argv[1] == "measure":
            pin_to_one_core()
        print(json.dumps(globals()[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))))
    else:
        typer.run(main)
