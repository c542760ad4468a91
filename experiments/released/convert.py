"""CoNLL-U treebanks, with trees where there are some, as Docs of whole texts: for taggers that begin with raw text.

    python convert.py OUTPUT.spacy [--n-sents 10] [--layout line] TREEBANK[,TREES[,ENTITIES]] ...

TREEBANK.conllu.gz, TREES.ptb.gz, ENTITIES.jsonl.gz: of the same sentences.

A text is a document of the treebank (`# newdoc`). Its words have their tags, parts of speech, features, lemmas and
spaces. Between two
paragraphs (`# newpar`) stands a blank line, as in the treebanks' own text files, or what `--layout` says: texts of
users have line breaks elsewhere; "sentences" has each sentence on a line, as chats, posts and lists do. Trees give
chunks by the rules of CoNLL-2000 (docs/reference/readers.md), mentions of entities give names (names.py).
"""

import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import spacy
import srsly
import typer
from names import Mention, names_among
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_hoseq.readers.formats.trees import read_trees
from spacy_hoseq.readers.sentences import LabelledSpan, Sentence
from spacy_hoseq.readers.settings import Settings

WORD, LEMMA, UPOS, XPOS, FEATS, HEAD = 1, 2, 3, 4, 5, 6
LAYOUTS = {
    "blank": "\n\n",
    "line": "\n",
    "running": "",
    "sentences": "\n",
    "wrapped": "\n\n",
}  # between paragraphs
HELP = "Of each text, may be given again: blank, line, running, sentences, wrapped"
WIDTH = 72  # of wrapped lines
ATTRS = ("ORTH", "SPACY", "SENT_START", "TAG", "POS", "MORPH", "LEMMA", "ENT_IOB", "ENT_TYPE")


class Row(NamedTuple):
    """A word, whether a space follows, whether a sentence starts."""

    word: str
    space: bool
    starts: bool
    tag: str
    pos: str
    morph: str
    lemma: str


class Sent(NamedTuple):
    """A sentence of a treebank. heads: places of words, -1 of the root. chunks: of its tree, if there is one. names: of
    its entities; None: they are not known. begins (int): 2 where a text begins, 1 where a paragraph does."""

    rows: list[Row]
    heads: list[int]
    begins: int
    chunks: Sequence[LabelledSpan] = ()
    names: Sequence[LabelledSpan] | None = None

    @property
    def words(self) -> list[str]:
        return [row.word for row in self.rows]


def read_treebank(path: Path) -> Iterator[Sent]:
    """Sentences of a CoNLL-U file, plain or gzipped."""
    opened = (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8")
    )
    with opened as file:
        begins, rows = 0, []  # type: int, List[List[str]]
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("#"):
                begins = max(
                    begins, 2 if line.startswith("# newdoc") else int(line.startswith("# newpar"))
                )
            elif line:
                rows.append(line.split("\t"))
            elif rows:
                yield sentence_of(rows, begins)
                begins, rows = 0, []
        if rows:
            yield sentence_of(rows, begins)


def sentence_of(rows: list[list[str]], begins: int) -> Sent:
    """Words of a sentence. Inside of a token of several words, none is followed by a space; the last as the token."""
    until, after = 0, True
    words: list[Row] = []
    heads: list[int] = []
    for row in rows:
        first, dash, last = row[0].partition("-")
        if dash:
            until, after = int(last), "SpaceAfter=No" not in row[-1]
        if not first.isdigit() or dash:
            continue
        inside = int(first) <= until
        space = (
            (after if int(first) == until else False) if inside else "SpaceAfter=No" not in row[-1]
        )
        tag, morph = ("" if row[column] == "_" else row[column] for column in (XPOS, FEATS))
        lemma = "" if row[LEMMA] == "_" and row[WORD] != "_" else row[LEMMA]
        words.append(Row(row[WORD], space, not words, tag, row[UPOS], morph, lemma))
        heads.append(int(row[HEAD]) - 1)
    return Sent(words, heads, begins)


def with_chunks(sentences: Iterator[Sent], trees: Path | None) -> Iterator[Sent]:
    """The same with chunks of their trees. RAISES ValueError: a tree has other words."""
    if trees is None:
        yield from sentences
        return
    parsed = read_trees(trees, Settings())
    for sentence, tree in zip(sentences, parsed, strict=True):
        if not isinstance(tree, Sentence) or len(tree.words) != len(sentence.words):
            raise ValueError(f"{trees}: no tree of these words: {' '.join(sentence.words)}")
        yield sentence._replace(chunks=tree.chunks or ())


def with_names(sentences: Iterator[Sent], entities: Path | None) -> Iterator[Sent]:
    """The same with the names among their entities. RAISES ValueError: a line has other words."""
    if entities is None:
        yield from sentences
        return
    for sentence, line in zip(sentences, srsly.read_gzip_jsonl(entities), strict=True):
        if line["words"] != sentence.words:
            raise ValueError(f"{entities}: no entities of these words: {' '.join(sentence.words)}")
        mentions = [Mention(*each) for each in line["entities"]]
        tags = [row.tag for row in sentence.rows]
        yield sentence._replace(names=names_among(mentions, sentence.words, tags, sentence.heads))


def texts(sentences: Iterator[Sent]) -> Iterator[list[Sent]]:
    """Sentences of each text."""
    text: list[Sent] = []
    for sentence in sentences:
        if text and sentence.begins == 2:
            yield text
            text = []
        text.append(sentence)
    if text:
        yield text


def doc_of(text: list[Sent], vocab: Vocab, layout: str) -> Doc:
    """A Doc of some sentences, with what `layout` has between paragraphs and, if wrapped, between lines."""
    between = LAYOUTS[layout]
    rows: list[Row] = []
    chunks: list[LabelledSpan] = []
    names: list[LabelledSpan] = []
    width = 0
    for number, sentence in enumerate(text):
        if number and (sentence.begins or layout == "sentences"):
            rows[-1] = rows[-1]._replace(space=not between)
            rows += [white_space(between)] if between else []
            width = 0
        at = []
        for row in sentence.rows:
            if layout == "wrapped" and rows and rows[-1].space and width + len(row.word) > WIDTH:
                rows[-1] = rows[-1]._replace(space=False)
                rows.append(white_space("\n"))
                width = 0
            at.append(len(rows))
            rows.append(row)
            width += len(row.word) + row.space
        for found, of_sentence in ((chunks, sentence.chunks), (names, sentence.names or ())):
            found += [
                LabelledSpan(at[span.first], at[span.end - 1] + 1, span.name)
                for span in of_sentence
            ]
    words, spaces, starts, tags, pos, morphs, lemmas = map(list, zip(*rows, strict=True))
    doc = Doc(
        vocab, words, spaces, tags=tags, pos=pos, morphs=morphs, lemmas=lemmas, sent_starts=starts
    )
    doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    if all(sentence.names is not None for sentence in text):
        doc.set_ents([Span(doc, *name) for name in names], default="outside")
    return doc


def white_space(text: str) -> Row:
    return Row(text, False, False, "_SP", "SPACE", "", text)


def main(
    output: Path = typer.Argument(..., help="The .spacy file to write"),
    treebanks: list[str] = typer.Argument(
        ..., help="TREEBANK.conllu.gz[,TREES.ptb.gz[,ENTITIES.jsonl.gz]]"
    ),
    lang: str = typer.Option("en", help="Language"),
    n_sents: int = typer.Option(0, help="Sentences of a Doc; 0 = all of a document"),
    layout: list[str] = typer.Option(["blank"], help=HELP),
) -> None:
    vocab = spacy.blank(lang).vocab
    docs = DocBin(attrs=ATTRS, store_user_data=False)
    for treebank in treebanks:
        path, trees, entities = (
            Path(part) if part else None for part in f"{treebank},,".split(",")[:3]
        )
        sentences = with_names(with_chunks(read_treebank(path), trees), entities)
        for text in texts(sentences):
            for name in layout:
                for first in range(0, len(text), n_sents or len(text)):
                    docs.add(doc_of(text[first : first + (n_sents or len(text))], vocab, name))
    output.parent.mkdir(parents=True, exist_ok=True)
    docs.to_disk(output)
    print(f"{output}: {len(docs)} Docs", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
