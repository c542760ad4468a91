"""Lists of words by kind, written for this project: `kind: word word ...`, lines that go on are indented, "#" begins a
comment. `python word_lists.py OUTPUT` makes the words of organizations, places, products and peoples, for
`spacy_hoseq.word_classes_of.v1`: spacy_hoseq/pipelines/word_lists/en_organizations.
"""

import tempfile
from collections import defaultdict
from pathlib import Path

import srsly
import typer

from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE, word_classes

WORDS = Path(__file__).with_name("english_organizations.txt")
SOURCE = {
    "name": "Words of organizations, places, products and peoples, written for spacy_hoseq",
    "url": "",
    "license": "CC0",
    "author": "The spacy_hoseq developers",
    "table": WORD_CLASSES_TABLE,
}


def main(output: Path) -> None:
    """A folder as a pipeline has it. Words are written as in lower case; each has one class: its kinds."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for kind, words in read_lists(WORDS, " ").items():
        for word in words:
            kinds[word.lower()].add(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.tsv"
        path.write_text(
            "".join(f"{word}\t{'|'.join(sorted(of))}\n" for word, of in sorted(kinds.items())),
            "utf8",
        )
        lookups = word_classes(path)
    (output / "vocab").mkdir(parents=True, exist_ok=True)
    lookups.to_disk(output / "vocab")
    srsly.write_json(
        output / "meta.json", {"lang": "en", "name": "organizations", "sources": [SOURCE]}
    )
    print(
        f"{output}: {len(kinds):,} words, {(output / 'vocab' / 'lookups.bin').stat().st_size:,} bytes"
    )


def read_lists(path: Path, between: str) -> dict[str, list[str]]:
    """The words of each kind. between: two words."""
    lines = [
        line
        for line in path.read_text(encoding="utf8").splitlines()
        if line and not line.startswith("#")
    ]
    lists: dict[str, list[str]] = {}
    for entry in "\n".join(lines).replace("\n  ", " ").splitlines():
        kind, _, words = entry.partition(": ")
        lists[kind] = words.split(between)
    return lists


if __name__ == "__main__":
    typer.run(main)
