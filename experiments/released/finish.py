"""A trained pipeline as it is released: with its name, sources and licence, and without the words of its vocabularies.

    python experiments/released/finish.py MODEL META.json OUTPUT

Components of this package know words by their hashes, so that no string is needed but labels. The same model gives the
same bytes.
"""

import shutil
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.strings import StringStore
from wasabi import msg


def main(model: Path, meta: Path, output: Path) -> None:
    nlp = spacy.load(model)
    nlp.meta.update(srsly.read_json(meta))
    nlp.meta.pop(
        "performance", None
    )  # of the development part, on gold words; measured from raw text elsewhere
    segmenter = getattr(nlp.tokenizer, "segmenter", None)
    if isinstance(segmenter, Language):  # that of spaCy's Chinese tokenizer is a name
        segmenter.meta["spacy_version"] = nlp.meta["spacy_version"]
    if output.exists():
        shutil.rmtree(output)
    sentencizer = nlp.add_pipe("sentencizer")  # of Docs that are made from words
    nlp.to_disk(output)
    cfg = {"punct_chars": sorted(sentencizer.punct_chars), "overwrite": False}
    srsly.write_json(output / "sentencizer.json", cfg)
    without_words(nlp, output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    msg.good(f"{output}: {size:,} bytes")


def without_words(nlp: Language, folder: Path) -> None:
    """Replace the strings of a saved pipeline, and of its tokenizer's segmenter, by the labels of its components."""
    StringStore(sorted(labels_of(nlp))).to_disk(folder / "vocab" / "strings.json")
    segmenter = getattr(nlp.tokenizer, "segmenter", None)
    if isinstance(segmenter, Language):
        without_words(segmenter, folder / "tokenizer" / "segmenter")


def labels_of(nlp: Language) -> set[str]:
    pipes: Any = (pipe for _, pipe in nlp.components)
    return {label for pipe in pipes for label in getattr(pipe, "labels", ())}


if __name__ == "__main__":
    typer.run(main)
