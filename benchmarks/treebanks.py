"""Pipelines of treebanks from raw text and from gold words: ours and UDPipe 1, trained on the same text.

    python -m benchmarks.treebanks WORK af=FOLDER cy=FOLDER ... [--page docs/measurements/pipelines.md]

NAME=FOLDER: the code of a language and a treebank. WORK/NAME gets its parts, the models and what they score; what is
there is not made again. Without ufal.udpipe (1.4.0.1) only ours is measured.

The dev part of a treebank is the test here, and used for nothing else; every tenth group of ten sentences of its
training part is `dev`, which chooses the best epoch. Without a dev part the ninth groups are the test. Scores are those
of the CoNLL 2018 shared task.
"""

import gzip
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc

from spacy_hoseq.pipelines.treebanks.multiword import words_of
from spacy_hoseq.pipelines.treebanks.parts import docs_of
from spacy_hoseq.pipelines.treebanks.source import Treebank

from .conll2018 import COLUMNS, Sentences, Token, score, sentences_of
from .page import show, write_table

SENTENCES = 10  # of a group
PARTS = ("train", "dev", "test")
OURS = "ours"
UDPIPE = "UDPipe 1"
COSTS = ("training, s", "words/s", "MB")
HEADER = ["treebank", "who", "text", *COLUMNS, *COSTS]


def main(work: Path, treebanks: list[str], page: Path | None = None) -> None:
    rows: list[list[str]] = []
    for treebank in treebanks:
        name, _, folder = treebank.partition("=")
        parts = work / name
        if not all((parts / f"{part}.conllu").exists() for part in PARTS):
            divide(Path(folder), parts)
        rows += rows_of(name, OURS, measured(parts, OURS, parts / "ours"))
        if find_spec("ufal"):
            rows += rows_of(name, UDPIPE, measured(parts, UDPIPE, parts / "udpipe.model"))
    show(HEADER, rows)
    if page:
        write_table(page, "treebanks", HEADER, [row for row in rows if row[2] == "raw"])


def rows_of(name: str, who: str, found: dict[str, Any]) -> list[list[str]]:
    """From raw text, and with gold words."""
    costs = [f"{found[cost]:,.1f}" for cost in COSTS]
    scores = {
        text: [f"{found[text][column]:.2f}" for column in COLUMNS] for text in ("raw", "gold")
    }
    return [
        [name, who, "raw", *scores["raw"], *costs],
        [name, who, "gold", *scores["gold"], *[""] * len(costs)],
    ]


def measured(parts: Path, who: str, model: Path) -> dict[str, Any]:
    output = model.with_suffix(".json")
    if not output.exists():
        seconds = model.with_suffix(".seconds.json")
        if not seconds.exists():
            srsly.write_json(
                seconds, by_treebank(parts, model) if who == OURS else by_trainer(parts, model)
            )
        srsly.write_json(output, measure(parts, who, model, srsly.read_json(seconds)))
    return srsly.read_json(output)


def by_treebank(parts: Path, model: Path) -> float:
    """The pipeline of `spacy hoseq treebank`. RETURNS processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "spacy",
        "hoseq",
        "treebank",
        str(parts),
        "-o",
        str(model),
        "--lang",
        parts.name,
    ]
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def blocks(folder: Path, part: str) -> list[str]:
    """Sentences of a part, as their lines."""
    files = sorted([*folder.glob(f"*{part}.conllu"), *folder.glob(f"*{part}.conllu.gz")])
    found: list[str] = []
    for file in files:
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf8")
        found += [
            block.strip("\n") for block in text.replace("\r\n", "\n").split("\n\n") if block.strip()
        ]
    return found


def divide(folder: Path, output: Path) -> None:
    train, test = blocks(folder, "train"), blocks(folder, "dev")
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": test}
    places = {9: "dev"} if test else {8: "test", 9: "dev"}
    for i, block in enumerate(train):
        parts[places.get(i // SENTENCES % SENTENCES, "train")].append(block)
    output.mkdir(parents=True, exist_ok=True)
    for part, sentences in parts.items():
        (output / f"{part}.conllu").write_text("\n\n".join(sentences) + "\n\n", encoding="utf8")
        print(part, len(sentences))


def by_trainer(parts: Path, model: Path) -> float:
    """UDPipe's tokenizer and tagger, with the defaults of its trainer. RETURNS processor seconds."""
    from ufal import udpipe as peer

    start = time.process_time()
    read = []
    for part in ("train", "dev"):
        reader, sentences, sentence = (
            peer.InputFormat.newConlluInputFormat(),
            peer.Sentences(),
            peer.Sentence(),
        )
        reader.setText((parts / f"{part}.conllu").read_text(encoding="utf8"))
        while reader.nextSentence(sentence, peer.ProcessingError()):
            sentences.push_back(sentence)
            sentence = peer.Sentence()
        read.append(sentences)
    problem = peer.ProcessingError()
    default, none = peer.Trainer.DEFAULT, peer.Trainer.NONE
    data = peer.Trainer.train("morphodita_parsito", *read, default, default, none, problem)
    if problem.occurred():
        raise RuntimeError(problem.message)
    model.write_bytes(data)
    return time.process_time() - start


def texts_of(parts: Path) -> list[Doc]:
    """Ten sentences each, as `hoseq treebank` reads them."""
    return list(
        docs_of(Treebank(parts.name, "xx", {"test": [parts / "test.conllu"]}, "", ""), "test")
    )


def of_docs(docs: Iterable[Doc]) -> Sentences:
    """Words of Docs; of multi-word tokens those that the pipeline knows."""
    found: Sentences = []
    for doc in docs:
        for sentence in doc.sents:
            tokens = [token for token in sentence if not token.is_space]
            found.append(
                [Token(token.text, [list(each) for each in words_of(token)]) for token in tokens]
            )
    return found


def by_udpipe(model: Any, texts: list[str], given: Path) -> tuple[Sentences, Sentences, float]:
    from ufal import udpipe as peer

    problem = peer.ProcessingError()
    pipeline = peer.Pipeline(model, "tokenize", peer.Pipeline.DEFAULT, peer.Pipeline.NONE, "conllu")
    start = time.process_time()
    raw = [sentence for text in texts for sentence in sentences_of(pipeline.process(text, problem))]
    seconds = time.process_time() - start
    pipeline = peer.Pipeline(model, "conllu", peer.Pipeline.DEFAULT, peer.Pipeline.NONE, "conllu")
    return raw, sentences_of(pipeline.process(given.read_text(encoding="utf8"), problem)), seconds


def by_spacy(
    nlp: Language, texts: list[str], gold: list[Doc]
) -> tuple[Sentences, Sentences, float]:
    list(nlp.pipe(["Nothing of it was known before ."] * 20))
    start = time.process_time()
    docs = list(nlp.pipe(texts))
    seconds = time.process_time() - start
    given = []
    for doc in gold:
        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        starts: Any = [bool(token.is_sent_start) for token in doc]
        given.append(Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts))
    return of_docs(docs), of_docs(nlp.pipe(given)), seconds


def measure(parts: Path, who: str, model: Path, seconds: float) -> dict[str, Any]:
    """F from raw text and with gold words, where our tokens that are several words have those that we know."""
    gold = sentences_of((parts / "test.conllu").read_text(encoding="utf8"))
    docs = texts_of(parts)
    texts = [doc.text for doc in docs]
    if who == UDPIPE:
        from ufal import udpipe as peer

        raw, given, time_taken = by_udpipe(
            peer.Model.load(str(model)), texts, parts / "test.conllu"
        )
        size = model.stat().st_size
    else:
        raw, given, time_taken = by_spacy(spacy.load(model), texts, docs)
        size = sum(file.stat().st_size for file in model.rglob("*") if file.is_file())
    n_words = sum(len(token.words) for tokens in gold for token in tokens)
    costs = {"training, s": seconds, "words/s": n_words / time_taken, "MB": size / 1e6}
    return {"raw": score(gold, raw), "gold": score(gold, given), **costs}


if __name__ == "__main__":
    typer.run(main)
