"""Write a small copy of the corpora, with which all steps of the workflow run in minutes: to see what they do, and
whether they run here. What is learnt from it means nothing.

    python small.py OUTPUT --corpora FOLDER [--sentences 200] [--words 30]
    HOSEQ_CORPORA=OUTPUT python -m spacy project run papers

Run that in a copy of the repository: metrics that are there are kept, and would stand beside those of the whole
corpora.
"""

import gzip
import shutil
from pathlib import Path
from typing import Annotated, Dict, List

import typer
from wasabi import msg

PARAGRAPHS = (
    "conll2000/train.txt",
    "conll2000/test.txt",
    "en_gum/train.ptb.gz",
    "en_gum/dev.ptb.gz",
    "en_ewt/train.conllu.gz",
    "en_ewt/dev.conllu.gz",
    "zh_ctb_sdp/train.tsv",
    "zh_ctb_sdp/dev.tsv",
    "zh_ud_gsd/train.conllu.gz",
    "zh_ud_gsd/dev.conllu",
    "zh_pfr/train.tsv",
    "zh_pfr/dev.tsv",
    "zh_ner_msra/train.tsv",
    "zh_ner_msra/dev.tsv",
    "zh_ner_resume/train.char.bmes",
    "zh_ner_resume/dev.char.bmes",
)
NAMES = "uner_en_ewt/en_ewt-ud-dev.iob2.gz"  # in another order than the treebank's sentences, so all of it
TREES = "ptb_sample/combined"
N_FILES = 10  # of trees; five are needed for the parts
LINES = ("en_gum/train.entities.jsonl.gz", "en_gum/dev.entities.jsonl.gz")  # a sentence each
LETTERS = "ocr/letter.data.gz"
WORD, FOLD = 3, 5  # columns of the letters


def main(
    output: Path,
    corpora: Annotated[Path, typer.Option(help="what HOSEQ_CORPORA names")],
    sentences: Annotated[int, typer.Option(help="the first of each file; from 100 on, which names need")] = 200,
    words: Annotated[int, typer.Option(help="handwritten ones of each fold")] = 30,
) -> None:
    for name in PARAGRAPHS:
        source = source_of(corpora, name)
        if source.exists():
            paragraphs = text_of(source).strip("\n").split("\n\n")
            write(output / source.relative_to(corpora), "\n\n".join(paragraphs[:sentences]) + "\n\n")
    for name in LINES:
        if (corpora / name).exists():
            write(output / name, "\n".join(text_of(corpora / name).split("\n")[:sentences]) + "\n")
    if (corpora / LETTERS).exists():
        lines = text_of(corpora / LETTERS).splitlines(keepends=True)
        write(output / LETTERS, "".join(some_words(lines, words)))
    if (corpora / NAMES).exists():
        write(output / NAMES, text_of(corpora / NAMES))
    for tree in sorted((corpora / TREES).glob("*"))[:N_FILES]:
        (output / TREES).mkdir(parents=True, exist_ok=True)
        shutil.copy(tree, output / TREES)
    msg.good(f"{sum(path.is_file() for path in output.rglob('*'))} files: {output}")


def source_of(corpora: Path, name: str) -> Path:
    """Plain, or else gzipped."""
    plain = corpora / name
    return plain if plain.exists() or name.endswith(".gz") else corpora / f"{name}.gz"


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf8")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def some_words(lines: List[str], n: int) -> List[str]:
    """Lines of n words of each fold at equal distances: the samples of a word stand together. A word is known by its
    number and its fold."""
    words: Dict[str, Dict[str, List[str]]] = {}
    for line in lines:
        fields = line.split("\t")
        words.setdefault(fields[FOLD], {}).setdefault(fields[WORD], []).append(line)
    kept = []
    for of_fold in words.values():
        numbers = list(of_fold)
        for i in range(min(n, len(numbers))):
            kept += of_fold[numbers[i * len(numbers) // n if n < len(numbers) else i]]
    return kept


if __name__ == "__main__":
    typer.run(main)
