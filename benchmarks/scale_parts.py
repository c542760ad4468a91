"""The parts of `benchmarks.scale`, each run in a process of its own: python -m benchmarks.scale_parts PART OPTIONS

OPTIONS (JSON): model (folder), corpus (a .spacy file for the words), tokens, and what the part takes. Writes one line
of JSON: a list of [case, measure, value].
"""

import gc
import json
import statistics
import sys
import time
from contextlib import nullcontext, redirect_stdout
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_hoseq.batch import Annotator
from spacy_hoseq.batch.engines import here
from spacy_hoseq.batch.engines import processes as several
from spacy_hoseq.batch.parts import InputPart
from spacy_hoseq.batch.work import Work

from .corpora import read_sentences
from .machine import forget_peak, peak_bytes, used_bytes

Measured = List[Tuple[str, str, float]]
ZONE_TOKENS = 100_000  # of one memory zone
NEW_WORD = 20  # one token in so many is a word that was never there before
PASSES = 3
TOGETHER = 20  # sentences of a longer text
FILES = 20  # that `hoseq apply` writes


def stream(options: Dict[str, Any]) -> Measured:
    """A stream of generated Docs; what memory is used at every tenth of it."""
    nlp, n_tokens, way = loaded(options["model"]), options["tokens"], options["way"]
    seen, used = 0, list[Tuple[int, float]]()
    step = max(ZONE_TOKENS, n_tokens // 10)
    sentences = new_words(words_of(options["corpus"]))
    start = time.perf_counter()
    while seen < n_tokens:
        with nlp.memory_zone() if way == "memory zones" else nullcontext():
            batch = (Doc(nlp.vocab, words=words) for words in up_to(sentences, ZONE_TOKENS))
            for doc in batch if way == "Docs only" else nlp.pipe(batch):
                seen += len(doc)
        if seen >= (len(used) + 1) * step:
            gc.collect()
            used.append((seen, used_bytes() / 2**20))
    seconds = time.perf_counter() - start
    at = [(f"MiB at {used[i][0] / 1e6:.0f} M", used[i][1]) for i in sorted({0, len(used) // 2, len(used) - 1})]
    tokens, memory = np.array(used).T
    slope = np.polyfit(tokens / 1e6, memory, 1)[0] if len(used) > 1 else 0.0
    shown = [("tokens", seen), *at, ("MiB a million tokens", slope), ("tokens/s", seen / seconds)]
    return [(way, measure, float(value)) for measure, value in shown]


def long_doc(options: Dict[str, Any]) -> Measured:
    """One Doc; memory above what the Doc itself and the loaded model use."""
    nlp = loaded(options["model"])
    doc = one_doc(nlp, words_of(options["corpus"]), options["tokens"], options["sentences"])
    gc.collect()
    forget_peak()
    before = used_bytes()
    start = time.perf_counter()
    for _, pipe in nlp.pipeline:
        doc = pipe(doc)
    seconds = time.perf_counter() - start
    case = f"{options['name']}, {'with' if options['sentences'] else 'without'} sentence ends"
    above = max(0, peak_bytes() - before) / 2**20
    return [(case, "tokens", len(doc)), (case, "seconds", seconds), (case, "MiB above the Doc", above)]


def processes(options: Dict[str, Any]) -> Measured:
    """One process and two, in turn, over texts and Docs of one and of several sentences; without any component, where
    what is left are the tokenizer, the start of the processes, and Docs that travel as bytes; and with processes that
    write files of their own (`hoseq apply`)."""
    nlp, pipeline = loaded(options["model"]), Annotator(options["model"])
    sentences = list(up_to(cycle(words_of(options["corpus"])), options["tokens"]))
    together = [sum(sentences[i : i + TOGETHER], []) for i in range(0, len(sentences), TOGETHER)]
    only = spacy.blank("en")
    texts, longer = [" ".join(words) for words in sentences], [" ".join(words) for words in together]
    cases: Dict[str, Tuple[Callable[[], List[Any]], Callable[[List[Any], int], Any]]] = {
        "texts, a sentence each": (lambda: texts, partial(piped, nlp)),
        f"texts, {TOGETHER} sentences each": (lambda: longer, partial(piped, nlp)),
        f"texts, {TOGETHER} sentences each, tokenizer only": (lambda: longer, partial(piped, only)),
        f"Docs, {TOGETHER} sentences each": (lambda: list(docs_of(nlp, together)), partial(piped, nlp)),
        "hoseq apply, texts of a sentence": (lambda: texts, partial(applied, pipeline)),
        f"hoseq apply, texts of {TOGETHER} sentences": (lambda: longer, partial(applied, pipeline)),
    }
    result: Measured = []
    for name, (given, tagged) in cases.items():
        n = sum(len(nlp.make_doc(one) if isinstance(one, str) else one) for one in given())
        taken: Dict[int, List[float]] = {1: [], 2: []}
        for _ in range(PASSES):
            for n_process, seconds in taken.items():
                ready = given()
                start = time.perf_counter()
                tagged(ready, n_process)
                seconds.append(time.perf_counter() - start)
        one, two = (statistics.median(seconds) for seconds in taken.values())
        shown = [("tokens", n), ("tokens/s, one process", n / one), ("tokens/s, two", n / two), ("ratio", one / two)]
        result += [(name, measure, float(value)) for measure, value in shown]
    return result


def docs_of(nlp: Language, sentences: List[List[str]]) -> Iterator[Doc]:
    return (Doc(nlp.vocab, words=words) for words in sentences)


def piped(nlp: Language, given: List[Any], n_process: int) -> None:
    for _ in nlp.pipe(given, n_process=n_process):
        pass


def applied(annotator: Annotator, texts: List[str], n_process: int) -> None:
    """What `hoseq apply` does with texts: .spacy files of FILES parts, which are not written."""
    size = -(-len(texts) // FILES)
    cuts = range(0, len(texts), size)
    parts = [InputPart(n, [str(i)] * size, list(texts[i : i + size]), None, [], 0) for n, i in enumerate(cuts)]
    parts = [part._replace(ids=part.ids[: len(part.texts)]) for part in parts]
    work = Work(annotator, "spacy")
    done = list(here(work, parts) if n_process == 1 else several(work, parts, n_process))
    if any(one.errors for one in done):
        raise RuntimeError(done)


def labels(options: Dict[str, Any]) -> Measured:
    """A tagger whose training corpus has so many labels (`benchmarks.scale` makes it)."""
    nlp = loaded(options["model"])
    words = words_of(options["corpus"])
    n, seconds = sum(map(len, words)), []
    for _ in range(PASSES + 1):
        docs = [Doc(nlp.vocab, words=sentence) for sentence in words]
        gc.collect()
        start = time.perf_counter()
        for _ in nlp.pipe(docs):
            pass
        seconds.append(time.perf_counter() - start)
    tagger: Any = nlp.get_pipe("hoseq_tagger")
    case, speed = f"{len(tagger.labels):,}", n / statistics.median(seconds[1:])
    return [(case, "microseconds a token", 1e6 / speed), (case, "tokens/s", speed)]


PARTS: Dict[str, Callable[[Dict[str, Any]], Measured]] = {
    "stream": stream,
    "long-doc": long_doc,
    "processes": processes,
    "labels": labels,
}


def loaded(model: str) -> Language:
    """After a first sentence, so that what is made once is there."""
    nlp = spacy.load(model)
    for _ in nlp.pipe([Doc(nlp.vocab, words=["A", "first", "sentence", "."])]):
        pass
    return nlp


def words_of(corpus: str) -> List[List[str]]:
    return [sentence.words for sentence in read_sentences(Path(corpus)) if sentence.words]


def up_to(sentences: Iterator[List[str]], n_tokens: int) -> Iterator[List[str]]:
    """The next sentences, until they have so many tokens."""
    while n_tokens > 0:
        words = next(sentences)
        n_tokens -= len(words)
        yield words


def new_words(sentences: List[List[str]], every: int = NEW_WORD) -> Iterator[List[str]]:
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


def one_doc(nlp: Language, sentences: List[List[str]], n_tokens: int, with_ends: bool) -> Doc:
    parts = list(up_to(cycle(sentences), n_tokens))
    words = list(islice((word for part in parts for word in part), n_tokens))
    starts = [i == 0 for part in parts for i in range(len(part))][:n_tokens] if with_ends else None
    return Doc(nlp.vocab, words=words, sent_starts=starts)  # type: ignore[arg-type]


if __name__ == "__main__":
    answers = sys.stdout
    with redirect_stdout(sys.stderr):
        found = PARTS[sys.argv[1]](json.loads(sys.argv[2]))
    print(json.dumps(found), file=answers)
