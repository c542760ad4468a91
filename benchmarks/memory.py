"""Memory of a pipeline: a very long Doc, component by component, and a stream of texts whose words are new.

    python -m benchmarks.memory --data CORPORA [--model FOLDER] [--tokens 1000000] [--texts 200000]
        [--parts doc --parts texts] [--page docs/measurements/performance.md]

doc: one Doc of the words of EWT's training part, again and again. Of each component the peak above what the process
used before it, and above what it used when the Doc was made. texts: of eight words each, all of them new to the
process; memory after each quarter, as they are and in memory zones of 10,000 texts. Each part runs in a process of its
own.
"""

import gc
import itertools
import json
import random
import string
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import spacy
import typer
from spacy.language import Language

from .machine import THREADS, environment, forget_peak, peak_bytes, used_bytes
from .page import ROOT, show, write_table
from .pipelines import paragraphs

SOURCE = "en_ewt/train.conllu.gz"
ZONE = 10_000  # texts
WORDS = 8  # of a text
QUARTERS = 4
MIB = 2**20
HEADERS = {
    "doc": ("", "above what was there", "above the Doc"),
    "texts": ("", *(f"{n} / {QUARTERS}" for n in range(1, QUARTERS + 1))),
}
Rows = List[List[Any]]


def main(
    # fmt: off
    data: Path = typer.Option(..., exists=True, help="The folder of corpora"),
    model: Path = typer.Option(ROOT / "spacy_hoseq/pipelines/en_hoseq_sm", help="A trained pipeline"),
    tokens: int = typer.Option(1_000_000, help="Of the long Doc"),
    texts: int = typer.Option(200_000, help="Of the stream"),
    parts: Optional[List[str]] = typer.Option(None, help="Parts to measure. Default: all"),
    page: Optional[List[Path]] = typer.Option(None, help="Pages whose tables are replaced"),
    # fmt: on
) -> None:
    options = {"model": str(model), "source": str(data / SOURCE), "tokens": tokens, "texts": texts}
    for part in parts or HEADERS:
        rows = run(part, options)
        cells = [[str(name), *(f"{number:,.0f} MiB" for number in numbers)] for name, *numbers in rows]
        show(HEADERS[part], cells)
        for path in page or []:
            write_table(path, f"memory-{part}", HEADERS[part], cells)


def run(part: str, options: Dict[str, Any]) -> Rows:
    command = [sys.executable, "-m", "benchmarks.memory", part, json.dumps(options)]
    env = {**environment(), **THREADS}
    result = subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True)
    rows: Rows = json.loads(result.stdout.splitlines()[-1])
    return rows


def long_doc(nlp: Language, options: Dict[str, Any]) -> Rows:
    """MiB of each component, and of all of them."""
    n_tokens = options["tokens"]
    nlp.max_length = 20 * n_tokens
    nlp(" ".join(itertools.islice(paragraphs(Path(options["source"])), 50)))
    some = itertools.islice(itertools.cycle(paragraphs(Path(options["source"]))), n_tokens // 10)
    n_characters = 4 * n_tokens
    doc = nlp.make_doc(" ".join(some)[:n_characters])[:n_tokens].as_doc()
    gc.collect()
    own = used_bytes()
    rows = []
    for name, pipe in nlp.pipeline:
        gc.collect()
        forget_peak()
        before = used_bytes()
        doc = pipe(doc)
        peak = peak_bytes()
        rows.append([name, (peak - before) / MIB, (peak - own) / MIB])
    most = [max(column) for column in list(zip(*rows, strict=True))[1:]]
    return [*rows, [f"all, {len(doc):,} tokens", *most]]


def new_texts(nlp: Language, options: Dict[str, Any]) -> Rows:
    """MiB above what was used at first."""
    rows: Rows = []
    for name, size in (("in memory zones", ZONE), ("without", options["texts"] + 1)):
        gc.collect()
        own = used_bytes()
        used = []
        texts = list(_invented(options["texts"], len(name)))
        quarter = len(texts) // QUARTERS
        for first in range(0, quarter * QUARTERS, quarter):
            for start in range(first, first + quarter, size):
                zone = nlp.memory_zone() if size <= len(texts) else nullcontext()
                with zone:
                    for _ in nlp.pipe(texts[start : min(start + size, first + quarter)]):
                        pass
            gc.collect()
            used.append((used_bytes() - own) / MIB)
        rows.append([name, *used])
    return rows


def _invented(n: int, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(n):
        yield " ".join("".join(rng.choices(string.ascii_lowercase, k=9)) for _ in range(WORDS)) + "."


PARTS = {"doc": long_doc, "texts": new_texts}


def measured(part: str, given: str) -> Tuple[str, Rows]:
    options = json.loads(given)
    return part, PARTS[part](spacy.load(options["model"]), options)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        print(json.dumps(measured(*sys.argv[1:3])[1]))
    else:
        typer.run(main)
