"""What compaction costs the pipelines of treebanks: scores of the compacted morphologizer less those of the whole one.

    python -m benchmarks.compacted_treebanks WORK af cy ...

WORK/NAME is what `benchmarks.treebanks` has made there: the trained components, before they are made smaller, and a
test part that chose nothing. *loss*: what must not be above the tolerance. Scores are of gold words, in points.
"""

from pathlib import Path
from typing import List

import spacy
import typer

from spacy_hoseq.compaction.pipeline import compact_pipeline, dev_examples
from spacy_hoseq.treebanks.training import FOLDS, MORPHOLOGIZER, TOLERANCE, some_of

from .page import show

SCORES = {"pos_acc": "UPOS", "tag_acc": "XPOS", "morph_acc": "UFeats", "lemma_acc": "lemmas"}
HEADER = ["treebank", "loss", "dev words", "MB as trained", "MB", *SCORES.values()]
LOSSES = {"measured": 1, "with its standard error": FOLDS}  # folds


def main(work: Path, names: List[str]) -> None:
    rows = [row(work / name, name, loss) for name in names for loss in LOSSES]
    for loss in LOSSES:
        of_all = [each[5:] for each in rows if each[1] == loss]
        columns = [[float(cell) for cell in column if cell] for column in zip(*of_all, strict=True)]
        rows.append(["mean", loss, "", "", "", *(f"{sum(c) / max(1, len(c)):+.2f}" for c in columns)])
    show(HEADER, rows)


def row(parts: Path, name: str, loss: str) -> List[str]:
    training = parts / "ours-training"
    nlp = spacy.load(training / "training" / "treebank" / "model-best")
    dev = some_of(dev_examples(nlp, training / "corpus" / "dev.spacy"))
    test = dev_examples(nlp, training / "corpus" / "test.spacy")
    before = nlp.evaluate(test)
    (change,) = compact_pipeline(nlp, dev, TOLERANCE, components=[MORPHOLOGIZER], folds=LOSSES[loss]).changes
    after = nlp.evaluate(test)
    sizes = [f"{counts.bytes / 1e6:.2f}" for counts in (change.before, change.after)]
    lost = ["" if before[score] is None else f"{100 * (after[score] - before[score]):+.2f}" for score in SCORES]
    return [name, loss, f"{sum(len(eg.reference) for eg in dev):,}", *sizes, *lost]


if __name__ == "__main__":
    typer.run(main)
