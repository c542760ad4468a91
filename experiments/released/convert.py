"""CoNLL-U treebanks, with trees where there are some, as Docs of whole texts: for taggers that begin with raw text.

    python convert.py OUTPUT.spacy [--n-sents 10] [--layout line] TREEBANK.conllu.gz[,TREES.ptb.gz] ...

A text is a document of the treebank (`# newdoc`). Its words have their tags, parts of speech and spaces. Between two
paragraphs (`# newpar`) stands a blank line, as in the treebanks' own text files, or what `--layout` says: texts of
users have line breaks elsewhere. Trees give chunks by the rules of CoNLL-2000 (docs/reference/readers.md).
"""

import gzip
import sys
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

import spacy
import typer
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_hoseq.readers.formats.trees import read_trees
from spacy_hoseq.readers.sentences import LabelledSpan, Sentence

WORD, UPOS, XPOS = 1, 3, 4
LAYOUTS = {"blank": "\n\n", "line": "\n", "running": "", "wrapped": "\n\n"}  # between paragraphs
WIDTH = 72  # of wrapped lines
Row = Tuple[str, bool, str, str, bool]  # word, whether a space follows, tag, part of speech, whether a sentence starts


class Sent(NamedTuple):
    """A sentence of a treebank. chunks: of its tree, if there is one. begins (int): 2 where a text begins, 1 where a
    paragraph does."""

    words: List[str]
    spaces: List[bool]
    tags: List[str]
    pos: List[str]
    begins: int
    chunks: Sequence[LabelledSpan] = ()


def read_treebank(path: Path) -> Iterator[Sent]:
    """Sentences of a CoNLL-U file, plain or gzipped."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as file:
        begins, rows = 0, []  # type: int, List[List[str]]
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("#"):
                begins = max(begins, 2 if line.startswith("# newdoc") else int(line.startswith("# newpar")))
            elif line:
                rows.append(line.split("\t"))
            elif rows:
                yield sentence_of(rows, begins)
                begins, rows = 0, []
        if rows:
            yield sentence_of(rows, begins)


def sentence_of(rows: List[List[str]], begins: int) -> Sent:
    """Words of a sentence. Inside of a token of several words, none is followed by a space; the last as the token."""
    until, after = 0, True
    words, spaces, tags, pos = [], [], [], []  # type: List[str], List[bool], List[str], List[str]
    for row in rows:
        first, dash, last = row[0].partition("-")
        if dash:
            until, after = int(last), "SpaceAfter=No" not in row[-1]
        if not first.isdigit() or dash:
            continue
        words.append(row[WORD])
        tags.append("" if row[XPOS] == "_" else row[XPOS])
        pos.append(row[UPOS])
        inside = int(first) <= until
        spaces.append((after if int(first) == until else False) if inside else "SpaceAfter=No" not in row[-1])
    return Sent(words, spaces, tags, pos, begins)


def with_chunks(sentences: Iterator[Sent], trees: Optional[Path]) -> Iterator[Sent]:
    """The same with chunks of their trees. RAISES ValueError: a tree has other words."""
    if trees is None:
        yield from sentences
        return
    parsed = read_trees(trees, ("utf-8",))
    for sentence, tree in zip(sentences, parsed, strict=True):
        if not isinstance(tree, Sentence) or len(tree.words) != len(sentence.words):
            raise ValueError(f"{trees}: no tree of these words: {' '.join(sentence.words)}")
        yield sentence._replace(chunks=tree.chunks or ())


def texts(sentences: Iterator[Sent]) -> Iterator[List[Sent]]:
    """Sentences of each text."""
    text: List[Sent] = []
    for sentence in sentences:
        if text and sentence.begins == 2:
            yield text
            text = []
        text.append(sentence)
    if text:
        yield text


def doc_of(text: List[Sent], vocab: Vocab, layout: str) -> Doc:
    """A Doc of some sentences, with what `layout` has between paragraphs and, if wrapped, between lines."""
    between = LAYOUTS[layout]
    rows: List[Row] = []
    spans: List[Tuple[int, int, str]] = []
    width = 0
    for number, sentence in enumerate(text):
        if number and sentence.begins:
            rows[-1] = (rows[-1][0], not between, *rows[-1][2:])
            rows += [(between, False, "_SP", "SPACE", False)] if between else []
            width = 0
        at = []
        for i, word in enumerate(sentence.words):
            if layout == "wrapped" and rows and rows[-1][1] and width + len(word) > WIDTH:
                rows[-1] = (rows[-1][0], False, *rows[-1][2:])
                rows.append(("\n", False, "_SP", "SPACE", False))
                width = 0
            at.append(len(rows))
            rows.append((word, sentence.spaces[i], sentence.tags[i], sentence.pos[i], i == 0))
            width += len(word) + sentence.spaces[i]
        spans += [(at[chunk.first], at[chunk.end - 1] + 1, chunk.name) for chunk in sentence.chunks]
    words, spaces, tags, pos, starts = map(list, zip(*rows, strict=True))
    doc = Doc(vocab, words=words, spaces=spaces, tags=tags, pos=pos, sent_starts=starts)
    doc.spans["chunks"] = [Span(doc, first, end, label) for first, end, label in spans]
    return doc


def main(
    output: Path = typer.Argument(..., help="The .spacy file to write"),
    treebanks: List[str] = typer.Argument(..., help="TREEBANK.conllu.gz, or TREEBANK.conllu.gz,TREES.ptb.gz"),
    lang: str = typer.Option("en", help="Language"),
    n_sents: int = typer.Option(0, help="Sentences of a Doc; 0 = all of a document"),
    layout: List[str] = typer.Option(["blank"], help="Each text so, may be given again: blank, line, running, wrapped"),
) -> None:
    vocab = spacy.blank(lang).vocab
    docs = DocBin(store_user_data=False)
    for treebank in treebanks:
        path, _, trees = treebank.partition(",")
        sentences = with_chunks(read_treebank(Path(path)), Path(trees) if trees else None)
        for text in texts(sentences):
            for name in layout:
                for first in range(0, len(text), n_sents or len(text)):
                    docs.add(doc_of(text[first : first + (n_sents or len(text))], vocab, name))
    output.parent.mkdir(parents=True, exist_ok=True)
    docs.to_disk(output)
    print(f"{output}: {len(docs)} Docs", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
