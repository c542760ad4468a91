"""Names of three corpora (a word and a BIO tag a line) with the types of names.py, as Docs.

    python name_texts.py wnut OUTPUT.spacy FILE.conll.gz
    python name_texts.py wikigold OUTPUT.spacy FILE.conll.gz --dev DEV.spacy
    python name_texts.py btc OUTPUT.spacy FILE.conll.gz --tagger MODEL

WNUT 17 (tweets and other user text): corporations and groups are ORG, as they are in UNER; products and works are MISC.

Wikigold (articles of Wikipedia): ten sentences a Doc; every tenth Doc goes to DEV.

Broad Twitter Corpus: "@" and "#" are joined to the word behind them, as tokens of tweets are. It labels names of users;
here they are none, as in WNUT 17 and UNER. It has no MISC: of proper nouns outside of names, by MODEL's tags, and of
labelled hashtags, nothing is known, and training learns nothing from them.
"""

import gzip
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import spacy
import typer
from names import PROPER
from spacy.tokens import Doc, DocBin, Span

TYPES = {
    **{"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"},
    **{"product": "MISC", "creative-work": "MISC"},
}
N_SENTS = 10  # of a Doc of articles
N_PARTS = 10  # of which one is for development
Word = tuple[str, str]  # with its tag; "" if nothing is known
VOCAB = spacy.blank("en").vocab

app = typer.Typer()


@app.command()
def wnut(output: Path, path: Path) -> None:
    write(output, [doc_of([text]) for text in texts(path)])


@app.command()
def wikigold(output: Path, path: Path, dev: Path = typer.Option(...)) -> None:
    sentences = list(texts(path))
    docs = [
        doc_of(sentences[first : first + N_SENTS]) for first in range(0, len(sentences), N_SENTS)
    ]
    write(output, [doc for number, doc in enumerate(docs, start=1) if number % N_PARTS])
    write(dev, docs[N_PARTS - 1 :: N_PARTS])


@app.command()
def btc(output: Path, path: Path, tagger: Path | None = None) -> None:
    """tagger: without it all words outside of names are known to be there."""
    docs = [doc_of([list(joined(text))]) for text in texts(path)]
    if tagger is not None:
        nlp = spacy.load(tagger)
        copies = (Doc(nlp.vocab, [token.text for token in doc]) for doc in docs)
        for doc, tagged in zip(docs, nlp.pipe(copies), strict=True):
            is_proper = [
                token.tag_ in PROPER and not token.text.startswith("@") for token in tagged
            ]
            outside = [token.i for token in doc if not token.ent_type_]
            open_ = [Span(doc, i, i + 1) for i in outside if is_proper[i] or doc[i].ent_iob_ == ""]
            doc.set_ents(list(doc.ents), missing=open_, default="outside")
    write(output, docs)


def texts(path: Path) -> Iterator[list[Word]]:
    """Words and tags of each text, or sentence."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    for is_text, block in groupby(lines, key=bool):
        if is_text:
            rows = [line.split("\t") for line in block]
            yield [(row[0], tag_of(row[1])) for row in rows]


def tag_of(tag: str) -> str:
    place, _, kind = tag.partition("-")
    return f"{place}-{TYPES.get(kind, kind)}" if kind else place


def joined(text: list[Word]) -> Iterator[Word]:
    """Words of a tweet, with the names of users and hashtags in one piece."""
    sign, inside = "", ""
    for place, (word, tag) in enumerate(text, start=1):
        if word in ("@", "#") and place < len(text):
            sign = word
            continue
        word, sign = sign + word, ""
        if word.startswith("@") and len(word) > 1:
            tag = "O"
        elif word.startswith("#") and tag != "O":
            tag = ""
        elif tag.startswith("I-") and tag[2:] != inside:
            tag = f"B-{tag[2:]}"
        inside = tag[2:]
        yield '"' if word == "'\"'" else word, tag


def doc_of(sentences: list[list[Word]]) -> Doc:
    words, tags = zip(*(word for sentence in sentences for word in sentence), strict=True)
    starts = (
        [i == 0 for sentence in sentences for i in range(len(sentence))]
        if len(sentences) > 1
        else None
    )
    return Doc(VOCAB, list(words), ents=list(tags), sent_starts=starts)


def write(output: Path, docs: list[Doc]) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(output)
    print(f"{output}: {len(docs)} Docs")


if __name__ == "__main__":
    app()
