"""Measure a pipeline with a chunker: tags, chunks, probabilities of chunks, speed, size. Writes JSON.

    python experiments/common/measure_chunks.py MODEL TEST.spacy OUTPUT.json

Tags of the test corpus are given to a pipeline without a tagger, and hidden from one with a tagger.
"""

import statistics
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hoseq.readers.annotated import annotated_with

PASSES = 5
KEY = "chunks"


def main(model: Path, test: Path, output: Path) -> None:
    nlp = spacy.load(model)
    gold = list(DocBin().from_disk(test).get_docs(nlp.vocab))
    attributes = [] if "hoseq_tagger" in nlp.pipe_names else ["tag"]
    seconds: List[float] = []
    docs: List[Doc] = []
    for _ in range(PASSES):
        docs = []  # as in a stream, where docs do not stay: Python would look through all of them for garbage
        pass_seconds, docs = timed(nlp, gold, attributes)
        seconds.append(pass_seconds)
    pairs = list(zip(docs, gold, strict=True))
    scores = nlp.evaluate(
        [Example(doc, reference) for doc, reference in zip(copies(gold, attributes), gold, strict=True)]
    )
    n_tokens = sum(map(len, gold))
    result: Dict[str, Any] = {
        "tokens": n_tokens,
        "scores": {k: v for k, v in scores.items() if k in ("tag_acc", *(f"spans_{KEY}_{x}" for x in "prf"))},
        "per_type": scores[f"spans_{KEY}_per_type"],
        "tokens_per_second": n_tokens / statistics.median(seconds),
        "sentences": [counts(doc, reference) for doc, reference in pairs],
        "probabilities": [float(p) for doc, _ in pairs for p in doc.spans[KEY].attrs["scores"]],
        "right": [int(chunk in chunks(reference)) for doc, reference in pairs for chunk in in_order(doc)],
        "model_bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
    }
    result |= {key: nlp.config["training"].get(key) for key in ("seed", "max_epochs")}
    timings = model.parent / "timings.json"
    if timings.exists():
        result.update(srsly.read_json(timings))
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)


def timed(nlp: Language, gold: List[Doc], attributes: List[str]) -> Tuple[float, List[Doc]]:
    """Seconds from ready docs to docs with tags and chunks, and the docs."""
    ready = copies(gold, attributes)
    start = time.perf_counter()
    docs = list(nlp.pipe(ready))
    return time.perf_counter() - start, docs


def copies(gold: List[Doc], attributes: List[str]) -> List[Doc]:
    return [annotated_with(doc, attributes) for doc in gold]


def in_order(doc: Doc) -> List[Tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in doc.spans[KEY]]


def chunks(doc: Doc) -> Set[Tuple[int, int, str]]:
    return set(in_order(doc))


def counts(doc: Doc, reference: Doc) -> List[int]:
    """Of a sentence: right chunks, chunks found, gold chunks, right tags, tokens."""
    right_tags = int(np.sum([t.tag == g.tag for t, g in zip(doc, reference, strict=True)]))
    return [len(chunks(doc) & chunks(reference)), len(chunks(doc)), len(chunks(reference)), right_tags, len(doc)]


if __name__ == "__main__":
    sys.exit(typer.run(main))
