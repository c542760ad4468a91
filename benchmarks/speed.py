"""Speed and memory of the pipelines of the package on raw text.

    python -m benchmarks.speed --data CORPORA [--only TABLE] [--turns 3] [--page docs/measurements/performance.md ...]

Processor time of one core, medians of the turns. A turn of a row is a new process, in which the tokenizer reads the
same texts with a vocabulary of its own. *new*: words of the text that the process has not seen, though it has read
other text before. Tables: pipelines (over the tokenizer's time), chinese speed (characters a second), calls (one text
at a time), memory (a stream of new words), serving (a new process).
"""

import gc
import json
import random
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc

import spacy_hoseq

from .corpora import texts_of
from .machine import environment, peak_bytes, used_bytes
from .page import show, write_table

WORDS = ["hoseq_sentences", "hoseq_tagger", "hoseq_pos", "hoseq_morphologizer"]
ROWS: dict[str, list[str] | None] = {
    "tags": ["hoseq_tagger"],
    "tags, parts of speech, features, sentences": WORDS,
    "these and chunks": [*WORDS, "hoseq_chunker"],
    "all": None,
}
CHINESE: dict[str, list[str] | None] = {"words": [], "words, tags": ["hoseq_tagger"], "all": None}
ENGLISH = (
    "en_ewt/train.conllu.gz",
    "en_ewt/dev.conllu.gz",
    "en_gum/dev.conllu.gz",
)  # read before, then measured
GSD = ("zh_ud_gsd/train.conllu.gz", "zh_ud_gsd/dev.conllu")
SIZES = {"sentences": 1, "paragraphs": 5}  # sentences of a text
BEFORE = 8_000  # sentences that are read before
LENGTHS, CALLS = range(20, 27), 200  # words of the texts of one call
STREAM, PARTS, NEW_WORDS, ZONE = (
    100_000,
    4,
    8,
    5_000,
)  # texts; words of a text; texts of a memory zone
SERVED = ("en", "zh", "af", "cy")


def main(
    data: Path = typer.Option(..., help="The folder of corpora", exists=True),
    only: list[str] | None = typer.Option(None, help="Tables. Default: all"),
    turns: int = 3,
    page: list[Path] | None = typer.Option(None, help="Pages whose tables are replaced"),
) -> None:
    for name in only or TABLES:
        rows = TABLES[name](data, turns)
        show(HEADERS[name], rows)
        for each in page or []:
            write_table(each, name, HEADERS[name], rows)


HEADERS = {
    "pipelines": ("", "words a text", "new text", "read again", "ready Docs"),
    "chinese speed": ("", "new text", "read again"),
    "calls": ("", "two new words", "no new words"),
    "memory": ("", *(f"{STREAM * n // PARTS:,} texts" for n in range(1, PARTS + 1))),
    "serving": ("", "load", "first text", "next text", "memory"),
}


def pipelines(data: Path, turns: int) -> list[list[str]]:
    rows = []
    for size in SIZES:
        for name in ROWS:
            times = medians([asked("read", data, "en", size, name) for _ in range(turns)])
            over = {"new": "tokenizer new", "again": "tokenizer again", "ready": "tokenizer again"}
            ratios = [f"{times[key] / times[tokenizer]:.2f}x" for key, tokenizer in over.items()]
            rows.append([f"{size}: {name}", f"{times['length']:.0f}", *ratios])
        own = [f"{1e6 * times[key]:.2f} µs" for key in ("tokenizer new", "tokenizer again")]
        rows.insert(-len(ROWS), [f"{size}: tokenizer, a word", f"{times['length']:.0f}", *own, "-"])
    return rows


def chinese(data: Path, turns: int) -> list[list[str]]:
    rows = []
    for name in CHINESE:
        times = medians([asked("read", data, "zh", "sentences", name) for _ in range(turns)])
        rows.append(
            [name, *(f"{1 / times[key]:,.0f}" for key in ("new characters", "again characters"))]
        )
    return rows


def calls(data: Path, turns: int) -> list[list[str]]:
    rows = []
    for name in ("tags", "all"):
        times = medians([asked("call", data, name) for _ in range(turns)])
        rows.append([name, *(f"{1000 * times[key]:.2f} ms" for key in ("new", "known"))])
    return rows


def memory(data: Path, turns: int) -> list[list[str]]:
    """Once: a stream takes long."""
    rows = []
    for name in ("tokenizer", "en", "en, in memory zones"):
        used = asked("stream", data, name)
        rows.append([name, *(f"{size / 2**20:,.0f} MiB" for size in used.values())])
    return rows


def serving(data: Path, turns: int) -> list[list[str]]:
    rows = []
    for name in SERVED:
        of = medians([asked("serve", data, name) for _ in range(turns)])
        times = [f"{of['load']:.2f} s", *(f"{1000 * of[key]:.0f} ms" for key in ("first", "next"))]
        rows.append([name, *times, f"{of['memory'] / 2**20:,.0f} MiB"])
    return rows


TABLES: dict[str, Callable[[Path, int], list[list[str]]]] = {
    "pipelines": pipelines,
    "chinese speed": chinese,
    "calls": calls,
    "memory": memory,
    "serving": serving,
}


def asked(*words: Any) -> dict[str, float]:
    """What a new process measures."""
    command = [sys.executable, "-m", "benchmarks.speed", *map(str, words)]
    done = subprocess.run(command, env=environment(), check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def medians(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def seconds_of(work: Callable[[Any], Iterable[Any]], given: Iterable[Any]) -> float:
    start = time.process_time()
    for _ in work(given):
        pass
    return time.process_time() - start


def only_with(nlp: Language, components: Sequence[str] | None) -> Language:
    """A pipeline of some of its components."""
    for name in [
        name for name in nlp.pipe_names if components is not None and name not in components
    ]:
        nlp.disable_pipe(name)
    return nlp


def read(data: str, lang: str, size: str, row: str) -> dict[str, float]:
    """Seconds a word, or a character, of a row."""
    files = [Path(data) / name for name in (ENGLISH if lang == "en" else GSD)]
    before, *measured = (texts_of(path, lang, SIZES[size]) for path in files)
    new = [text for texts in measured for text in texts]
    nlp = only_with(spacy_hoseq.load(lang), (ROWS if lang == "en" else CHINESE)[row])
    tokenizer: Any = spacy.blank("en").tokenizer
    gc.collect()
    times: dict[str, float] = {}
    for name, work in {"tokenizer ": tokenizer.pipe, "": nlp.pipe}.items():
        seconds_of(work, before[: BEFORE // SIZES[size]])
        times |= {f"{name}{key}": seconds_of(work, new) for key in ("new", "again")}
    docs = [nlp.make_doc(text) for text in new]
    n_words, n_characters = sum(map(len, docs)), sum(map(len, new))
    times["ready"] = seconds_of(nlp.pipe, docs)
    of_characters = {f"{key} characters": times[key] / n_characters for key in ("new", "again")}
    return {
        **{key: value / n_words for key, value in times.items()},
        **of_characters,
        "length": n_words / len(docs),
    }


def call(data: str, row: str) -> dict[str, float]:
    """Seconds of `nlp(text)` on a sentence with two words that are new, and of the same again."""
    before, new, _ = (texts_of(Path(data) / name, "en") for name in ENGLISH)
    nlp = only_with(spacy_hoseq.load("en"), ROWS[row])
    for _ in nlp.pipe(before[:BEFORE]):
        pass
    rng = random.Random(0)
    known = [text for text in new if len(text.split()) in LENGTHS][:CALLS]
    texts = [f"{invented(rng)} {text} {invented(rng)}" for text in known]
    for text in known:
        nlp(text)
    return {
        "new": seconds_of(map_of(nlp), texts) / CALLS,
        "known": seconds_of(map_of(nlp), texts) / CALLS,
    }


def map_of(nlp: Language) -> Callable[[Iterable[str]], Iterable[Doc]]:
    return lambda texts: map(nlp, texts)


def invented(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=9))


def stream(_: str, row: str) -> dict[str, float]:
    """Bytes above the start after each part of a stream of invented words."""
    nlp = spacy.blank("en") if row == "tokenizer" else spacy_hoseq.load("en")
    nlp("One text first.")
    start, rng, used = used_bytes(), random.Random(0), {}
    for part in range(PARTS):
        for _zone in range(STREAM // PARTS // ZONE):
            texts = [" ".join(invented(rng) for _ in range(NEW_WORDS)) for _ in range(ZONE)]
            with nlp.memory_zone() if "zones" in row else nullcontext():
                for _doc in nlp.pipe(texts):
                    pass
        gc.collect()
        used[str(part)] = float(used_bytes() - start)
    return used


def serve(_: str, name: str) -> dict[str, float]:
    """What a server waits for. The imports are done before: a server has them."""
    start = time.perf_counter()
    nlp = spacy_hoseq.load(name)
    loaded = time.perf_counter()
    nlp("A first text loads what is loaded late.")
    first = time.perf_counter()
    nlp("The next one is short, too.")
    times = {"load": loaded - start, "first": first - loaded, "next": time.perf_counter() - first}
    return {**times, "memory": float(peak_bytes())}


WORKERS: dict[str, Callable[..., dict[str, float]]] = {
    "read": read,
    "call": call,
    "stream": stream,
    "serve": serve,
}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WORKERS:
        print(json.dumps(WORKERS[sys.argv[1]](*sys.argv[2:])))
    else:
        typer.run(main)
