"""Chinese words with their tags, from the dictionary of jieba (MIT), for zh_hoseq_sm and recipes that read its table.

    python chinese_words.py OUTPUT

Writes a folder as a pipeline has it: vocab/lookups.bin, meta.json with the source. Names (tags nr, ns,
nt, nz) are there if the dictionary counts them three times, other words from fifty times on: rare names are what a
training text lacks, rare words cost space and tell little.
"""

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import srsly
import typer

from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE, word_classes

NAMES = {"nr", "nrt", "nrfg", "ns", "nt", "nz"}
LEAST_OF_NAMES, LEAST = 3, 50
SOURCE = {
    "name": "Dictionary of jieba 0.42.1",
    "url": "https://github.com/fxsjy/jieba",
    "license": "MIT",
    "author": "Sun Junyi",
    "table": WORD_CLASSES_TABLE,
}


def main(output: Path) -> None:
    lines = list(forms())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forms.tsv"
        path.write_text("".join(lines), encoding="utf8")
        lookups = word_classes(lexicon=path)
    (output / "vocab").mkdir(parents=True, exist_ok=True)
    lookups.to_disk(output / "vocab")
    srsly.write_json(output / "meta.json", {"lang": "zh", "name": "words", "sources": [SOURCE]})
    print(
        f"{output}: {len(lines):,} words, {(output / 'vocab' / 'lookups.bin').stat().st_size:,} bytes"
    )


def forms() -> Iterator[str]:
    """A word and its tag, as a lexicon has them."""
    spec = find_spec("jieba")  # (only its file is read: nothing of it runs)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("jieba")
    for line in (Path(spec.origin).parent / "dict.txt").read_text(encoding="utf8").splitlines():
        word, count, tag = line.split()
        if int(count) >= (LEAST_OF_NAMES if tag in NAMES else LEAST):
            yield f"{word}\t{tag}\n"


if __name__ == "__main__":
    typer.run(main)
