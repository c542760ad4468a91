"""Divide the weights of a trained tagger by the temperature at which its probabilities fit a development corpus.
limit: only so many Docs of it, chosen at random: probabilities with thousands of patterns take time.

python calibrate.py MODEL DEV.spacy OUTPUT [--name hoseq_tagger] [--limit 100]
"""

import random
from pathlib import Path

import spacy
import typer

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.inspection import calibrate


def main(model: Path, dev: Path, output: Path, name: str = "hoseq_tagger", limit: int = 0) -> None:
    nlp = spacy.load(model)
    examples = dev_examples(nlp, dev)
    random.Random(0).shuffle(examples)
    found = calibrate(nlp, examples[: limit or None], names=[name])[name]
    nlp.to_disk(output)
    print(f"T = {found.temperature:.4f}; log loss {found.before.log_loss:.4f} -> {found.after.log_loss:.4f}")


if __name__ == "__main__":
    typer.run(main)
