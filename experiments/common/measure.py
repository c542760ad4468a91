"""Measure a trained tagger: accuracy, accuracy on unknown words, calibration, speed, size. Writes JSON.

python experiments/common/measure.py MODEL TRAIN.spacy TEST.spacy OUTPUT.json
"""

import statistics
import time
from pathlib import Path
from typing import Any, Dict, List, Set

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin
from spacy.training import Example

PASSES = 5
BINS = 15  # of probability, for the calibration error


def main(model: Path, train: Path, test: Path, output: Path) -> None:
    nlp = spacy.load(model)
    known = {token.text for doc in DocBin().from_disk(train).get_docs(nlp.vocab) for token in doc}
    gold = list(DocBin().from_disk(test).get_docs(nlp.vocab))
    result: Dict[str, Any] = {"tokens": sum(map(len, gold)), **accuracy(nlp, gold, known)}
    result["tokens_per_second"] = speed(nlp, gold)
    result["calibration_error"] = calibration_error(model, gold)
    result["model_bytes"] = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    timings = model.parent / "timings.json"
    if timings.exists():
        result.update(srsly.read_json(timings))
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)


def accuracy(nlp: Language, gold: List[Doc], known: Set[str]) -> Dict[str, Any]:
    docs = list(nlp.pipe(copies(gold)))
    scores = Scorer.score_token_attr([Example(d, g) for d, g in zip(docs, gold, strict=True)], "tag")
    pairs = [(t, g) for d, h in zip(docs, gold, strict=True) for t, g in zip(d, h, strict=True) if g.tag]
    unknown = [(t.tag, g.tag) for t, g in pairs if g.text not in known]
    right = sum(guess == tag for guess, tag in unknown)
    share = {"unknown_words": len(unknown), "unknown_accuracy": right / len(unknown)} if unknown else {}
    correct = "".join("01"[guess.tag == tag.tag] for guess, tag in pairs)  # for tests of significance
    return {"accuracy": scores["tag_acc"], **share, "correct": correct}


def calibration_error(model: Path, gold: List[Doc]) -> float:
    """Expected calibration error of the tags' probabilities: |accuracy - mean probability|, averaged over bins."""
    nlp = spacy.load(model, config={"components": {"hoseq_tagger": {"save_marginals": True}}})
    probability, right = [], []
    for doc, reference in zip(nlp.pipe(copies(gold)), gold, strict=True):
        marginals = doc._.hoseq_marginals["hoseq_tagger"]
        row = {label: i for i, label in enumerate(marginals["labels"])}
        probability += [p[row[t.tag_]] for t, p in zip(doc, marginals["probabilities"], strict=True)]
        right += [t.tag_ == g.tag_ for t, g in zip(doc, reference, strict=True)]
    bins = np.minimum((np.array(probability) * BINS).astype(int), BINS - 1)
    gap = np.bincount(bins, weights=np.array(right) - np.array(probability), minlength=BINS)
    return float(np.abs(gap).sum() / len(right))


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
