"""`spacy hoseq clusters`: what it reads and writes."""

import gzip

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_hoseq.features.attributes import lexical_attribute
from spacy_hoseq.features.word_classes import word_classes

from ..repository import hoseq

LINES = ["the dog runs .", "a cat runs .", "the cat sleeps .", "a dog sleeps ."] * 3


def run(*arguments):
    return hoseq("clusters", *arguments)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("\n".join(LINES) + "\n\nrare\n", "utf8")
    return path


def test_clusters_are_a_table_of_word_classes(text, tmp_path):
    output = tmp_path / "new" / "clusters.tsv"
    code, said = run(text, "-o", output, "-n", 4)
    assert code == 0 and "7 words in 4 clusters" in said, said
    rows = dict(line.split("\t") for line in output.read_text("utf8").splitlines())
    assert set(rows) == {"the", "a", "dog", "cat", "runs", "sleeps", "."}
    assert rows["the"] == rows["a"] and rows["dog"] == rows["cat"]
    assert rows["runs"] == rows["sleeps"]
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes(output)
    assert [lexical_attribute("word_class1").value(vocab[word]) for word in ("dog", "Dog", "rare")] == [
        rows["dog"], rows["dog"], "",
    ]  # fmt: skip


def test_same_bytes_from_every_kind_of_file(text, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    with gzip.open(folder / "a.txt.gz", "wt", encoding="utf8") as file:
        file.write("\n".join(LINES[:5]))
    srsly.write_jsonl(folder / "b.jsonl", [{"body": line} for line in LINES[5:9]])
    nlp = spacy.blank("xx")
    docs = [Doc(nlp.vocab, words=line.split()) for line in LINES[9:]]
    DocBin(docs=docs).to_disk(folder / "c.spacy")
    written = []
    more = [folder, "--text-key", "body"], [text, "--lang", "xx"]
    for arguments in ([text], [text, "--words"], *more):
        output = tmp_path / f"{len(written)}.tsv"
        assert run(*arguments, "-o", output, "-n", 4)[0] == 0
        written.append(output.read_bytes())
    assert len(set(written)) == 1


def test_tokenizer_of_a_pipeline(tmp_path):
    path, output = tmp_path / "zh.txt", tmp_path / "clusters.tsv"
    path.write_text("他们研究语言\n" * 3, "utf8")
    assert run(path, "-o", output, "-m", "zh", "-n", 2)[0] == 0
    rows = output.read_text("utf8").splitlines()
    assert {row.split("\t")[0] for row in rows} == {"他们", "研究", "语言"}


def test_problems_are_told(text, tmp_path):
    text.write_bytes(text.read_bytes() + b"\xff\xfe broken\n")
    code, output = run(text, "-o", tmp_path / "clusters.tsv", "-n", 4)
    assert code == 1 and "Without what is listed above" in output
    assert (tmp_path / "clusters.tsv").exists()


def test_a_table_is_not_clustered(text, tmp_path):
    """Its lines are no text; that is told before there are no words."""
    table = text.rename(tmp_path / "raw.csv")
    code, output = run(table, "-o", tmp_path / "clusters.tsv")
    assert code == 1 and "a table" in output and "HS159" in output
    assert not (tmp_path / "clusters.tsv").exists()


def test_no_word_is_frequent(text, tmp_path):
    code, output = run(text, "-o", tmp_path / "clusters.tsv", "--min-count", 100)
    assert code == 1 and "HS159" in output
    assert not (tmp_path / "clusters.tsv").exists()
    text.write_bytes(b"caf\xe9 caf\xe9 caf\xe9\n")
    code, output = run(text, "-o", tmp_path / "clusters.tsv")
    assert code == 1 and "HS159" in output and "the byte 0xE9" in output
    code, output = run(text, "-o", tmp_path / "clusters.tsv", "-l", "qq")
    assert code == 1 and "HS027" in output
