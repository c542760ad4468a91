"""Measure a trained tagger: accuracy, accuracy on unknown words, calibration, speed, size. Writes JSON.

python experiments/common/measure.py MODEL TRAIN.spacy TEST.spacy OUTPUT.json
"""

import statistics
import time
from pathlib import Path
from typing import Any, Dict, List

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hoseq.reporting.evaluation import Layer, evaluated

PASSES = 5


def main(model: Path, train: Path, test: Path, output: Path) -> None:
    nlp = spacy.load(model)
    known = {token.text for doc in DocBin().from_disk(train).get_docs(nlp.vocab) for token in doc}
    gold = list(DocBin().from_disk(test).get_docs(nlp.vocab))
    examples = [Example(doc, reference) for doc, reference in zip(copies(gold), gold, strict=True)]
    (layer,) = (layer for layer in evaluated(nlp, examples, known) if layer.attribute == "tag")
    result: Dict[str, Any] = {"tokens": sum(map(len, gold)), **accuracy(layer)}
    result["tokens_per_second"] = speed(nlp, gold)
    result["calibration_error"] = layer.calibration.ece
    result["model_bytes"] = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    timings = model.parent / "timings.json"
    if timings.exists():
        result.update(srsly.read_json(timings))
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)


def accuracy(layer: Layer) -> Dict[str, Any]:
    unknown = layer.scores["unknown words"]
    share = {"unknown_words": unknown.n, "unknown_accuracy": unknown.value} if unknown.n else {}
    return {"accuracy": layer.scores["accuracy"].value, **share, "correct": layer.right}


def speed(nlp: Language, gold: List[Doc]) -> float:
    """Tokens a second through `nlp.pipe` over ready Docs to `token.tag`: median of several passes."""
    seconds = []
    for _ in range(PASSES):
        docs = copies(gold)
        start = time.perf_counter()
        for _ in nlp.pipe(docs):
            pass
        seconds.append(time.perf_counter() - start)
    return sum(map(len, gold)) / statistics.median(seconds)


def copies(docs: List[Doc]) -> List[Doc]:
    """The same words without annotation."""
    return [Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]) for doc in docs]


if __name__ == "__main__":
    typer.run(main)
