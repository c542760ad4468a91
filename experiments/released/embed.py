"""The card of a pipeline of `hoseq treebank` says how it is loaded from the package.

python experiments/released/embed.py PIPELINE ...
"""

from pathlib import Path

import typer

LARGEST = 4_000_000  # bytes of a pipeline of the package


def main(pipelines: list[Path]) -> None:
    for folder in pipelines:
        card = folder / "README.md"
        here = f'import spacy\n\nnlp = spacy.load("{folder.as_posix()}")'
        there = f'import spacy_hoseq\n\nnlp = spacy_hoseq.load("{folder.name.partition("_")[0]}")'
        card.write_text(card.read_text(encoding="utf8").replace(here, there), encoding="utf8")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{folder}: {size:,} bytes")
        if size > LARGEST:
            raise SystemExit(f"{folder}: {LARGEST:,} bytes are the most")


if __name__ == "__main__":
    typer.run(main)
