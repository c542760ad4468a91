"""Measure a pipeline that finds entities: precision, recall and F of one type and of all, speed, patterns. Writes JSON.

    python measure.py FOLDER/MODEL TEST.spacy OUTPUT.json [--label ORG] [--expected]

--expected: not the best labelling, but the entities whose probability is high enough (`span_threshold` of the chunker).
How high is enough, each half of TEST learns from the other: the sentences in turn are of the one and of the other.
FOLDER.jsonl, the log of `spacy.ConsoleLogger.v3`, tells how F grew while it was trained, if it is there.
"""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin
from spacy.util import minibatch

from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.readers.annotated import annotated_with

PASSES = 3
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
COMPONENT = "hoseq_chunker"
Entity = tuple[int, int, str]


def main(model: Path, test: Path, output: Path, label: str = "ORG", expected: bool = False) -> None:
    nlp = spacy.load(model)
    gold = list(DocBin().from_disk(test).get_docs(nlp.vocab))
    right = [entities(doc) for doc in gold]
    thresholds: list[float | None] = [None, None]
    guesses: dict[float | None, list[set[Entity]]] = at_thresholds(nlp, gold) if expected else {}
    if expected:
        thresholds = each_from_the_other(guesses, right, label)
    seconds: list[float] = []
    for _ in range(1 if expected else PASSES):
        nlp.get_pipe(COMPONENT).cfg["span_threshold"] = thresholds[0]  # type: ignore[attr-defined]
        pass_seconds, docs = timed(nlp, gold)
        seconds.append(pass_seconds)
        guesses[thresholds[0]] = [entities(doc) for doc in docs]
    guess = [guesses[thresholds[i % 2]][i] for i in range(len(gold))]
    result = {**scores(guess, right, label), "thresholds": thresholds}
    result["tokens"] = sum(map(len, gold))
    result["tokens_per_second"] = result["tokens"] / statistics.median(seconds)
    result["patterns"] = n_patterns(nlp)
    result["epochs"] = nlp.config["training"]["max_epochs"]
    history = model.parent.with_suffix(".jsonl")
    if history.exists():
        result["curve"] = [
            [line["epoch"], line["scores"]["ents_f"] / 100] for line in srsly.read_jsonl(history)
        ]
    timings = model.parent / "timings.json"
    if timings.exists():
        result.update(srsly.read_json(timings))
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)


def at_thresholds(
    nlp: spacy.language.Language, gold: list[Doc]
) -> dict[float | None, list[set[Entity]]]:
    """The entities of each Doc at each of THRESHOLDS, from one computation of their probabilities."""
    chunker: Any = nlp.get_pipe(COMPONENT)
    guesses: dict[float | None, list[set[Entity]]] = {threshold: [] for threshold in THRESHOLDS}
    for docs in minibatch(gold, nlp.batch_size):
        reading = chunker.read([annotated_with(doc, []) for doc in docs])
        for threshold in THRESHOLDS:
            for found in chunker.chunks(reading, threshold):
                guesses[threshold].append(set(found.items))
    return guesses


def each_from_the_other(
    guesses: dict[float | None, list[set[Entity]]], gold: Sequence[set[Entity]], label: str
) -> list[float | None]:
    """For the even and for the odd sentences: the threshold with the best F on the others."""

    def f(threshold: float | None, half: int) -> float:
        return float(scores(guesses[threshold][half::2], gold[half::2], label)["f"])

    return [max(guesses, key=lambda threshold: f(threshold, 1 - half)) for half in (0, 1)]


def scores(guess: Sequence[set[Entity]], gold: Sequence[set[Entity]], label: str) -> dict[str, Any]:
    """Of each sentence the entities that are right, those found, and gold ones; and what these add up to: of one type,
    and if there are others, of all."""
    one = [counts(_of(a, label), _of(b, label)) for a, b in zip(guess, gold, strict=True)]
    every = [counts(a, b) for a, b in zip(guess, gold, strict=True)]
    result = {"sentences": one, **figures(one)}
    return result if every == one else {**result, "all": figures(every)}


def counts(guess: set[Entity], gold: set[Entity]) -> list[int]:
    return [len(guess & gold), len(guess), len(gold)]


def figures(rows: list[list[int]]) -> dict[str, float]:
    right, guess, gold = map(sum, zip(*rows, strict=True))
    return {
        "p": right / max(1, guess),
        "r": right / max(1, gold),
        "f": 2 * right / max(1, guess + gold),
    }


def entities(doc: Doc) -> set[Entity]:
    return {(entity.start, entity.end, entity.label_) for entity in doc.ents}


def n_patterns(nlp: spacy.language.Language) -> int | None:
    """Weights of higher-order features that training has moved; None without patterns."""
    shim = weights_of(nlp.get_pipe(COMPONENT).model)  # type: ignore[attr-defined]
    if "patterns" not in shim.parameters:
        return None
    return int((shim.parameters["patterns"].values != 0).sum())


def timed(nlp: spacy.language.Language, gold: list[Doc]) -> tuple[float, list[Doc]]:
    """Seconds from ready docs to docs with entities, and the docs."""
    ready = [annotated_with(doc, []) for doc in gold]
    start = time.perf_counter()
    docs = list(nlp.pipe(ready))
    return time.perf_counter() - start, docs


def _of(some: set[Entity], label: str) -> set[Entity]:
    return {entity for entity in some if entity[2] == label}


if __name__ == "__main__":
    typer.run(main)
