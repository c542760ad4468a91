"""Parts of a treebank: those that it has stay as they are, others are made of the training files."""

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_hoseq.treebanks.parts import contents_of, write_parts
from spacy_hoseq.treebanks.source import treebank_in

from . import tiny


def texts(path):
    return [doc.text for doc in DocBin().from_disk(path).get_docs(Vocab())]


def written(tmp_path, **sizes):
    treebank = treebank_in(tiny.write(tmp_path / "treebank", **sizes))
    contents = write_parts(treebank, tmp_path)
    return contents, {part: texts(tmp_path / f"{part}.spacy") for part in ("train", "dev", "test")}


def test_as_they_are(tmp_path):
    contents, parts = written(tmp_path, train=40, dev=20, test=10)
    assert {part: len(docs) for part, docs in parts.items()} == {"train": 4, "dev": 2, "test": 1}
    assert contents["train"].words == 200 and contents["train"].layers == ["TAG", "POS", "MORPH", "LEMMA"]
    assert not any(part.made for part in contents.values())
    assert parts["train"][0].startswith("The dog sees today. The dog sees here.")


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_of_one_part(tmp_path, part):
    sizes = {"train": 0, "dev": 0, "test": 0, part: 200}
    contents, parts = written(tmp_path, **sizes)
    assert {name: len(docs) for name, docs in parts.items()} == {"train": 16, "dev": 2, "test": 2}
    assert contents["test"].made and contents["dev"].made and not contents["train"].made
    assert sum(part.words for part in contents.values()) == 1000


def test_without_a_test_part(tmp_path):
    contents, parts = written(tmp_path, train=200, dev=30, test=0)
    assert {name: len(docs) for name, docs in parts.items()} == {"train": 18, "dev": 3, "test": 2}
    assert contents["test"].made and not contents["dev"].made


def test_a_small_dev_part(tmp_path):
    """Calibration needs two texts: those of ten sentences are as they are if there are as many."""
    _, parts = written(tmp_path, train=40, dev=10, test=10)
    assert {part: len(docs) for part, docs in parts.items()} == {"train": 4, "dev": 10, "test": 1}
    assert parts["dev"][0] == "The dog sees here. "
    with pytest.raises(ValueError, match=r"\[HS191\].*part dev"):
        written(tmp_path, train=40, dev=1, test=10)


def test_parts_of_another_treebank(tmp_path):
    treebank = treebank_in(tiny.write(tmp_path / "treebank", train=40, dev=20, test=10))
    folder = tmp_path / "a-training" / "corpus"
    contents = contents_of(treebank, folder)
    assert contents_of(treebank._replace(files={}), folder) == contents == write_parts(treebank, folder)
    for other in (treebank._replace(name="UD_B"), treebank._replace(lang="xx")):
        with pytest.raises(ValueError, match=r"\[HS191\] The treebank .* is of treebank, language en;.*a-training"):
            contents_of(other, folder)


def test_heads_that_are_no_tree(tmp_path):
    """Several roots do not make several sentences; nothing learns from heads."""
    folder = tiny.write(tmp_path / "treebank", train=40, dev=20, test=10)
    file = folder / "en_tiny-ud-train.conllu"
    rows = [line.split("\t") for line in file.read_text(encoding="utf8").split("\n")]
    heads = ["\t".join([*row[:6], "0", "root", *row[8:]]) if len(row) == 10 else "\t".join(row) for row in rows]
    file.write_text("\n".join(heads), encoding="utf8")
    write_parts(treebank_in(folder), tmp_path)
    docs = list(DocBin().from_disk(tmp_path / "train.spacy").get_docs(Vocab()))
    assert [sum(1 for _ in doc.sents) for doc in docs] == [10] * 4


def test_too_few_sentences(tmp_path):
    with pytest.raises(ValueError, match=r"\[HS191\].*part test"):
        written(tmp_path, train=50, dev=10, test=0)


def test_layers_that_no_word_has(tmp_path):
    contents, _ = written(tmp_path, columns=(2,))
    assert contents["train"].layers == ["TAG", "POS"]
    with pytest.raises(ValueError, match=r"\[HS191\].*no tags, parts of speech, features or lemmas"):
        written(tmp_path, columns=())


def test_damaged(tmp_path):
    folder = tiny.write(tmp_path / "treebank")
    (folder / "en_tiny-ud-dev.conllu").write_text("1\tword\n\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"\[HS191\].*en_tiny-ud-dev.conllu, line 1"):
        write_parts(treebank_in(folder), tmp_path)
