"""How far it goes: long streams, one long Doc, two processes, large label sets.

    python -m benchmarks.scale --corpus CORPUS --model DIR [--model-ho DIR] [--pipeline DIR] --output FILE.csv
        [--tokens 10000000] [--parts stream --parts long-doc ...] [--page docs/measurements/performance.md]

CORPUS: as for `benchmarks.tagging`; its words are repeated. DIR: trained pipelines: a tagger, one with higher-order
patterns, one with a tagger and a chunker. Every part runs in processes of its own, with one thread, on one core; only
`processes` may use two. Writes one row for each part, case and measure.

stream: generated sentences in which one word in twenty is new, so that the word types grow; memory while they go
through `nlp.pipe`, in spaCy's memory zones of 100,000 tokens and without, and of making the Docs alone. long-doc: one
Doc with and without sentence ends. processes: `n_process` 1 and 2. labels: a tagger trained in one epoch on a corpus
whose tags fall together or are split.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import typer
from wasabi import msg

from .label_sets import relabelled
from .machine import description, environment, pin_to_one_core
from .page import has_table, show, write_table
from .results import Row, machine_of, read_rows, write_rows
from .scale_parts import PARTS

TEXT = ("part", "case", "measure", *description())
LABEL_SETS = (10, 44, 450, 1000)
SENTENCES, MIN_COUNT = 2000, 3  # training for large label sets: the weight table has a column a label


def main(
    # fmt: off
    corpus: Path = typer.Option(..., help="Folder with train.spacy, dev.spacy and test.spacy", exists=True),
    model: Path = typer.Option(..., help="Trained pipeline with a tagger", exists=True),
    model_ho: Optional[Path] = typer.Option(None, help="The same with higher-order patterns"),
    pipeline: Optional[Path] = typer.Option(None, help="Trained pipeline with a tagger and a chunker"),
    output: Path = typer.Option(Path("metrics/scale.csv"), help="CSV to write; other parts in it stay"),
    parts: Optional[List[str]] = typer.Option(None, help="Parts to measure. Default: all"),
    tokens: int = typer.Option(10_000_000, help="Of the stream"),
    doc_tokens: int = typer.Option(1_000_000, help="Of the long Doc"),
    process_tokens: int = typer.Option(200_000, help="For one and two processes"),
    page: Optional[List[Path]] = typer.Option(None, help="Pages whose tables are replaced"),
    # fmt: on
) -> None:
    models = {"first order": model, "higher order": model_ho, "tagger + chunker": pipeline}
    given = {name: str(path) for name, path in models.items() if path is not None}
    sizes = {"stream": tokens, "long-doc": doc_tokens, "processes": process_tokens, "labels": 0}
    rows = [row for row in read_rows(output, TEXT) if row["part"] not in (parts or PARTS)] if output.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for part in parts or PARTS:
            if part not in PARTS:
                msg.fail(f"Unknown part {part!r}. Known: {', '.join(PARTS)}", exits=1)
            for options in cases(part, corpus, given, Path(folder)):
                text = corpus / ("test.spacy" if part == "labels" else "train.spacy")
                found = run(part, {"corpus": str(text), "tokens": sizes[part], **options})
                rows += [
                    {"part": part, "case": case, "measure": measure, "value": value, **description()}
                    for case, measure, value in found
                ]
            write_rows(output, rows)
    publish(rows, page or [])
    msg.good(f"Written to {output}")


def cases(part: str, corpus: Path, models: Dict[str, str], folder: Path) -> Iterator[Dict[str, Any]]:
    """What differs between the runs of a part."""
    first = {"model": models["first order"]}
    if part == "stream":
        yield from ({**first, "way": way} for way in ("memory zones", "no zones", "Docs only"))
    elif part == "long-doc":
        for name, path in models.items():
            yield from ({"model": path, "name": name, "sentences": with_ends} for with_ends in (True, False))
    elif part == "processes":
        yield first
    else:
        for n_labels in LABEL_SETS:
            data, model = folder / f"{n_labels}_corpus", folder / str(n_labels)
            relabelled(corpus, data, n_labels, SENTENCES)
            train(data, model)
            yield {"model": str(model / "model-last")}


def train(corpus: Path, model: Path) -> None:
    settings = {
        "training.max_epochs": 1,
        "training.eval_frequency": 1_000_000,
        "components.hoseq_tagger.model.emissions.min_count": MIN_COUNT,
    }
    command = [sys.executable, "experiments/common/train.py", "tagger"]
    command += [str(corpus / "train.spacy"), str(corpus / "dev.spacy"), str(model)]
    command += [item for key, value in settings.items() for item in (f"--{key}", str(value))]
    finished(subprocess.run(command, env=environment(), capture_output=True, text=True))


def run(part: str, options: Dict[str, Any]) -> List[Tuple[str, str, float]]:
    msg.info(f"{part}: {', '.join(str(value) for value in options.values())}")
    command = [sys.executable, "-m", "benchmarks.scale_parts", part, json.dumps(options)]
    pin = None if part == "processes" else pin_to_one_core
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, preexec_fn=pin)
    finished(done)
    found: List[Tuple[str, str, float]] = json.loads(done.stdout.splitlines()[-1])
    print(*(f"{case}: {value:,.2f} {measure}" for case, measure, value in found), sep="\n")
    return found


def finished(done: "subprocess.CompletedProcess[str]") -> None:
    if done.returncode:
        msg.fail("Failed", done.stderr[-2000:], exits=1)


def publish(rows: List[Row], pages: List[Path]) -> None:
    """One table a part, with the cases as rows and the measures as columns."""
    for part in dict.fromkeys(row["part"] for row in rows):
        here = {(row["case"], row["measure"]): row["value"] for row in rows if row["part"] == part}
        measures = list(dict.fromkeys(measure for _, measure in here))
        cells = [
            (case, *(number(here[case, measure]) if (case, measure) in here else "-" for measure in measures))
            for case in dict.fromkeys(case for case, _ in here)
        ]
        header = ("labels" if part == "labels" else "", *measures)
        show(header, cells)
        for path in (path for path in pages if has_table(path, f"scale-{part}")):
            write_table(path, f"scale-{part}", header, cells, machine_of(rows))


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    typer.run(main)
