"""Divide the weights of a trained tagger by the temperature at which its probabilities fit a development corpus.
limit: only so many Docs of it, chosen at random: probabilities with thousands of patterns take time.

python calibrate.py MODEL DEV.spacy OUTPUT [--name hoseq_tagger] [--limit 100]
"""

import random
from pathlib import Path

import spacy
import typer

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.compaction.temperature import calibrate


def main(model: Path, dev: Path, output: Path, name: str = "hoseq_tagger", limit: int = 0) -> None:
    nlp = spacy.load(model)
    examples = dev_examples(nlp, dev)
    random.Random(0).shuffle(examples)
    found = calibrate(nlp, name, examples[: limit or None])
    nlp.to_disk(output)
    print(f"T = {found.value:.4f}; log loss {found.log_loss_before:.4f} -> {found.log_loss:.4f}")


if __name__ == "__main__":
    typer.run(main)
