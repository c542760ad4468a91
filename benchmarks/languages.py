"""Pipelines of treebanks, from raw text and from gold words: ours, UDPipe 1 and spaCy's recipe, of the same text.

    python -m benchmarks.languages WORK FOLDER ... [--spacy] [--page docs/measurements/languages.md]

FOLDER: a treebank. WORK gets a folder for each, with its parts, the models and what they score; what is there is not
made again, so that the same command goes on. UDPipe 1 needs ufal.udpipe. --spacy: tagger, morphologizer, trainable
lemmatizer and senter of `spacy init config`, on one CPU, which takes long.

The development part of a treebank is the test here, and used for nothing else; every tenth group of ten sentences of
its training part is `dev`, which chooses the best epoch. A treebank without one of them has the ninth groups for the
test. Scores are those of the CoNLL 2018 shared task.
"""

import gzip
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config

from spacy_hoseq.pipelines.treebanks.multiword import words_of
from spacy_hoseq.pipelines.treebanks.parts import docs_of
from spacy_hoseq.pipelines.treebanks.source import Treebank, treebank_in
from spacy_hoseq.readers.account import Account

from .conll2018 import COLUMNS, Sentences, Token, score, sentences_of
from .page import show, write_table

OURS, UDPIPE, SPACY = "ours", "UDPipe 1", "spaCy"
COSTS = ("training, s", "words/s", "MB")
HEADER = ["treebank", "text", *COLUMNS, *COSTS]


def main(
    work: Path,
    folders: list[Path],
    peer: bool = typer.Option(False, "--spacy"),
    page: Path | None = None,
) -> None:
    makers: dict[str, Callable[[Path, Path], object]] = {OURS: by_treebank}
    if find_spec("ufal"):
        makers[UDPIPE] = by_trainer
    if peer:
        makers[SPACY] = by_config
    rows: list[list[str]] = []
    for folder in folders:
        treebank = treebank_in(folder)
        parts = work / treebank.lang
        if not (parts / "train.conllu").exists():
            divide(treebank, parts)
        for who, make in makers.items():
            if who == SPACY and not has_rules(treebank.lang):
                continue
            rows += rows_of(f"{treebank.lang}, {who}", measured(parts, who, make))
    show(HEADER, rows)
    if page:
        write_table(page, "languages", HEADER, [row for row in rows if row[1] == "raw"])


def has_rules(lang: str) -> bool:
    """Whether spaCy's tokenizer of the language can be made: some need packages that may be missing."""
    try:
        spacy.blank(lang)
    except ImportError:
        return False
    return True


def rows_of(name: str, found: dict[str, Any]) -> list[list[str]]:
    """From raw text, and with gold words."""
    costs = [f"{found[cost]:,.1f}" for cost in COSTS]
    raw, gold = ([f"{found[text][column]:.2f}" for column in COLUMNS] for text in ("raw", "gold"))
    return [[name, "raw", *raw, *costs], [name, "gold", *gold, *[""] * len(costs)]]


def measured(parts: Path, who: str, make: Callable[[Path, Path], object]) -> dict[str, Any]:
    """What a system scores. It is trained in a process of its own, unless that was done."""
    model = parts / who.replace(" ", "-")
    output = parts / f"{model.name}.json"
    seconds = parts / f"{model.name}.seconds.json"
    if not seconds.exists():
        before = cpu_of_children()
        command = f"from benchmarks.languages import *; {make.__name__}(Path({str(parts)!r}), Path({str(model)!r}))"
        subprocess.run([sys.executable, "-c", command], check=True)
        srsly.write_json(seconds, cpu_of_children() - before)
    if not output.exists():
        srsly.write_json(output, measure(parts, who, model, srsly.read_json(seconds)))
    return dict(srsly.read_json(output))


def cpu_of_children() -> float:
    """Processor seconds of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def divide(treebank: Treebank, output: Path) -> None:
    """Write train.conllu, dev.conllu and test.conllu."""
    training, test = blocks(treebank, "train"), blocks(treebank, "dev")
    places = {9: "dev"}
    if not (training and test):
        training, test = training or test, []
        places[8] = "test"
    parts: dict[str, list[str]] = {"dev": [], "test": test, "train": []}
    for i, block in enumerate(training):
        parts[places.get(i // 10 % 10, "train")].append(block)
    output.mkdir(parents=True, exist_ok=True)
    for part, sentences in parts.items():  # "train" last: a run that was interrupted divides anew
        (output / f"{part}.conllu").write_text("\n\n".join(sentences) + "\n\n", encoding="utf8")
        print(treebank.name, part, len(sentences))


def blocks(treebank: Treebank, part: str) -> list[str]:
    """Sentences of a part, as their lines."""
    found: list[str] = []
    for file in treebank.files.get(part, []):
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf8")
        sentences = text.replace("\r\n", "\n").split("\n\n")
        found += [sentence.strip("\n") for sentence in sentences if sentence.strip()]
    return found


def by_treebank(parts: Path, model: Path) -> None:
    """The pipeline of `spacy hoseq treebank`."""
    command = [
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
    subprocess.run([sys.executable, *command], check=True)


def by_trainer(parts: Path, model: Path) -> None:
    """UDPipe's tokenizer and tagger, with the defaults of its trainer."""
    from ufal import udpipe as peer

    read = []
    for part in ("train", "dev"):
        reader = peer.InputFormat.newConlluInputFormat()
        reader.setText((parts / f"{part}.conllu").read_text(encoding="utf8"))
        sentences, sentence = peer.Sentences(), peer.Sentence()
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


def by_config(parts: Path, model: Path) -> None:
    """`spacy init config` for tagger, morphologizer, trainable lemmatizer and senter, on the tokens that ours has."""
    for part in ("train", "dev"):
        DocBin(docs=docs_in(parts, part), store_user_data=False).to_disk(parts / f"{part}.spacy")
    pipeline = ["senter", "tagger", "morphologizer", "trainable_lemmatizer"]
    config = init_config(lang=parts.name, pipeline=pipeline, optimize="efficiency", gpu=False)
    # "!" is a tag of Irish, which ends the training of a tagger for which it means "not"
    config["components"]["tagger"]["neg_prefix"] = "not:"
    path = parts / "spacy.cfg"
    config.to_disk(path)
    paths = {"paths.train": str(parts / "train.spacy"), "paths.dev": str(parts / "dev.spacy")}
    nlp, _ = train(init_nlp(load_config(path, overrides=paths)), None)
    nlp.to_disk(model)


def docs_in(parts: Path, part: str) -> list[Doc]:
    """Ten sentences each, as `hoseq treebank` reads them."""
    treebank = Treebank(parts.name, parts.name, {part: [parts / f"{part}.conllu"]}, "", "", {})
    return list(docs_of(treebank, part, Account()))


def words_in(docs: Iterable[Doc]) -> Sentences:
    """Words of Docs; of multi-word tokens those that the pipeline knows."""
    found: Sentences = []
    for doc in docs:
        for sentence in doc.sents:
            tokens = [token for token in sentence if not token.is_space]
            found.append([Token(t.text, [list(word) for word in words_of(t)]) for t in tokens])
    return found


def with_udpipe(model: Path, texts: list[str], given: Path) -> tuple[Sentences, Sentences, float]:
    from ufal import udpipe as peer

    loaded, problem = peer.Model.load(str(model)), peer.ProcessingError()
    default, none = peer.Pipeline.DEFAULT, peer.Pipeline.NONE
    pipeline = peer.Pipeline(loaded, "tokenize", default, none, "conllu")
    start = time.process_time()
    raw = [sentence for text in texts for sentence in sentences_of(pipeline.process(text, problem))]
    seconds = time.process_time() - start
    pipeline = peer.Pipeline(loaded, "conllu", default, none, "conllu")
    return raw, sentences_of(pipeline.process(given.read_text(encoding="utf8"), problem)), seconds


def with_spacy(
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
    return words_in(docs), words_in(nlp.pipe(given)), seconds


def measure(parts: Path, who: str, model: Path, seconds: float) -> dict[str, Any]:
    """F from raw text and with gold words, where tokens that are several words have those that the pipeline knows."""
    gold = sentences_of((parts / "test.conllu").read_text(encoding="utf8"))
    docs = docs_in(parts, "test")
    texts = [doc.text for doc in docs]
    if who == UDPIPE:
        raw, given, taken = with_udpipe(model, texts, parts / "test.conllu")
    else:
        raw, given, taken = with_spacy(spacy.load(model), texts, docs)
    files = [model] if model.is_file() else [file for file in model.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    n_words = sum(len(token.words) for tokens in gold for token in tokens)
    costs = {"training, s": seconds, "words/s": n_words / taken, "MB": size / 1e6}
    return {"raw": score(gold, raw), "gold": score(gold, given), **costs}


if __name__ == "__main__":
    typer.run(main)
