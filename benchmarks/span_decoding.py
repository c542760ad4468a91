"""The best labelling, against chunks that are right in expectation: what minimum Bayes risk gains.

    python -m benchmarks.span_decoding metrics/span_decoding.jsonl --data CORPORA [--page docs/measurements/names.md]

The recipe of each corpus. Half of the development text ends training and chooses the threshold, the other half is
measured. "right less wrong": threshold 1/2; "expected F": half of the F that the best labelling reaches on the first
half; "recipe": what training chooses there (`spacy_hoseq.calibrate.v1`). What was measured is not measured again.
"""

import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import spacy
import srsly
import typer
from spacy.tokens import Doc
from tqdm import tqdm

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.reporting.scores import counts, pairs_of
from spacy_hoseq.reporting.significance import f_score, paired_bootstrap

from .page import show, write_table
from .sizes import trained_scores
from .sizes_corpora import TASKS, Task, prepared

CORPORA: Dict[str, Task] = {
    "CoNLL-2000, chunks": TASKS["English, chunks"],
    "Resume": TASKS["Chinese, entities"],
    "Weibo": Task("entities", "zh", ("zh_ner_weibo/train.tsv", "zh_ner_weibo/dev.tsv"), 0, (), 1),
    "WNUT 17": Task("entities", "en", ("wnut17/train.conll.gz", "wnut17/dev.conll.gz"), 0, (), 1),
}
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
            pairs = pairs_of(self._gold, docs, f"spans.{self._key}")
            self._known[threshold] = counts(self._gold, pairs)
            scores = [float(p) for doc in docs for p in doc.spans[self._key].attrs.get("scores", ())]
            self.confidence[threshold] = float(np.mean(scores)) if scores else 0.0
        return self._known[threshold]

    def f(self, threshold: Optional[float]) -> float:
        return float(f_score(self.of(threshold).sum(axis=0, keepdims=True))[0])


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    page: Optional[Path] = None,
) -> None:
    done = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    for name in tqdm([name for name in CORPORA if all(row["name"] != name for row in done)], unit="corpus"):
        done.append({"name": name, "rows": measured(name, data)})
        srsly.write_jsonl(output, done)
    rows = [cells for row in done for cells in row["rows"]]
    show(HEADER, rows)
    if page is not None:
        write_table(page, "span decoding", HEADER, rows)


def measured(name: str, data: Path) -> Sequence[List[str]]:
    """Rows of a corpus."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus", Path(folder) / "model"
        prepared(CORPORA[name], data, 0, corpus)
        trained_scores(CORPORA[name], corpus, model, {})
        nlp = spacy.load(model / "model-best")
        (pipe,) = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HoseqChunker)]
        recipes = pipe.cfg["span_threshold"]
        return rows_of(name, recipes, *(Part(nlp, pipe, corpus / f"{part}.spacy") for part in ("dev", "test")))


def rows_of(name: str, recipes: Optional[float], dev: Part, test: Part) -> Sequence[List[str]]:
    ways = {"best labelling": None, "right less wrong": 0.5, "expected F": round(dev.f(None) / 2, 3)}
    ways |= {} if recipes is None else {"recipe": recipes}
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
