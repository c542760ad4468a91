"""Recipes of `python -m spacy hoseq init` on corpora from 100 sentences to all, beside a search and CRFsuite.

    python -m benchmarks.sizes metrics/sizes.jsonl --data CORPORA [--task "English, Penn tags"] [--size 1000]
        [--search small] [--system "dropout 0"] [--page docs/measurements/sizes.md]

Every run is a line of the output file, and is not done again. A training ends by the score on half of the development
text, which also chooses among the settings of a search and of CRFsuite; the other half is what the table shows.
"""

import contextlib
import io
import re
import tempfile
import time
from enum import Enum
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.util import load_config
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.recipes import recipe

from .page import show, write_table
from .sizes_corpora import TASKS, Task, prepared
from .sizes_crfsuite import crfsuite_scores

SIZES = (100, 1000, 10_000, 0)
NO_BAR = {"training.logger.progress_bar": None}
RECIPE = "recipe"
LEARN_RATE = ".update_rule.learn_rate"
TEMPLATES = ".model.emissions.templates.@misc"
MANY_LABELS, FEW_ITERATIONS = 100, 30  # an iteration of CRFsuite takes the square of the labels
CRFSUITE = ("crfsuite lbfgs", "crfsuite ap")
NO_CLASSES = ", no classes"
SEARCH: Dict[str, Dict[str, Any]] = {  # changes to the recipe; "." stands for the component, "" for the other value
    "learn_rate 0.01": {LEARN_RATE: 0.01},
    "learn_rate 0.03": {LEARN_RATE: 0.03},
    "learn_rate 0.1": {LEARN_RATE: 0.1},
    "learn_rate 0.3": {LEARN_RATE: 0.3},
    "learn_rate 0.1, dropout 0": {LEARN_RATE: 0.1, "training.dropout": 0.0},
    "learn_rate 0.1, dropout 0.4": {LEARN_RATE: 0.1, "training.dropout": 0.4},
    "learn_rate 0.05, dropout 0.4": {LEARN_RATE: 0.05, "training.dropout": 0.4},
    "learn_rate 0.1, other objective": {LEARN_RATE: 0.1, ".objective": "", ".average": ""},
    "learn_rate 0.1, other average": {LEARN_RATE: 0.1, ".average": ""},
    "learn_rate 0.1, 50 batches": {LEARN_RATE: 0.1, "training.batcher.n_batches": 50, "training.eval_frequency": 50},
    "learn_rate 0.1, 200 batches": {
        LEARN_RATE: 0.1,
        "training.batcher.n_batches": 200,
        "training.eval_frequency": 200,
        "training.patience": 2000,
    },
    "learn_rate 0.1, 10 epochs": {LEARN_RATE: 0.1, "training.max_epochs": 10},
}
OTHERS: Dict[str, Dict[str, Any]] = {  # by --system
    "templates of morphology": {TEMPLATES: "spacy_hoseq.morphology_templates.v3"},
    "templates of morphology, dropout 0.4": {
        TEMPLATES: "spacy_hoseq.morphology_templates.v3",
        "training.dropout": 0.4,
    },
    "dropout 0.4": {"training.dropout": 0.4},
    "dropout 0.6": {"training.dropout": 0.6},
    "learn_rate 0.003": {LEARN_RATE: 0.003},
    "l2 0.001": {".update_rule.l2": 0.001},
    "log likelihood": {".objective": "log_likelihood"},
}
BRIEF = [name for name in SEARCH if not re.search("batches|average|0.05|dropout 0$", name)]  # of large corpora
HEADER = ("Corpus", "sentences", "words", "labels", "recipe", "best of search", "gap", "CRFsuite", "updates", "time")
SMALL_HEADER = ("100 sentences", "recipe", "CRFsuite", "above it", "CRFsuite, no classes", "above it")


class Search(str, Enum):
    none = "none"
    small = "small"
    large = "large"


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    task: Optional[List[str]] = None,
    size: Optional[List[int]] = None,
    search: Search = Search.none,
    system: Optional[List[str]] = None,
    crfsuite: bool = True,
    page: Optional[Path] = None,
) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    for name in task or TASKS:
        for n in size or SIZES:
            done = {row["system"] for row in rows if (row["task"], row["size"]) == (name, n)}
            with tempfile.TemporaryDirectory() as folder:
                corpus = Path(folder) / "corpus"
                numbers = prepared(TASKS[name], data, n, corpus)
                if numbers["sentences"] < n:
                    continue  # all of them: size 0
                systems = [RECIPE, *{"none": (), "small": SEARCH, "large": BRIEF}[search.value]]
                theirs = (CRFSUITE if numbers["labels"] <= MANY_LABELS else CRFSUITE[1:]) if crfsuite else ()
                systems += [*theirs, *(each + NO_CLASSES for each in theirs if has_classes(TASKS[name]))]
                for each in [each for each in system or systems if each not in done]:
                    start = time.perf_counter()
                    scores = scores_of(TASKS[name], corpus, Path(folder) / "model", each, numbers["labels"])
                    seconds = time.perf_counter() - start
                    rows.append({"task": name, "size": n, "system": each, **numbers, **scores, "seconds": seconds})
                    srsly.write_jsonl(output, rows)
                    msg.text(f"{name}, {n or 'all'}, {each}: {scores['test']:.2%}, {seconds:.0f} s")
    publish(rows, page)


def scores_of(task: Task, corpus: Path, output: Path, system: str, n_labels: int) -> Dict[str, Any]:
    """On dev and test, and the number of updates."""
    if system.startswith("crfsuite"):
        iterations = FEW_ITERATIONS if n_labels > MANY_LABELS else None
        algorithm = system.removesuffix(NO_CLASSES).split()[1]
        return crfsuite_scores(task, corpus, algorithm, iterations, classes=not system.endswith(NO_CLASSES))
    return trained_scores(task, corpus, output, {**SEARCH, **OTHERS}.get(system, {}))


def trained_scores(task: Task, corpus: Path, output: Path, changes: Dict[str, Any]) -> Dict[str, Any]:
    """Of `model-best` by the recipe with some changes."""
    path = corpus / "config.cfg"
    path.write_text(recipe(task.recipe, task.lang), encoding="utf8")
    settings = load_config(path)["components"][task.component]
    overrides = {**NO_BAR, "paths.train": str(corpus / "train.spacy"), "paths.dev": str(corpus / "dev.spacy")}
    for key, value in changes.items():
        name = f"components.{task.component}{key}" if key.startswith(".") else key
        overrides[name] = other(key, settings) if value == "" else value
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        train(path, output, overrides=overrides)
    nlp = spacy.load(output / "model-best")
    scores = {part: nlp.evaluate(dev_examples(nlp, corpus / f"{part}.spacy"))[task.metric] for part in ("dev", "test")}
    lines = [line.split() for line in log.getvalue().splitlines()]
    history = [(int(cells[1]), float(cells[-1])) for cells in lines if cells[:1] and cells[0].isdigit()]
    return {**scores, "updates": history[-1][0], "history": history}


def other(key: str, settings: Dict[str, Any]) -> Any:
    """The objective, or the average, that the recipe does not have."""
    likely = settings["objective"] == "log_likelihood"
    if key == ".objective":
        return "max_margin" if likely else "log_likelihood"
    if "representation" in settings:  # of chunks, which know one average only
        return likely
    return "late" if likely else False


def publish(rows: List[Dict[str, Any]], page: Optional[Path]) -> None:
    cells, small = [], []
    for name in TASKS:
        for n in SIZES:
            found = {row["system"]: row for row in rows if (row["task"], row["size"]) == (name, n)}
            if RECIPE not in found:
                continue
            ours = found[RECIPE]
            searched = [row for system, row in found.items() if system == RECIPE or system in SEARCH]
            best = max(searched, key=lambda row: row["dev"])
            theirs = best_of(found, CRFSUITE)
            is_searched = len(searched) > 1
            cells.append((
                name, f"{ours['sentences']:,}", f"{ours['words']:,}", f"{ours['labels']:,}",
                f"{100 * ours['test']:.2f}",
                f"{100 * best['test']:.2f} ({best['system']}; of {len(searched)})" if is_searched else "-",
                f"{100 * (ours['test'] - best['test']):+.2f}" if is_searched else "-",
                "-" if theirs is None else f"{100 * theirs:.2f}",
                f"{ours['updates']:,}", f"{ours['seconds']:.0f} s",
            ))  # fmt: skip
            if n == SIZES[0]:
                small += list(of_small(name, found))
    for title, header, table in (("sizes", HEADER, cells), ("100 sentences", SMALL_HEADER, small)):
        if page is None:
            show(header, table)
        elif table:
            write_table(page, title, header, table)


def of_small(name: str, found: Dict[str, Dict[str, Any]]) -> Iterator[Tuple[str, ...]]:
    """The recipe and other settings, beside CRFsuite with and without the word classes."""
    peers = [best_of(found, CRFSUITE), best_of(found, [each + NO_CLASSES for each in CRFSUITE])]
    for system in [RECIPE, *(each for each in (*SEARCH, *OTHERS) if each in found)]:
        ours = found[system]["test"]
        yield f"{name}: {system}", f"{100 * ours:.2f}", *(cell for peer in peers for cell in beside(ours, peer))


def best_of(found: Dict[str, Dict[str, Any]], systems: Sequence[str]) -> Optional[float]:
    """The score of the system that the first half of the development text chooses."""
    rows = [row for system, row in found.items() if system in systems]
    return max(rows, key=lambda row: row["dev"])["test"] if rows else None


def beside(ours: float, theirs: Optional[float]) -> Tuple[str, str]:
    return ("-", "-") if theirs is None else (f"{100 * theirs:.2f}", f"{100 * (ours - theirs):+.2f}")


def has_classes(task: Task) -> bool:
    """Whether the recipe reads tables that the package has."""
    config = Config().from_str(recipe(task.recipe, task.lang), interpolate=False)
    return config["initialize"].get("lookups") is not None


if __name__ == "__main__":
    typer.run(main)
