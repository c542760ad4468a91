"""What a pipeline takes on raw text, in times of the tokenizer, and in a call of one sentence.

    python -m benchmarks.pipelines --data CORPORA [--before CHECKOUT] [--turns 5] [--page docs/measurements/performance.md]

Rows: the tagger alone; tags, parts of speech and sentences; the tagger with probabilities; the whole pipeline. Columns:
raw text whose words are new to the process, though it has read as much other text before; the same raw text again;
the same text as Docs that are ready, without the tokenizer. Each turn is a process of its own, and the times of a turn
are divided by those of the tokenizer in that turn; medians of all turns. With --before, the same of another checkout
of the package, whose turns alternate with ours.
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
TOKENIZER = "tokenizer"
CALL = "one call"
LENGTH = range(20, 26)  # words of the texts of one call, about
CALLS = 300
ROWS: Dict[str, Optional[List[str]]] = {
    TOKENIZER: [],
    "tags": ["hoseq_tagger"],
    "tags, parts of speech, sentences": ["hoseq_sentences", "hoseq_tagger", "hoseq_pos", "hoseq_morphologizer"],
    "tags with probabilities": ["hoseq_tagger"],
    "all": None,
}
COLUMNS = ("new", "again", "ready")
HEADER = ("", "new text", "read again", "ready Docs")
Times = Dict[str, Dict[str, float]]


def main(
    # fmt: off
    data: Path = typer.Option(..., exists=True, help="The folder of corpora"),
    model: Path = typer.Option(Path("spacy_hoseq/pipelines/en_hoseq_sm"), help="The pipeline, in each checkout or anywhere"),
    before: Optional[Path] = typer.Option(None, exists=True, help="Another checkout, to compare with"),
    turns: int = typer.Option(5, help="Processes of each version"),
    page: Optional[List[Path]] = typer.Option(None, help="Pages whose table is replaced"),
    # fmt: on
) -> None:
    roots = {"before": before.resolve()} if before is not None else {}
    roots["now"] = ROOT
    found = measure(roots, model, data, turns)
    for name, times in found.items():
        print(name)
        show(HEADER, table_rows(times))
    if before is not None:
        print("now, over before: medians of the turns")
        show(HEADER, compared(found["before"], found["now"]))
    for path in page or []:
        write_table(path, "pipelines", HEADER, table_rows(found["now"]))


def measure(roots: Dict[str, Path], model: Path, data: Path, turns: int) -> Dict[str, List[Times]]:
    """Of each version, the times of its turns."""
    found: Dict[str, List[Times]] = {name: [] for name in roots}
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps(job_of(model, data)), encoding="utf8")
        for _ in range(turns):
            for name, root in roots.items():
                command = [sys.executable, str(WORKER), str(root), str(job)]
                result = subprocess.run(
                    command, env={**environment(), **THREADS}, cwd=folder, check=True, capture_output=True, text=True
                )
                found[name].append(json.loads(result.stdout.splitlines()[-1]))
    return found


def job_of(model: Path, data: Path) -> Dict[str, Any]:
    new = [text for path in NEW for text in paragraphs(data / path)]
    sentences = [text for path in NEW for text in paragraphs(data / path, whole=False)]
    calls = [text for text in sentences if len(text.split()) in LENGTH][:CALLS]
    before = [text for path in BEFORE for text in paragraphs(data / path)]
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
    """Times of the tokenizer; of the tokenizer itself microseconds a token, of one call milliseconds."""
    rows = []
    for name in turns[0]:
        columns = [column for column in COLUMNS if column in turns[0][name]]
        cells = []
        for column in columns:
            unit = "ms" if name == CALL else "µs"
            values = [turn[name][column] for turn in turns]
            if name not in (CALL, TOKENIZER):
                of = "new" if column == "new" else "again"
                values = [turn[name][column] / turn[TOKENIZER][of] for turn in turns]
                unit = "x"
            cells.append(f"{statistics.median(values):.2f} {unit}")
        rows.append([name, *cells, *["-"] * (len(COLUMNS) - len(cells))])
    return rows


def compared(before: List[Times], now: List[Times]) -> List[List[str]]:
    rows = []
    for name, times in now[0].items():
        cells = []
        for column in times:
            ratios = [new[name][column] / old[name][column] for old, new in zip(before, now, strict=True)]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")
        rows.append([name, *cells, *["-"] * (len(COLUMNS) - len(cells))])
    return rows


if __name__ == "__main__":
    typer.run(main)
