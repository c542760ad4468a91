"""Any amount of text: what writing costs, two processes, memory, and other ways to do it.

    python -m benchmarks.batch --output metrics/batch.csv [--texts 2000] [--tokens 10000000] [--parts speed ...]
        [--page docs/measurements/performance.md]

Texts are made of the sentences of assets/en, eight in each. Every way is measured PASSES times in turn with the others;
medians are written. speed: CPU time of one core. processes, peers: two processes on two cores, their start included.
memory: a stream in which one word in ten was never there before. Start it on a machine that does nothing else.
"""

import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from wasabi import msg

import spacy_hoseq
from spacy_hoseq.batch import Annotator
from spacy_hoseq.batch.formats import Work
from spacy_hoseq.batch.inputs import InputOptions, parts_of
from spacy_hoseq.batch.processes import in_processes

from .machine import THREADS, description, used_bytes
from .page import show, write_table

CORPUS = Path("assets/en/train.conll")
TOGETHER = 8  # sentences of a text
PASSES = 5
PART = 250  # texts of a part
Measured = List[Tuple[str, str, float]]


def sentences() -> List[List[str]]:
    blocks = CORPUS.read_text(encoding="utf8").strip().split("\n\n")
    return [[line.split()[0] for line in block.splitlines()] for block in blocks]


def texts_of(n: int) -> List[str]:
    rng, known = np.random.default_rng(0), sentences()
    return [" ".join(" ".join(known[i]) for i in rng.integers(0, len(known), TOGETHER)) for _ in range(n)]


def in_turn(
    ways: Dict[str, Callable[[], object]],
    tokens: int,
    unit: str,
    passes: int = PASSES,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Median seconds of each way, the best of none: all are measured in turn."""
    seconds: Dict[str, List[float]] = {name: [] for name in ways}
    for _ in range(passes):
        for name, way in ways.items():
            start = clock()
            way()
            seconds[name].append(clock() - start)
    found = {name: statistics.median(of_way) for name, of_way in seconds.items()}
    return [m for name, s in found.items() for m in ((name, "seconds", s), (name, unit, tokens / s))]


def speed(n_texts: int, _: int) -> Measured:
    nlp, annotate, texts = spacy_hoseq.load("en"), Annotator("en"), texts_of(n_texts // 4)
    table = pa.table({"id": [str(i) for i in range(len(texts))], "text": texts})
    tokens = sum(map(len, nlp.pipe(texts)))
    annotate(table.slice(0, 10))

    def pipe() -> None:
        for _ in nlp.pipe(texts):
            pass

    def written() -> None:
        pq.write_table(annotate(table), io.BytesIO(), compression="zstd")

    pa.set_cpu_count(1)
    return in_turn({"nlp.pipe": pipe, "texts to Parquet": written}, tokens, "tokens/s", clock=time.process_time)


def processes(n_texts: int, _: int) -> Measured:
    """Parts that are done, by one process and by two."""
    with tempfile.TemporaryDirectory() as folder:
        file = lines(Path(folder) / "texts.jsonl", texts_of(n_texts))
        work = Work(Annotator("en"), "parquet")

        def done(n: int) -> int:
            parts = parts_of({file.name: file}, InputOptions(part_size=PART))
            return sum(result.entry["tokens"] for result in in_processes(work, parts, n))

        tokens = done(1)
        return in_turn({"one process": lambda: done(1), "two processes": lambda: done(2)}, tokens, "tokens/s", 3)


def peers(n_texts: int, _: int) -> Measured:
    """Two processes each, everything included: start, loading, reading, writing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = lines(folder / "in.jsonl", texts_of(n_texts))
        spacy_hoseq.load("en").to_disk(folder / "model")
        model = str(folder / "model")
        programs = {
            "hoseq apply": ["-m", "spacy", "hoseq", "apply", model, str(path), "-o", str(folder / "out"), "-j", "2"],
            "spacy apply": ["-m", "spacy", "apply", model, str(path), str(folder / "docs.spacy"), "-n", "2", "-F"],
            "nlp.pipe(n_process=2)": ["-c", PIPE, model, str(path)],
            "EDS-NLP, two processes": ["-c", EDS, model, str(path)],
        }
        programs["hoseq apply"] += ["--force", "--part-size", str(PART)]
        try:
            import edsnlp  # noqa: F401
        except ImportError:
            del programs["EDS-NLP, two processes"]

        def run(arguments: List[str]) -> None:
            done = subprocess.run([sys.executable, *arguments], capture_output=True, env={**os.environ, **THREADS})
            if done.returncode:
                raise RuntimeError(done.stderr.decode()[-2000:])

        tokens = sum(map(len, spacy_hoseq.load("en").pipe(texts_of(n_texts))))
        ways = {name: (lambda arguments=arguments: run(arguments)) for name, arguments in programs.items()}
        return in_turn(ways, tokens, "tokens/s", 3)


PIPE = """
import sys, srsly, spacy
nlp = spacy.load(sys.argv[1])
texts = [line["text"] for line in srsly.read_jsonl(sys.argv[2])]
print(sum(len(doc) for doc in nlp.pipe(texts, n_process=2)))
"""
EDS = """
import sys, srsly, edsnlp, spacy
if __name__ == "__main__":
    nlp = spacy.load(sys.argv[1])
    texts = [line["text"] for line in srsly.read_jsonl(sys.argv[2])]
    stream = edsnlp.data.from_iterable(texts).map(nlp).map(lambda doc: [(t.idx, t.tag_, t.pos_) for t in doc])
    print(sum(map(len, stream.set_processing(backend="multiprocessing", num_cpu_workers=2))))
"""


def memory(_: int, n_tokens: int) -> Measured:
    annotate, seen, at = Annotator("en", outputs=["tag", "pos", "spans"]), 0, [0.0]
    for batch in annotate.stream(batches(n_tokens)):
        seen += sum(map(len, batch.column("tokens")))
        if seen // 1_000_000 >= len(at):
            at.append(used_bytes() / 2**20)
            msg.info(f"{seen:,} tokens, {at[-1]:.0f} MiB")
    shown = [(f"MiB at {i} M", value) for i, value in enumerate(at) if i]
    grown = ("grown after the first million", at[-1] - at[1])
    return [("memory", name, value) for name, value in [("tokens", float(seen)), *shown, grown]]


def batches(n_tokens: int) -> Iterator[pa.RecordBatch]:
    words, number = new_words(sentences(), 10), 0
    while n_tokens > 0:
        texts = [" ".join(w for sentence in islice(words, TOGETHER) for w in sentence) for _ in range(1000)]
        n_tokens -= sum(text.count(" ") + 1 for text in texts)
        number += 1000
        yield pa.record_batch({"id": [str(number + i) for i in range(1000)], "text": texts})


def new_words(sentences: List[List[str]], every: int) -> Iterator[List[str]]:
    """These sentences again and again; every so many words one gets an ending that makes it a new one."""
    seen = 0
    for words in cycle(sentences):
        changed = list(words)
        for i in range(-seen % every, len(words), every):
            changed[i] = f"{words[i]}{letters((seen + i) // every)}"
        seen += len(words)
        yield changed


def letters(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 26)
        text += chr(ord("a") + digit)
    return text


def lines(path: Path, texts: List[str]) -> Path:
    rows = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts))
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf8")
    return path


PARTS: Dict[str, Callable[[int, int], Measured]] = {
    "speed": speed,
    "processes": processes,
    "peers": peers,
    "memory": memory,
}


def main(
    output: Path = typer.Option(Path("metrics/batch.json"), help="File to write; other parts in it stay"),
    texts: int = typer.Option(4000, help="Of a run"),
    tokens: int = typer.Option(10_000_000, help="Of the stream for memory"),
    parts: Optional[List[str]] = typer.Option(None, help="Parts to measure. Default: all"),
    page: Optional[Path] = typer.Option(None, help="Page whose tables are replaced"),
) -> None:
    """Measure, and write what was measured."""
    os.environ.update(THREADS)
    rows: Dict[str, Any] = json.loads(output.read_text()) if output.exists() else {}
    for part in parts or list(PARTS):
        rows[part] = PARTS[part](texts, tokens)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(rows, indent=1))
    machine = ", ".join(f"{key} {value}" for key, value in description().items())
    for part, measured in rows.items():
        cells = [(case, measure, f"{x:,.0f}" if x >= 100 else f"{x:.2f}") for case, measure, x in measured]
        show(("", "measure", "value"), cells)
        if page is not None:
            write_table(page, f"batch-{part}", ("", "measure", "value"), cells, machine)


if __name__ == "__main__":
    typer.run(main)
