"""Accuracy of recipes, on text that chose nothing: the rows of recipes.yml.

    python -m benchmarks.recipes METRICS --data CORPORA [--only TABLE] [--page docs/measurements/recipes.md ...]

Each run is `spacy train` with a recipe, perhaps with a few settings changed, or CRFsuite with the same features. One
half of the development text chooses the epoch, temperature and threshold, the other half is measured. p: two-sided
paired bootstrap over sentences, counts summed over seeds, against the first system of the corpus and size. ECE:
expected calibration error (15 bins) of the best label of each word, or of each span that is found. Times: processor
time of one core, of training, and of ready Docs. Runs that are done stand in METRICS/recipes-TABLE.jsonl.
"""

import contextlib
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import set_dot_to_object
from thinc.api import Config
from tqdm import tqdm

from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.inspection.calibration import reliability
from spacy_hoseq.readers.annotated import annotated_with
from spacy_hoseq.recipes import recipe
from spacy_hoseq.reporting.scores import counts, pairs_of
from spacy_hoseq.reporting.significance import f_score, paired_bootstrap

from .corpora import Corpus, divide, docs_of
from .crfsuite import Crfsuite
from .page import show, write_table

TABLES: dict[str, Any] = srsly.read_yaml(Path(__file__).with_name("recipes.yml"))
HEADER = ("Corpus: system", "score", "of each seed", "", "p", "ECE", "training", "µs a token", "MB")
NO_BAR = {"training.logger.progress_bar": None}


class Run(NamedTuple):
    """One training. system: recipe, and "set" (settings by their paths), or "peer" (an algorithm of CRFsuite)."""

    corpus: str
    of: Corpus
    size: int
    name: str
    system: dict[str, Any]
    seed: int

    @property
    def key(self) -> list[Any]:
        return [self.corpus, self.size, self.name, self.seed]

    @property
    def title(self) -> str:
        return f"{self.corpus}, {self.size:,} sentences" if self.size else self.corpus


def main(
    metrics: Path,
    data: Path = typer.Option(..., help="The folder of corpora", exists=True),
    only: list[str] | None = typer.Option(None, help="Tables. Default: all"),
    page: list[Path] | None = typer.Option(None, help="Pages whose tables are replaced"),
) -> None:
    for name in only or TABLES:
        runs = list(runs_of(TABLES[name]))
        rows = rows_of(runs, metrics / f"recipes-{name}.jsonl", metrics, data)
        cells = list(table([run.key for run in runs], rows))
        show(HEADER, cells)
        for each in page or []:
            write_table(each, name, HEADER, cells)


def rows_of(
    runs: Sequence[Run], path: Path, metrics: Path, data: Path
) -> dict[str, dict[str, Any]]:
    """What each run has measured, by its key; those that are not in the file yet are done."""
    done = {str(row["key"]): row for row in (srsly.read_jsonl(path) if path.exists() else ())}
    metrics.mkdir(parents=True, exist_ok=True)
    for run in tqdm([run for run in runs if str(run.key) not in done], unit="run"):
        divide(run.of, data, run.size, folder_of(metrics, run))
        row = measured(run, metrics)
        srsly.write_jsonl(path, [row], append=True, append_new_line=False)
        done[str(run.key)] = row
    return done


def runs_of(corpora: Sequence[dict[str, Any]]) -> Iterator[Run]:
    """All runs of a table."""
    for given in corpora:
        of = Corpus(given["lang"], given["place"], given["train"], given.get("dev", ""))
        for size in given["sizes"]:
            for name, system in given["systems"].items():
                for seed in range(system.get("seeds", given["seeds"])):
                    run = Run(given["corpus"], of, size, name, system, seed)
                    yield run._replace(corpus=run.title)


def folder_of(metrics: Path, run: Run) -> Path:
    return metrics / "corpora" / run.corpus.replace(" ", "_")


def measured(run: Run, metrics: Path) -> dict[str, Any]:
    """Right, found and gold items of each sentence, calibration, costs."""
    corpus = folder_of(metrics, run)
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        nlp, size = trained(run, corpus, metrics)
    training = time.process_time() - start
    gold = docs_of(corpus / "test.spacy", nlp.vocab)
    given = ["tag"] if run.system.get("recipe") == "chunker" else []
    docs = [annotated_with(doc, given) for doc in gold]
    start = time.process_time()
    guesses = list(nlp.pipe(docs))
    prediction = time.process_time() - start
    pairs = pairs_of(gold, guesses, run.of.place)
    return {
        "key": run.key,
        "counts": counts(gold, pairs).astype(int).tolist(),
        "ece": calibration_error(nlp, [annotated_with(doc, given) for doc in gold], gold, guesses),
        "training": training,
        "prediction": 1e6 * prediction / sum(map(len, gold)),
        "bytes": size,
    }


def trained(run: Run, corpus: Path, metrics: Path) -> tuple[Any, int]:
    """The best pipeline of a training, or CRFsuite's tagger, and its bytes on disk."""
    output = metrics / "models" / "-".join(map(str, run.key)).replace(" ", "_")
    config = Config().from_str(recipe(run.system["recipe"], run.of.lang), interpolate=False)
    if "peer" in run.system:
        return Crfsuite(run.system["peer"], run.of.place).trained(config, corpus, output)
    settings = srsly.json_dumps({**NO_BAR, **run.system.get("set", {})}).replace(
        "{metrics}", metrics.as_posix()
    )
    for key, value in srsly.json_loads(settings).items():
        set_dot_to_object(config, key, value)
    output.mkdir(parents=True, exist_ok=True)
    config.to_disk(output / "config.cfg")
    paths = {f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")}
    train(output / "config.cfg", output, overrides={**paths, "system.seed": run.seed})
    best = output / "model-best"
    return spacy.load(best), sum(file.stat().st_size for file in best.rglob("*") if file.is_file())


def calibration_error(
    nlp: Language, texts: Sequence[Doc], gold: Sequence[Doc], guesses: Sequence[Doc]
) -> float | None:
    """None of a system without probabilities. texts: Docs without labels."""
    if not isinstance(nlp, Language):
        return None
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    if isinstance(pipe, HoseqChunker):
        key = pipe.cfg["spans_key"]
        spans = [(doc, span) for doc in guesses for span in doc.spans[key]]
        wanted = [
            {(s.start, s.end, s.label) for s in doc.spans.get(key) or doc.ents} for doc in gold
        ]
        p = [score for doc in guesses for score in doc.spans[key].attrs["scores"]]
        right = [
            (span.start, span.end, span.label) in of_doc
            for doc, of_doc in zip(guesses, wanted, strict=True)
            for span in doc.spans[key]
        ]
        return reliability(p, right).error if spans else None
    for _, earlier in nlp.pipeline[:-1]:
        texts = list(earlier.pipe(texts))
    reading = pipe.read(texts)
    labels = pipe.gold_ids([Example(text, doc) for text, doc in zip(texts, gold, strict=True)])
    known = labels >= 0
    return reliability(reading.confidences()[known], (reading.best == labels)[known]).error


def table(keys: Sequence[list[Any]], rows: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    """A row of each system; the first one of a corpus is what the others are compared with."""
    first: dict[str, list[dict[str, Any]]] = {}
    systems = dict.fromkeys((corpus, name) for corpus, _, name, _ in keys)
    for corpus, name in systems:
        runs = [
            rows[str(key)]
            for key in keys
            if key[0] == corpus and key[2] == name and str(key) in rows
        ]
        if not runs:
            continue
        base = first.setdefault(corpus, runs)
        errors = [run["ece"] for run in runs if run["ece"] is not None]
        yield [
            f"{corpus}: {name}",
            f"{100 * scores(runs).mean():.2f}",
            ", ".join(f"{100 * score:.2f}" for score in scores(runs)),
            *(compared(base, runs) if runs is not base else ["", ""]),
            f"{np.mean(errors):.4f}" if errors else "",
            f"{np.mean([run['training'] for run in runs]):.0f} s",
            f"{np.mean([run['prediction'] for run in runs]):.1f}",
            f"{np.mean([run['bytes'] for run in runs]) / 1e6:.1f}",
        ]


def scores(runs: Sequence[dict[str, Any]]) -> Any:
    """F of each run; of words, the share that is right."""
    return np.array(
        [float(f_score(np.sum([run["counts"]], axis=1, dtype=float))[0]) for run in runs]
    )


def compared(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[str]:
    """Gain in points, and p, over the seeds that both have."""
    n = min(len(before), len(after))
    a, b = (
        np.sum([run["counts"] for run in runs[:n]], axis=0, dtype=float) for runs in (before, after)
    )
    difference = paired_bootstrap(a, b, f_score)
    p = 2 * min(difference.p, 1 - difference.p)
    return [f"{100 * difference.gain:+.2f}", f"{p:.3f}" if p >= 0.001 else "< 0.001"]


if __name__ == "__main__":
    typer.run(main)
