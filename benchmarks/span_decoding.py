"""The best labelling, against chunks that are right in expectation: what minimum Bayes risk gains.

    python -m benchmarks.span_decoding NAME=MODEL,DEV.spacy,TEST.spacy ... [--page docs/measurements/chunking.md]

One trained `hoseq_chunker` each, and text that it was not trained on. "right less wrong": threshold 1/2; "expected F":
half of the F that the best labelling reaches on DEV; "chosen": the threshold of the best F on DEV.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import spacy
import typer
from spacy.tokens import Doc

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.reporting.scores import counts, items_of
from spacy_hoseq.reporting.significance import f_score, paired_bootstrap

from .page import show, write_table

THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
HEADER = ("", "threshold", "precision", "recall", "F", "less best", "p", "right - wrong", "mean p(found)")


class Part:
    """Text and a chunker: `of(threshold)` has, by sentence, how many chunks are right, found and gold (S, 3)."""

    def __init__(self, nlp: Any, pipe: HoseqChunker, path: Path) -> None:
        self._pipe, self._key = pipe, pipe.cfg["spans_key"]
        examples = dev_examples(nlp, path)
        self._docs = [eg.predicted for eg in examples]
        for _, earlier in nlp.pipeline[: nlp.pipe_names.index(pipe.name)]:
            self._docs = list(earlier.pipe(self._docs))
        self._gold = [eg.reference for eg in examples]
        self._known: Dict[Optional[float], Any] = {}
        self.confidence: Dict[Optional[float], float] = {}

    def of(self, threshold: Optional[float]) -> Any:
        if threshold not in self._known:
            self._pipe.cfg["span_threshold"] = threshold
            docs: List[Doc] = list(self._pipe.pipe(doc.copy() for doc in self._docs))
            gold, guess = ([items_of(doc, f"spans.{self._key}") for doc in some] for some in (self._gold, docs))
            self._known[threshold] = counts(self._gold, gold, guess)
            scores = [float(p) for doc in docs for p in doc.spans[self._key].attrs.get("scores", ())]
            self.confidence[threshold] = float(np.mean(scores)) if scores else 0.0
        return self._known[threshold]

    def f(self, threshold: Optional[float]) -> float:
        return float(f_score(self.of(threshold).sum(axis=0, keepdims=True))[0])


def main(models: List[str], page: Optional[Path] = None) -> None:
    rows: List[List[str]] = []
    for item in models:
        name, _, paths = item.partition("=")
        model, *parts = paths.split(",")
        nlp = spacy.load(model)
        (pipe,) = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HoseqChunker)]
        rows += rows_of(name, *(Part(nlp, pipe, Path(path)) for path in parts))
    show(HEADER, rows)
    if page is not None:
        write_table(page, "span decoding", HEADER, rows)


def rows_of(name: str, dev: Part, test: Part) -> Sequence[List[str]]:
    chosen = max(THRESHOLDS, key=dev.f)
    ways = {"best labelling": None, "right less wrong": 0.5, "expected F": round(dev.f(None) / 2, 3), "chosen": chosen}
    rows = []
    for way, threshold in ways.items():
        of_sentence = test.of(threshold)
        right, found, gold = of_sentence.sum(axis=0).tolist()
        difference = paired_bootstrap(test.of(None), of_sentence, f_score)
        rows.append([
            f"{name}, {way}",
            "-" if threshold is None else f"{threshold:g}",
            f"{right / max(1, found):.2%}",
            f"{right / max(1, gold):.2%}",
            f"{100 * test.f(threshold):.2f}",
            "" if threshold is None else f"{100 * difference.gain:+.2f}",
            "" if threshold is None else f"{difference.p:.3f}",
            f"{2 * right - found:,.0f}",
            f"{test.confidence[threshold]:.3f}",
        ])  # fmt: skip
    return rows


if __name__ == "__main__":
    typer.run(main)
