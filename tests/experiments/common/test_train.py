"""Accuracy on a real corpus, if there is one: the folder HOSEQ_CORPORA has conll2000/train.txt."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from ...repository import ROOT, run

CORPUS = Path(os.environ.get("HOSEQ_CORPORA") or "/nowhere") / "conll2000" / "train.txt"
QUICK = [
    "--training.max_epochs",
    "3",
    "--training.eval_frequency",
    "100",
    "--training.logger.progress_bar",
    "null",
]
FLOORS = {
    "tagger": 0.92,
    "higher-order": 0.92,
    "bidirectional": 0.905,
}  # measured 0.928, 0.927, 0.914


@pytest.mark.long
@pytest.mark.skipif(
    not CORPUS.exists(), reason="HOSEQ_CORPORA names no folder with conll2000/train.txt"
)
@pytest.mark.parametrize("config", FLOORS)
def test_accuracy_after_training_on_every_thirtieth_sentence(config: str, tmp_path: Path):
    sentences = CORPUS.read_text(encoding="utf8").strip().split("\n\n")
    train, dev, test = sentences[::30], sentences[1:2000:20], sentences[5::20]
    save(train, tmp_path / "train.spacy")
    save(dev, tmp_path / "dev.spacy")
    files = [tmp_path / "train.spacy", tmp_path / "dev.spacy", tmp_path / "output"]
    process = run(ROOT / "experiments" / "common" / "train.py", config, *files, *QUICK)
    assert process.returncode == 0, process.stdout
    nlp = spacy.load(tmp_path / "output" / "model-best")
    gold = read(test, nlp.vocab)
    examples = [Example(Doc(nlp.vocab, [token.text for token in doc]), doc) for doc in gold]
    assert nlp.evaluate(examples)["tag_acc"] > FLOORS[config]


def read(sentences: Iterable[str], vocab: Vocab) -> list[Doc]:
    rows = [[line.split(" ") for line in sentence.split("\n")] for sentence in sentences]
    return [
        Doc(vocab, words=[row[0] for row in sentence], tags=[row[1] for row in sentence])
        for sentence in rows
    ]


def save(sentences: Iterable[str], path: Path) -> None:
    DocBin(docs=read(sentences, Vocab())).to_disk(path)
