"""Divide the weights of components by the temperatures at which their probabilities fit development texts.

    python calibrate.py MODEL OUTPUT COMPONENT=DEV.spacy[,DEV.spacy] ... [--every 2]

Components are calibrated in this order, each after those before it in the pipeline. Every second Doc is used: the
others show how good the probabilities are.
"""

from pathlib import Path
from typing import List

import spacy
import typer
from spacy.language import Language
from spacy.training import Example

from spacy_hoseq.inspection import calibrate
from spacy_hoseq.readers.annotated import annotated_corpus


def main(
    model: Path,
    output: Path,
    components: List[str] = typer.Argument(..., help="COMPONENT=DEV.spacy[,DEV.spacy]"),
    every: int = 2,
) -> None:
    nlp = spacy.load(model)
    calibrated(nlp, components, every)
    nlp.to_disk(output)


def calibrated(nlp: Language, components: List[str], every: int = 2) -> None:
    """In place. components: COMPONENT=DEV.spacy[,DEV.spacy]. every: take Docs 0, every, 2 every ..."""
    for component in components:
        name, _, paths = component.partition("=")
        examples: List[Example] = []
        for path in paths.split(","):
            examples += list(annotated_corpus(path, [])(nlp))[::every]
        found = calibrate(nlp, examples, names=[name])[name]
        losses = f"{found.before.log_loss:.4f} -> {found.after.log_loss:.4f}"
        print(f"{name}: T = {found.temperature:.4f}; log loss {losses}")


if __name__ == "__main__":
    typer.run(main)
