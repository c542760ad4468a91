"""Convert CoNLL-2000 into a training, a development and a test part that are apart.

    python conll.py OUTPUT [--folder FOLDER] [--environment CORPORA]

FOLDER, or else CORPORA/conll2000, has train.txt, and perhaps test.txt (section 20). With it, the
last tenth of train.txt is for development; without it, the last tenth is for testing and the one
before for development. Docs have tags, and doc.spans["chunks"].
"""

from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from wasabi import msg

from spacy_hoseq.chunks import read_chunks

KEY = "chunks"


def main(
    output: Path,
    folder: Annotated[str, typer.Option(help="with train.txt, and perhaps test.txt")] = "",
    environment: Annotated[str, typer.Option(help="a folder that has conll2000")] = "",
) -> None:
    source = Path(folder) if folder else Path(environment) / "conll2000"
    train = sentences(source / "train.txt")
    given = source / "test.txt"
    vocab = spacy.blank("en").vocab
    output.mkdir(parents=True, exist_ok=True)
    for part, some in divided(train, sentences(given) if given.exists() else []).items():
        docs = [doc_of(vocab, sentence) for sentence in some]
        DocBin(docs=docs).to_disk(output / f"{part}.spacy")
        n_chunks = sum(len(doc.spans[KEY]) for doc in docs)
        msg.good(f"{part}: {len(docs):,} sentences, {n_chunks:,} chunks")


def divided(train: list[str], test: list[str]) -> dict[str, list[str]]:
    """Parts of sentences; the last tenth of `train` is for testing if there is no other test part."""
    tenth = max(1, len(train) // 10)
    if not test:
        train, test = train[:-tenth], train[-tenth:]
    return {"train": train[:-tenth], "dev": train[-tenth:], "test": test}


def sentences(path: Path) -> list[str]:
    return path.read_text(encoding="utf8").strip().split("\n\n")


def doc_of(vocab: Vocab, sentence: str) -> Doc:
    words, tags, chunks = zip(*(line.split() for line in sentence.split("\n")), strict=True)
    starts = [i == 0 for i in range(len(words))]
    doc = Doc(vocab, list(words), tags=list(tags), sent_starts=starts)
    doc.spans[KEY] = [Span(doc, *chunk) for chunk in zip(*read_chunks(chunks), strict=True)]
    return doc


if __name__ == "__main__":
    typer.run(main)
