"""Recipes of `python -m spacy hoseq init` on corpora from 100 sentences to all, beside a search and CRFsuite.

    python -m benchmarks.sizes metrics/sizes.jsonl --data CORPORA [--task "English, Penn tags"] [--size 1000]
        [--page docs/measurements/recipes.md]

Every run is a line of the output file, and is not done again. A training ends by the score on half of the development
text, which also chooses among the settings of a search and of CRFsuite; the other half is what the table shows. Up to
1,000 sentences the recipe is beside a search over settings.
"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

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

SIZES = (100, 1000, 0)  # sentences, 0 = all
SEARCHED = 1000  # sentences, at most
NO_BAR = {"training.logger.progress_bar": None}
RECIPE = "recipe"
SEARCH = ("a third of the learn rate", "three times the learn rate", "dropout 0", "dropout 0.4", "another objective")
MANY_LABELS, FEW_ITERATIONS = 100, 30  # an iteration of CRFsuite takes the square of the labels
CRFSUITE = ("crfsuite lbfgs", "crfsuite ap")
NO_CLASSES = ", no classes"
HEADER = (
    "Corpus", "sentences", "words", "labels", "recipe", "best of search", "gap", "CRFsuite", "CRFsuite, no classes",
    "updates", "time",
)  # fmt: skip


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    task: Optional[List[str]] = None,
    size: Optional[List[int]] = None,
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
                theirs = CRFSUITE if numbers["labels"] <= MANY_LABELS else CRFSUITE[1:]
                systems = [RECIPE, *(SEARCH if 0 < n <= SEARCHED else ()), *theirs]
                systems += [each + NO_CLASSES for each in theirs if has_classes(TASKS[name])]
                for each in [each for each in systems if each not in done]:
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
    return trained_scores(task, corpus, output, system)


def trained_scores(task: Task, corpus: Path, output: Path, system: str) -> Dict[str, Any]:
    """Of `model-best` by the recipe, or by one of SEARCH."""
    path = corpus / "config.cfg"
    path.write_text(recipe(task.recipe, task.lang), encoding="utf8")
    overrides = {**NO_BAR, "paths.train": str(corpus / "train.spacy"), "paths.dev": str(corpus / "dev.spacy")}
    overrides.update(changes(system, task.component, load_config(path)))
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        train(path, output, overrides=overrides)
    nlp = spacy.load(output / "model-best")
    scores = {part: nlp.evaluate(dev_examples(nlp, corpus / f"{part}.spacy"))[task.metric] for part in ("dev", "test")}
    lines = [line.split() for line in log.getvalue().splitlines()]
    history = [(int(cells[1]), float(cells[-1])) for cells in lines if cells[:1] and cells[0].isdigit()]
    return {**scores, "updates": history[-1][0], "history": history}


def changes(system: str, component: str, config: Config) -> Dict[str, Any]:
    """What a system of SEARCH has in place of the recipe's settings."""
    prefix, settings = f"components.{component}", config["components"][component]
    rate, likely = settings["update_rule"]["learn_rate"], settings["objective"] == "log_likelihood"
    if system.endswith("learn rate"):
        return {f"{prefix}.update_rule.learn_rate": rate / 3 if system.startswith("a third") else rate * 3}
    if system.startswith("dropout"):
        return {"training.dropout": float(system.split()[1])}
    if system == "another objective":
        return {f"{prefix}.objective": "max_margin" if likely else "log_likelihood"}
    return {}


def publish(rows: List[Dict[str, Any]], page: Optional[Path]) -> None:
    cells = []
    for name in TASKS:
        for n in SIZES:
            found = {row["system"]: row for row in rows if (row["task"], row["size"]) == (name, n)}
            if RECIPE in found:
                cells.append(cells_of(name, found))
    if page is None:
        show(HEADER, cells)
    elif cells:
        write_table(page, "sizes", HEADER, cells)


def cells_of(name: str, found: Dict[str, Dict[str, Any]]) -> Tuple[str, ...]:
    """A row of the table: a corpus of one size."""
    ours = found[RECIPE]
    searched = [row for system, row in found.items() if system == RECIPE or system in SEARCH]
    best = max(searched, key=lambda row: row["dev"])
    is_searched = len(searched) > 1
    return (
        name, f"{ours['sentences']:,}", f"{ours['words']:,}", f"{ours['labels']:,}",
        shown(ours["test"]),
        f"{shown(best['test'])} ({best['system']})" if is_searched else "-",
        f"{100 * (ours['test'] - best['test']):+.2f}" if is_searched else "-",
        shown(best_of(found, CRFSUITE)), shown(best_of(found, [each + NO_CLASSES for each in CRFSUITE])),
        f"{ours['updates']:,}", f"{ours['seconds']:.0f} s",
    )  # fmt: skip


def shown(score: Optional[float]) -> str:
    return "-" if score is None else f"{100 * score:.2f}"


def best_of(found: Dict[str, Dict[str, Any]], systems: Sequence[str]) -> Optional[float]:
    """The score of the system that the first half of the development text chooses."""
    rows = [row for system, row in found.items() if system in systems]
    return max(rows, key=lambda row: row["dev"])["test"] if rows else None


def has_classes(task: Task) -> bool:
    """Whether the recipe reads tables that the package has."""
    config = Config().from_str(recipe(task.recipe, task.lang), interpolate=False)
    return config["initialize"].get("lookups") is not None


if __name__ == "__main__":
    typer.run(main)
