"""Make one component of a pipeline smaller; the others stay as they are.

    python compact_one.py MODEL DEV.spacy OUTPUT COMPONENT METRIC TOLERANCE

`python -m spacy hoseq compact` prunes all of them, one after the other: names would be pruned for another tagger.
"""

from pathlib import Path

import spacy
import typer

from spacy_hoseq.pipelines.compaction.pipeline import compact_pipeline, save_compact
from spacy_hoseq.readers import corpus


def main(
    model: Path, dev: Path, output: Path, component: str, metric: str, tolerance: float
) -> None:
    nlp = spacy.load(model)
    found = compact_pipeline(nlp, list(corpus(dev)(nlp)), tolerance, [metric], [component], folds=1)
    save_compact(nlp, output)
    (change,) = found.changes
    print(
        f"{metric} {found.before[metric]:.4f} -> {found.after[metric]:.4f}; {change.before} -> {change.after}"
    )


if __name__ == "__main__":
    typer.run(main)
