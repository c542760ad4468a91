"""Convert trees of a treebank whose test part is not at hand: the dev part is for testing, and the last sentences of
the training part are for development.

    python divide.py OUTPUT --train train.ptb.gz --test dev.ptb.gz [--tenths 1]
"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import msg


def main(
    output: Path,
    train: Annotated[Path, typer.Option(help="plain or gzipped")],
    test: Annotated[Path, typer.Option(help="plain or gzipped")],
    tenths: Annotated[int, typer.Option(help="of the training part for development")] = 1,
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for source, target in ((train, "whole"), (test, "test")):
        arguments = [
            str(source),
            "-o",
            str(output / f"{target}.spacy"),
            "--format",
            "trees",
            "--n-sents",
            "1",
            "--force",
        ]
        done = subprocess.run([sys.executable, "-m", "spacy", "hoseq", "convert", *arguments])
        if not (output / f"{target}.spacy").exists():
            msg.fail(f"{source} was not converted", exits=done.returncode or 1)
    docs = list(DocBin().from_disk(output / "whole.spacy").get_docs(spacy.blank("en").vocab))
    n = len(docs) - tenths * len(docs) // 10
    for part, some in (("train", docs[:n]), ("dev", docs[n:])):
        DocBin(docs=some).to_disk(output / f"{part}.spacy")
        msg.good(f"{part}: {len(some):,} sentences")
    (output / "whole.spacy").unlink()


if __name__ == "__main__":
    typer.run(main)
