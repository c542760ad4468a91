"""Divide the weights of a trained tagger by the temperature at which its probabilities fit a development corpus.

python calibrate.py MODEL DEV.spacy OUTPUT [--name hoseq_tagger]
"""

from pathlib import Path

import spacy
import typer

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.compaction.temperature import calibrate


def main(model: Path, dev: Path, output: Path, name: str = "hoseq_tagger") -> None:
    nlp = spacy.load(model)
    found = calibrate(nlp, name, dev_examples(nlp, dev))
    nlp.to_disk(output)
    print(f"T = {found.value:.4f}; log loss {found.log_loss_before:.4f} -> {found.log_loss:.4f}")


if __name__ == "__main__":
    typer.run(main)
