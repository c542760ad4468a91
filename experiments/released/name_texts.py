"""Names of WNUT 17 (tweets and other user text) with the types of names.py, as Docs.

    python wnut.py OUTPUT.spacy FILE.conll.gz

Corporations and groups are ORG, as they are in UNER; products and works are MISC.
"""

import gzip
from itertools import groupby
from pathlib import Path
from typing import Iterator, List, Tuple

import spacy
import typer
from spacy.tokens import Doc, DocBin

TYPES = {
    **{"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"},
    **{"product": "MISC", "creative-work": "MISC"},
}


def main(output: Path, path: Path) -> None:
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words, ents=tags) for words, tags in texts(path)]
    output.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(output)
    print(f"{output}: {len(docs)} Docs")


def texts(path: Path) -> Iterator[Tuple[List[str], List[str]]]:
    """Words and BIO tags of each text."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    for is_text, block in groupby(lines, key=bool):
        if is_text:
            rows = [line.split("\t") for line in block]
            yield [row[0] for row in rows], [tag_of(row[1]) for row in rows]


def tag_of(tag: str) -> str:
    place, _, kind = tag.partition("-")
    return f"{place}-{TYPES[kind]}" if kind else place


if __name__ == "__main__":
    typer.run(main)
