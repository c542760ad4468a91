"""Measure every strategy of a trained bidirectional tagger: accuracy, or precision, recall and F of chunks; tokens/s.

    python bidirectional.py MODEL TEST.spacy OUTPUT.json

Tags of the test corpus are given to a model that makes chunks, and hidden from one that makes tags.
"""

import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from tqdm import tqdm

NAME = "hoseq_bidirectional_tagger"
STRATEGIES = (
    "left_to_right",
    "right_to_left",
    "dependency_network",
    "easiest_last",
    "easiest_first",
    "full_bidirectional",
)
EXACT = ("left_to_right", "right_to_left")  # without pruning these are still quick at order 1
PASSES = 3


def main(model: Path, test: Path, output: Path) -> None:
    component = spacy.load(model).get_pipe(NAME)
    makes_chunks = component.cfg["representation"] is not None
    result: dict[str, Any] = {
        "task": "chunks" if makes_chunks else "tags",
        "order": component.model.attrs["order"],
        "representation": component.cfg["representation"],
        "model_bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "strategies": {},
    }
    for strategy in tqdm(STRATEGIES, desc=f"{model.parent.name}"):
        nlp = spacy.load(model, config={"components": {NAME: {"strategy": strategy}}})
        gold = list(DocBin().from_disk(test).get_docs(nlp.vocab))
        seconds, docs = zip(*(timed(nlp, gold, makes_chunks) for _ in range(PASSES)), strict=True)
        scores = nlp.get_pipe(NAME).score(
            [Example(d, g) for d, g in zip(docs[-1], gold, strict=True)]
        )
        n_tokens = sum(map(len, gold))
        measured = {key: value for key, value in scores.items() if not key.endswith("per_type")}
        measured["sentences"] = [
            counts(doc, reference) for doc, reference in zip(docs[-1], gold, strict=True)
        ]
        if strategy in EXACT and component.model.attrs["order"] == 1:
            exact = spacy.load(model, config={"components": {NAME: {"strategy": strategy}}})
            exact.get_pipe(NAME).prune = 0.0
            measured["changed_by_pruning"] = differences(
                docs[-1], timed(exact, gold, makes_chunks)[1]
            )
        result["strategies"][strategy] = {
            **measured,
            "tokens_per_second": n_tokens / statistics.median(seconds),
        }
        result["tokens"] = n_tokens
    result["measuring_peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    timings = model.parent / "timings.json"
    result.update(srsly.read_json(timings) if timings.exists() else {})
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)


def timed(nlp: Language, gold: list[Doc], with_tags: bool) -> "tuple[float, list[Doc]]":
    docs = [words_and_tags(doc, with_tags) for doc in gold]
    start = time.perf_counter()
    annotated = list(nlp.pipe(docs))
    return time.perf_counter() - start, annotated


def differences(docs: list[Doc], others: list[Doc]) -> int:
    """Tokens with another tag, and chunks that only one side has."""
    n = 0
    for doc, other in zip(docs, others, strict=True):
        chunks = [
            {(s.start, s.end, s.label_) for s in d.spans.get("chunks", [])} for d in (doc, other)
        ]
        n += len(chunks[0] ^ chunks[1]) + sum(
            t.tag_ != o.tag_ for t, o in zip(doc, other, strict=True)
        )
    return n


def counts(doc: Doc, reference: Doc) -> list[int]:
    """Of a sentence: right chunks, chunks found, gold chunks, right tags, tokens."""
    chunks, right_chunks = (
        {(s.start, s.end, s.label_) for s in d.spans.get("chunks", [])} for d in (doc, reference)
    )
    right_tags = sum(t.tag == r.tag for t, r in zip(doc, reference, strict=True))
    return [len(chunks & right_chunks), len(chunks), len(right_chunks), right_tags, len(doc)]


def words_and_tags(doc: Doc, with_tags: bool) -> Doc:
    """The words, and the tags if they are given."""
    words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
    return Doc(
        doc.vocab, words=words, spaces=spaces, tags=[t.tag_ for t in doc] if with_tags else None
    )


if __name__ == "__main__":
    typer.run(main)
