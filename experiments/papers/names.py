"""Names of EWT beside its tags: the dev part of UD English EWT, with the names of UNER as doc.spans["chunks"], divided
by documents.

    python names.py OUTPUT --treebank dev.conllu.gz --names en_ewt-ud-dev.iob2.gz

Of ten documents the ninth is for development, the tenth for testing. Sentences whose words differ are left out.
"""

import gzip
from pathlib import Path
from typing import Annotated, Dict, Iterator, List, Tuple

import spacy
import typer
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from wasabi import msg

from spacy_hoseq.chunks import read_chunks

Sentence = Tuple[str, List[List[str]]]  # its name, and its columns
ID = "# sent_id = "


def main(
    output: Path,
    treebank: Annotated[Path, typer.Option(help="CoNLL-U, gzipped")],
    names: Annotated[Path, typer.Option(help="number, word, BIO; gzipped")],
) -> None:
    named = dict(sentences(names))
    vocab = spacy.blank("en").vocab
    parts: Dict[str, List[Doc]] = {"train": [], "dev": [], "test": []}
    documents: Dict[str, int] = {}
    n_left_out = 0
    for name, rows in sentences(treebank):
        if [row[1] for row in named.get(name, [])] != [row[1] for row in rows]:
            n_left_out += 1
            continue
        number = documents.setdefault(name.rpartition("-")[0], len(documents))
        parts[part_of(number)].append(made(vocab, rows, [row[2] for row in named[name]]))
    output.mkdir(parents=True, exist_ok=True)
    for part, docs in parts.items():
        DocBin(docs=docs).to_disk(output / f"{part}.spacy")
        msg.good(
            f"{part}: {len(docs):,} sentences, {sum(len(doc.spans['chunks']) for doc in docs):,} names"
        )
    msg.text(f"{n_left_out} sentences were left out")


def part_of(document: int) -> str:
    return {8: "dev", 9: "test"}.get(document % 10, "train")


def made(vocab: Vocab, rows: List[List[str]], tags: List[str]) -> Doc:
    starts = [i == 0 for i in range(len(rows))]
    doc = Doc(vocab, [row[1] for row in rows], tags=[row[4] for row in rows], sent_starts=starts)
    doc.spans["chunks"] = [Span(doc, *chunk) for chunk in zip(*read_chunks(tags), strict=True)]
    return doc


def sentences(path: Path) -> Iterator[Sentence]:
    """Rows of words; those of multi-word tokens and empty words are left out."""
    name, rows = "", []
    for line in [*gzip.decompress(path.read_bytes()).decode("utf8").split("\n"), ""]:
        if line.startswith(ID):
            name = line[len(ID) :]
        elif line and not line.startswith("#"):
            rows.append(line.split("\t"))
        elif not line and rows:
            yield name, [row for row in rows if row[0].isdigit()]
            rows = []


if __name__ == "__main__":
    typer.run(main)
