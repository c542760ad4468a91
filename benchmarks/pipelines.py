"""What a pipeline takes on raw text, in times of the tokenizer, and in a call of one sentence.

    python -m benchmarks.pipelines --data CORPORA [--sentences] [--before CHECKOUT] [--turns 5]
        [--page docs/measurements/performance.md]

Texts are paragraphs, with --sentences each sentence is a text.

Rows: the tagger alone; tags, parts of speech and sentences; with chunks, each with its probability; the tagger with
probabilities; the whole pipeline. Columns: raw text whose words are new to the process, though it has read as much
other text before; the same raw text again; the same text as Docs that are ready, without the tokenizer. Each row is
measured in a process of its own, which measures the tokenizer, too; medians of the turns. With --before, the same of
another checkout of the package, whose processes alternate with ours.
"""

import gzip
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import typer

from .machine import THREADS, environment
from .page import ROOT, show, write_table

WORKER = Path(__file__).with_name("pipelines_worker.py")
BEFORE = ["en_ewt/train.conllu.gz"]
NEW = ["en_ewt/dev.conllu.gz", "en_gum/dev.conllu.gz"]
LENGTH = range(20, 26)  # words of the texts of one call, about
CALLS = 300
SENTENCES_AND_WORDS = ["hoseq_sentences", "hoseq_tagger", "hoseq_pos", "hoseq_morphologizer"]
ROWS: Dict[str, Optional[List[str]]] = {
    "tags": ["hoseq_tagger"],
    "tags, parts of speech, sentences": SENTENCES_AND_WORDS,
    "these and chunks": [*SENTENCES_AND_WORDS, "hoseq_chunker"],
    "tags with probabilities": ["hoseq_tagger"],
    "all": None,
}
# column of the table -> what is divided by what
COLUMNS = {"new": ("new", "tokenizer"), "again": ("again", "tokenizer again"), "ready": ("ready", "tokenizer again")}
CALL = {"new": "call", "again": "call again"}
HEADER = ("", "new text", "read again", "ready Docs")
Times = Dict[str, Dict[str, float]]  # of one turn: row -> what the worker measures


def main(
    # fmt: off
    data: Path = typer.Option(..., exists=True, help="The folder of corpora"),
    model: Path = typer.Option(Path("spacy_hoseq/pipelines/en_hoseq_sm"), help="In each checkout, or anywhere"),
    sentences: bool = typer.Option(False, "--sentences", help="Texts are sentences, else paragraphs"),
    before: Optional[Path] = typer.Option(None, exists=True, help="Another checkout, to compare with"),
    turns: int = typer.Option(5, help="Processes of each version"),
    page: Optional[List[Path]] = typer.Option(None, help="Pages whose table is replaced"),
    # fmt: on
) -> None:
    roots = {"before": before.resolve()} if before is not None else {}
    roots["now"] = ROOT
    found = measure(roots, job_of(model, data, whole=not sentences), turns)
    for name, times in found.items():
        print(name)
        show(HEADER, table_rows(times))
    if before is not None:
        print("now, over before: medians of the turns")
        show(HEADER, compared(found["before"], found["now"]))
    for path in page or []:
        write_table(path, "pipelines", HEADER, table_rows(found["now"]))


def measure(roots: Dict[str, Path], asked: Dict[str, Any], turns: int) -> Dict[str, List[Times]]:
    """Of each version, the times of its turns. asked: what `job_of` says."""
    found: Dict[str, List[Times]] = {name: [] for name in roots}
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps(asked), encoding="utf8")
        for _ in range(turns):
            for times in found.values():
                times.append({})
            for row in ROWS:
                for name, root in roots.items():
                    found[name][-1][row] = run(root, job, row)
    return found


def run(root: Path, job: Path, row: str) -> Dict[str, float]:
    """Of one version, in a process of its own."""
    command = [sys.executable, str(WORKER), str(root), str(job), row]
    env = {**environment(), **THREADS}
    result = subprocess.run(command, env=env, cwd=job.parent, check=True, capture_output=True, text=True)
    found: Dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return found


def job_of(model: Path, data: Path, *, whole: bool = True) -> Dict[str, Any]:
    """whole (bool): texts are paragraphs, else sentences."""
    new = [text for path in NEW for text in paragraphs(data / path, whole=whole)]
    sentences = [text for path in NEW for text in paragraphs(data / path, whole=False)]
    calls = [text for text in sentences if len(text.split()) in LENGTH][:CALLS]
    before = [text for path in BEFORE for text in paragraphs(data / path, whole=whole)]
    return {"model": str(model), "before": before, "new": new, "calls": calls, "rows": ROWS}


def paragraphs(path: Path, *, whole: bool = True) -> Iterator[str]:
    """Raw text of a CoNLL-U file. whole (bool): else its sentences."""
    parts: List[str] = []
    with gzip.open(path, "rt", encoding="utf8") as file:
        for line in file:
            if line.startswith("# text = "):
                parts.append(line[len("# text = ") :].rstrip("\n"))
            if parts and (not whole or line.startswith(("# newdoc", "# newpar"))):
                yield " ".join(parts)
                parts = []
    if parts:
        yield " ".join(parts)


def table_rows(turns: List[Times]) -> List[List[str]]:
    """Times of the tokenizer, whose own are microseconds a token; of one call milliseconds."""
    every = [times for turn in turns for times in turn.values()]
    own = [statistics.median(times[column] for times in every) for column in ("tokenizer", "tokenizer again")]
    rows = [["tokenizer", *(f"{value:.2f} µs" for value in own), "-"]]
    for name in turns[0]:
        cells = [
            f"{statistics.median(turn[name][part] / turn[name][whole] for turn in turns):.2f} x"
            for part, whole in COLUMNS.values()
        ]
        rows.append([name, *cells])
    calls = [statistics.median(turn["all"][column] for turn in turns) for column in CALL.values()]
    return [*rows, ["one call of all", *(f"{value:.2f} ms" for value in calls), "-"]]


def compared(before: List[Times], now: List[Times]) -> List[List[str]]:
    """Medians of the ratios of all turns, with the least and the largest."""
    pairs = list(zip(before, now, strict=True))
    rows = []
    columns = {name: (name, [*COLUMNS]) for name in now[0]}
    columns["one call of all"] = ("all", [*CALL.values()])
    for name, (row, measured) in columns.items():
        cells = []
        for column in measured:
            ratios = [new[row][column] / old[row][column] for old, new in pairs]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")
        rows.append([name, *cells, *["-"] * (len(COLUMNS) - len(cells))])
    return rows


if __name__ == "__main__":
    typer.run(main)
