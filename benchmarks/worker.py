"""One system in a process of its own.

    python -m benchmarks.worker train NAME CORPUS CHUNKS FOLDER    writes FOLDER/training.json
    python -m benchmarks.worker serve NAME CORPUS CHUNKS FOLDER

`serve` loads the model, labels the test corpus once and writes what it has measured as one line of JSON. Then it
answers each line that it reads with a line of JSON: to `ready` it labels the corpus again, for half a second or more,
and writes the seconds of a pass; to `text` those from raw text to labels, by a pipeline that has seen no word of it,
and by one that has read 100,000 tokens of other text (null for a system that reads no text); to `calls` those of calls
with one text each, of several sizes.
"""

import gc
import json
import sys
import time
from contextlib import redirect_stdout
from itertools import accumulate
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .corpora import Data, Sentence, read_sentences
from .history import WATCH, seconds_to_best
from .machine import peak_bytes
from .system import Caller, Labelled, System
from .systems import SYSTEMS

TURN_SECONDS = 0.5  # a pass of the fastest systems takes a thirtieth of it
CALLED = (23, 1, 5, 50, 100, 230, 500, 1_000, 5_000, 10_000)  # tokens of a text; the first has the most new words
READ_BEFORE = 100_000  # tokens of other text
CALLS = 150  # of each size, at most
COLLECTIONS = 40  # of garbage in a turn, at most: a collection takes longer than a pass over a few sentences


def train(system: System, data: Data, folder: Path) -> Dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    WATCH.start()
    history = system.train(data, folder)
    seconds = time.perf_counter() - start
    if hasattr(system, "templates"):  # several models were trained, one after the other
        seconds = max((until for until, _ in history), default=seconds)
    found = {
        "training_seconds": seconds,
        "training_peak_bytes": peak_bytes(),
        "seconds_to_best": seconds_to_best(history),
        "history": history,
    }
    (folder / "training.json").write_text(json.dumps(found), encoding="utf8")
    return found


def measure(name: str, system: System, data: Data, folder: Path) -> Tuple[Dict[str, Any], Any]:
    """Loading, accuracy, sizes. Loading comes first, when spaCy is imported, but nothing of ours."""
    start = time.perf_counter()
    system.load(folder)
    loading = time.perf_counter() - start
    tags, chunks = (read_sentences(corpus / "test.spacy") for corpus in data)
    words = [sentence.words for sentence in tags]
    labelled = system.read(system.tag(system.prepare(words)))
    known = {word for sentence in read_sentences(data.tags / "train.spacy") for word in sentence.words}
    model = system.model(folder)
    found = {
        "system": name,
        "version": system.version(),
        "tokens": labelled.n_tokens,
        **tag_scores(labelled, tags, known),
        **chunk_scores(labelled, chunks),
        "load_seconds": None if model is None else loading,
        "model_bytes": None if model is None else bytes_of(model),
    }
    return found, words


def bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def tag_scores(labelled: Labelled, gold: List[Sentence], known: Any) -> Dict[str, Any]:
    if labelled.tags is None:
        return {"accuracy": None, "unknown_accuracy": None}
    guessed = [tag for sentence in labelled.tags for tag in sentence]
    pairs = [pair for s in gold for pair in zip(s.words, s.tags, strict=True)]
    right = [guess == tag for guess, (_, tag) in zip(guessed, pairs, strict=True)]
    unknown = [ok for ok, (word, _) in zip(right, pairs, strict=True) if word not in known]
    return {"accuracy": sum(right) / len(right), "unknown_accuracy": sum(unknown) / max(1, len(unknown))}


def chunk_scores(labelled: Labelled, gold: List[Sentence]) -> Dict[str, Any]:
    if labelled.chunks is None:
        return {"chunk_f": None}
    pairs = list(zip(labelled.chunks, gold, strict=True))
    right = sum(len(found & sentence.chunks) for found, sentence in pairs)
    return {"chunk_f": 2 * right / max(1, sum(len(found) + len(sentence.chunks) for found, sentence in pairs))}


def timed(system: System, words: Any) -> float:
    """Seconds of a pass, the mean of so many that the clock and cold caches matter little.

    Garbage of a pass is not collected in the next one: before each, unless passes are so short that they leave little.
    """
    passes, total, since_collection = 0, 0.0, TURN_SECONDS
    while total < TURN_SECONDS:
        prepared = system.prepare(words)
        if since_collection > TURN_SECONDS / COLLECTIONS:
            gc.collect()
            since_collection = 0.0
        start = time.perf_counter()
        result = system.tag(prepared)
        seconds = time.perf_counter() - start
        del result
        passes, total, since_collection = passes + 1, total + seconds, since_collection + seconds
    return total / passes


def first_sentences(path: Path, n_tokens: int) -> List[List[str]]:
    """The words of the first sentences of a corpus, of about so many tokens."""
    sentences = [sentence.words for sentence in read_sentences(path)]
    n_before = accumulate(map(len, sentences), initial=0)
    return [words for words, n in zip(sentences, n_before, strict=False) if n < n_tokens]


def timed_text(
    system: System, folder: Path, words: List[List[str]], before: Sequence[List[str]] = ()
) -> Optional[float]:
    """Seconds from the texts of all sentences to labels, each seen for the first time. before: sentences that the
    pipeline has read by then; without any, each word is new."""
    read = system.reader(folder)
    if read is None:
        return None
    texts = [" ".join(sentence) for sentence in words]
    list(read([".", *(" ".join(sentence) for sentence in before)]))  # and what a pipeline makes once
    gc.collect()
    start = time.perf_counter()
    for _ in read(texts):
        pass
    return time.perf_counter() - start


def timed_calls(system: System, folder: Path, words: List[List[str]]) -> Optional[Dict[str, Any]]:
    """Seconds of calls with one text each. first, second: of the same text, the first after loading. sizes: tokens of a
    text -> of texts that are new, one after the other, and of the same texts again."""
    call = system.caller(folder)
    if call is None:
        return None
    stream, at = [word for sentence in words for word in sentence], CALLED[0]
    text = " ".join(stream[: CALLED[0]])
    first, second = seconds_of_call(call, text), seconds_of_call(call, text)
    sizes = {}
    for size in CALLED:
        texts: List[str] = []
        at = at if at + size <= len(stream) else 0  # (long texts hold words that shorter ones had)
        while len(texts) < CALLS and (at + size <= len(stream) or not texts):
            texts.append(" ".join(stream[at : at + size]))
            at += size
        sizes[size] = {kind: [seconds_of_call(call, text) for text in texts] for kind in ("new", "again")}
    return {"first": first, "second": second, "sizes": sizes}


def seconds_of_call(call: Caller, text: str) -> float:
    start = time.perf_counter()
    call(text)
    return time.perf_counter() - start


def main(task: str, name: str, tags: str, chunks: str, folder: str) -> None:
    answers = sys.stdout
    with redirect_stdout(sys.stderr):
        system, data = SYSTEMS[name].make(), Data(Path(tags), Path(chunks))
        if task == "train":
            train(system, data, Path(folder))
            return
        found, words = measure(name, system, data, Path(folder))
        print(json.dumps(found), file=answers, flush=True)
        for line in sys.stdin:
            answer: Any
            if line.strip() == "text":
                before = first_sentences(data.tags / "train.spacy", READ_BEFORE)
                answer = {
                    "text_seconds": timed_text(system, Path(folder), words),
                    "later_seconds": timed_text(system, Path(folder), words, before),
                }
            elif line.strip() == "calls":
                answer = timed_calls(system, Path(folder), words)
            else:
                answer = {"seconds": timed(system, words), "peak_bytes": peak_bytes()}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
