"""UD Chinese GSD with the names of UNER, as Docs, with texts as people write them.

    python zh_texts.py OUTPUT.spacy TREEBANK.conllu NAMES.iob2.gz [--as-it-comes] [--traditional]

The sentences of UNER are those of a later version of the treebank, where some words are other ones: names are taken by
their places. `--as-it-comes` adds a tenth of the sentences a second time, in simplified characters as all of
them, with what an encyclopaedia lacks: emoji (tag NFP, as in UD English EWT), addresses (ADD, as in the treebank),
signs that are repeated. `--traditional` writes traditional characters (needs opencc-python-reimplemented 0.1.7), to
measure with. The same files give the same bytes.
"""

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import spacy
import typer
from convert import read_treebank
from spacy.tokens import Doc, DocBin

from spacy_hoseq.features.simplified import in_simplified

SHARE = 0.1  # of the sentences, a second time
EMOJI = "😀😂🤣😊😍😭😅😎🤔😡👍👏🙏💪❤🔥🎉🌹☀⭐🐶🍜⚽🎵💔👀✨🚀📷🏠"
HOSTS = (
    "www.example.com",
    "example.org",
    "news.example.cn",
    "example.net",
    "m.example.com.cn",
    "blog.example.tw",
)
PATHS = ("", "/", "/index.html", "/a/2020/01/05.html", "/search?q=abc&page=2", "/item/1024#top")
USERS = ("info", "li.wei", "contact_us", "zhang88", "service")
SIGNS = {"。": "！", ".": "!"}  # what is repeated in its place
EMOTICON, ADDRESS = ("NFP", "SYM"), ("ADD", "SYM")
ATTRS = ("ORTH", "SPACY", "SENT_START", "TAG", "POS", "ENT_IOB", "ENT_TYPE")


class Token(NamedTuple):
    word: str
    tag: str
    pos: str
    name: str  # BIO


Text = list[Token]


def main(
    output: Path,
    treebank: Path,
    names: Path,
    as_it_comes: bool = False,
    traditional: bool = False,
) -> None:
    texts = list(annotated(treebank, names))
    if as_it_comes:
        texts = [
            [token._replace(word=in_simplified(token.word)) for token in text] for text in texts
        ]
        texts += more_texts(texts, random.Random(0))
    if traditional:
        convert = converter()
        texts = [[token._replace(word=convert(token.word)) for token in text] for text in texts]
    vocab = spacy.blank("zh").vocab
    docs = DocBin(attrs=ATTRS)
    for text in texts:
        docs.add(doc_of(text, vocab))
    output.parent.mkdir(parents=True, exist_ok=True)
    docs.to_disk(output)
    print(f"{output}: {len(texts):,} sentences")


def annotated(treebank: Path, names: Path) -> Iterator[Text]:
    """The sentences of both files, without those that have another number of words in one of them (five)."""
    for sentence, of_words in zip(read_treebank(treebank), read_names(names), strict=True):
        if len(sentence.rows) == len(of_words):
            pairs = zip(sentence.rows, of_words, strict=True)
            yield [Token(row.word, row.tag, row.pos, name) for row, name in pairs]


def read_names(path: Path) -> Iterator[list[str]]:
    """BIO tags of each sentence."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for block in file.read().strip().split("\n\n"):
            yield [line.split("\t")[2] for line in block.split("\n") if not line.startswith("#")]


def more_texts(texts: list[Text], chance: random.Random) -> list[Text]:
    """Some of the texts, with what people write on the web."""
    changes: list[Callable[[Text, random.Random], Text]] = [
        with_emoji,
        with_emoji,
        with_address,
        with_signs,
    ]
    chosen = chance.sample(texts, round(SHARE * len(texts)))
    return [changes[i % len(changes)](text, chance) for i, text in enumerate(chosen)]


def with_emoji(text: Text, chance: random.Random) -> Text:
    """One to three at the end, before or behind the full stop, or in its place."""
    emoji = [
        Token(chance.choice(EMOJI), *EMOTICON, "O") for _ in range(chance.choice((1, 1, 1, 2, 3)))
    ]
    ends = text[-1].word in SIGNS
    place = chance.choice((0, 1, 2)) if ends else 0
    body, stop = (text[:-1], text[-1:]) if ends else (text, [])
    return [body + stop + emoji, body + emoji + stop, body + emoji][place]


def with_address(text: Text, chance: random.Random) -> Text:
    """Where a comma stands, or at the end."""
    host = chance.choice(HOSTS)
    start = chance.choice(("", "http://", "https://"))
    address = chance.choice((start + host + chance.choice(PATHS), f"{chance.choice(USERS)}@{host}"))
    places = [
        i for i, token in enumerate(text) if token.word in "，,。." and text[i - 1].name == "O"
    ]
    place = chance.choice(places or [len(text)])
    return [*text[:place], Token(address, *ADDRESS, "O"), *text[place:]]


def with_signs(text: Text, chance: random.Random) -> Text:
    """Two to four exclamation marks in place of the full stop."""
    last = text[-1]
    sign = last._replace(word=SIGNS.get(last.word, last.word))
    return [*text[:-1], *[sign] * chance.choice((2, 3, 4))] if last.word in SIGNS else text


def converter() -> Callable[[str], str]:
    """Words in simplified -> traditional characters. A word keeps its length."""
    from opencc import OpenCC

    convert = OpenCC("s2t").convert
    return lambda word: converted if len(converted := str(convert(word))) == len(word) else word


def doc_of(text: Text, vocab: spacy.vocab.Vocab) -> Doc:
    words, tags, pos, names = map(list, zip(*text, strict=True))
    starts = [i == 0 for i in range(len(words))]
    return Doc(
        vocab, words, [False] * len(words), tags=tags, pos=pos, ents=names, sent_starts=starts
    )


if __name__ == "__main__":
    typer.run(main)
