"""Divide the weights of components by the temperatures at which their probabilities fit development texts.

    python calibrate.py MODEL OUTPUT COMPONENT=DEV.spacy[,DEV.spacy] ... [--every 2] [--threshold COMPONENT=DEV.spacy]

Components are calibrated in this order, each after those before it in the pipeline. Every second Doc is used: the
others show how good the probabilities are. `--threshold`: afterwards the span threshold of this component is the one
that is best on the same Docs.
"""

from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.language import Language
from spacy.training import Example

from spacy_hoseq.inspection import calibrate
from spacy_hoseq.inspection.calibration import annotated_before
from spacy_hoseq.readers import corpus


def main(
    model: Path,
    output: Path,
    components: list[str] = typer.Argument(..., help="COMPONENT=DEV.spacy[,DEV.spacy]"),
    every: int = 2,
    threshold: list[str] = typer.Option([], help="COMPONENT=DEV.spacy[,DEV.spacy]"),
) -> None:
    nlp = spacy.load(model)
    calibrated(nlp, components, every)
    fit_thresholds(nlp, threshold, every)
    nlp.to_disk(output)


def calibrated(nlp: Language, components: list[str], every: int = 2) -> None:
    """In place. components: COMPONENT=DEV.spacy[,DEV.spacy]. every: take Docs 0, every, 2 every ..."""
    for component in components:
        name, examples = examples_of(nlp, component, every)
        found = calibrate(nlp, examples, names=[name])[name]
        losses = f"{found.before.log_loss:.4f} -> {found.after.log_loss:.4f}"
        print(f"{name}: T = {found.temperature:.4f}; log loss {losses}")


def fit_thresholds(nlp: Language, components: list[str], every: int = 2) -> None:
    """In place, as `calibrated`, and after it: another temperature has another threshold."""
    for component in components:
        name, examples = examples_of(nlp, component, every)
        pipe: Any = nlp.get_pipe(name)
        found = pipe.fit_threshold(annotated_before(nlp, name, examples))
        nlp.get_pipe_config(name)["span_threshold"] = found
        print(f"{name}: threshold {found}")


def examples_of(nlp: Language, component: str, every: int) -> tuple[str, list[Example]]:
    """The component of COMPONENT=DEV.spacy[,DEV.spacy], and its texts."""
    name, _, paths = component.partition("=")
    examples: list[Example] = []
    for path in paths.split(","):
        examples += list(corpus(path)(nlp))[::every]
    return name, examples


if __name__ == "__main__":
    typer.run(main)
