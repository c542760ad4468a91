"""Corpora in three parts: train.spacy to learn from, dev.spacy that chooses the epoch, test.spacy that chooses nothing.

The development part of a corpus is halved, sentences in turns: one half is dev, the other half test. Without a
development part the last tenth of the training text is halved. Where the corpus has a test part, that is test, and what
would be halved is dev.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_hoseq.readers.corpora import is_unspaced
from spacy_hoseq.readers.docs import sentences_to_doc
from spacy_hoseq.readers.formats.recognised import read_corpus, recognised
from spacy_hoseq.readers.sentences import Sentence
from spacy_hoseq.readers.settings import Settings

PARTS = ("train", "dev", "test")


class Corpus(NamedTuple):
    """Files of a corpus below the folder of corpora, and where its labels stand: "tag", "morph", "spans.chunks",
    "ents". dev: "" = there is none."""

    lang: str
    place: str
    train: str
    dev: str = ""


def divide(corpus: Corpus, data: Path, size: int, folder: Path) -> Path:
    """A folder of the three parts. size (int): so many sentences to learn from, 0 = all."""
    if not (folder / "test.spacy").exists():
        vocab = Vocab()
        training = list(sentences(data / corpus.train, corpus.lang, vocab))
        held_out = training[-(len(training) // 10) :]
        if corpus.dev:
            held_out = list(sentences(data / corpus.dev, corpus.lang, vocab))
        else:
            training = training[: -len(held_out)]
        dev, test = held_out[::2], held_out[1::2]
        official = data / corpus.train.replace("train", "test")
        if official.exists() and official.name != Path(corpus.train).name:
            dev, test = held_out, list(sentences(official, corpus.lang, vocab))
        folder.mkdir(parents=True, exist_ok=True)
        for part, docs in zip(PARTS, (training[: size or None], dev, test), strict=True):
            DocBin(docs=docs, store_user_data=True).to_disk(folder / f"{part}.spacy")
    return folder


def sentences(path: Path, lang: str, vocab: Vocab) -> Iterator[Doc]:
    """Sentences of a file of any format that `hoseq convert` reads; what cannot be read is left out, as there."""
    settings = Settings(lang=lang, cut=True)
    lang = "zh" if is_unspaced(path, "auto") else lang
    for item in read_corpus(path, recognised(path, settings), settings):
        if isinstance(item, Sentence) and item.words:
            yield sentences_to_doc(vocab, [item], lang)


def docs_of(path: Path, vocab: Vocab) -> list[Doc]:
    """Docs of a .spacy file."""
    return list(DocBin().from_disk(path).get_docs(vocab))


def texts_of(path: Path, lang: str, size: int = 1) -> list[str]:
    """Raw texts of a treebank, of so many sentences each."""
    docs = list(sentences(path, lang, Vocab()))
    texts = [
        "".join(doc.text_with_ws for doc in docs[i : i + size]).strip()
        for i in range(0, len(docs), size)
    ]
    return ["".join(text.split()) for text in texts] if lang == "zh" else texts
