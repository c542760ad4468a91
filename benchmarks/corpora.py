"""What the compared systems read: a folder with tags, one with chunks, both with train, dev and test.spacy."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, List, NamedTuple, Set, Tuple

import spacy
from spacy.tokens import Doc, DocBin, Span

PARTS = ("train", "dev", "test")
KEY = "chunks"
CHUNK_SPANS = "experiments/common/chunk_spans.py"

Chunk = Tuple[int, int, str]


class Data(NamedTuple):
    """tags, chunks: folders. chunks has `doc.spans["chunks"]`; see `chunk_folder`."""

    tags: Path
    chunks: Path


class Sentence(NamedTuple):
    """chunks: (first token, end, type), if the corpus has them."""

    words: List[str]
    tags: List[str]
    chunks: Set[Chunk]


@cache
def vocabulary() -> Any:
    return spacy.blank("en").vocab


def read_docs(path: Path) -> List[Doc]:
    return list(DocBin().from_disk(path).get_docs(vocabulary()))


def read_sentences(path: Path) -> List[Sentence]:
    return [
        sentence_of(doc, sentence)
        for doc in read_docs(path)
        for sentence in (doc.sents if doc.has_annotation("SENT_START") else [doc[:]])
    ]


def sentence_of(doc: Doc, sentence: Span) -> Sentence:
    first, end = sentence.start, sentence.end
    chunks = {(s.start - first, s.end - first, s.label_) for s in spans_of(doc) if first <= s.start < end}
    return Sentence([t.text for t in sentence], [t.tag_ for t in sentence], chunks)


def spans_of(doc: Doc) -> List[Any]:
    return list(doc.spans[KEY] if KEY in doc.spans else doc.ents)


def chunk_folder(corpus: Path, output: Path) -> Path:
    """The corpus with chunks: one that stands beside the corpus, else made from its entities, which is how `spacy
    convert` reads a column of chunks."""
    for beside in (corpus / KEY, corpus.parent / KEY, corpus.parent / f"{corpus.name}_{KEY}"):
        if all((beside / f"{part}.spacy").exists() for part in PARTS):
            return beside
    for part in PARTS:
        if not (output / f"{part}.spacy").exists():
            paths = [str(folder / f"{part}.spacy") for folder in (corpus, output)]
            subprocess.run([sys.executable, CHUNK_SPANS, *paths], check=True, capture_output=True)
    return output


def entity_folder(chunks: Path, output: Path) -> Path:
    """The same with chunks as entities, for `ner`."""
    for part in ("train", "dev"):
        docs = read_docs(chunks / f"{part}.spacy")
        for doc in docs:
            doc.set_ents(spans_of(doc), default="outside")
        output.mkdir(parents=True, exist_ok=True)
        DocBin(docs=docs).to_disk(output / f"{part}.spacy")
    return output
