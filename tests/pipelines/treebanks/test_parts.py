"""Parts of a treebank: those that it has stay as they are, others are made of the training files."""

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_hoseq.pipelines.treebanks.parts import contents_of, write_parts
from spacy_hoseq.pipelines.treebanks.source import treebank_in
from spacy_hoseq.readers.account import Account

from . import tiny


def texts(path):
    return [doc.text for doc in DocBin().from_disk(path).get_docs(Vocab())]


def written(tmp_path, **sizes):
    treebank = treebank_in(tiny.write(tmp_path / "treebank", **sizes))
    contents = write_parts(treebank, tmp_path, Account())
    return contents, {part: texts(tmp_path / f"{part}.spacy") for part in ("train", "dev", "test")}


# sentences of train, dev, test -> texts of each, and the parts that were made
SIZES = [
    ((40, 20, 10), (4, 2, 1), ""),
    ((200, 0, 0), (16, 2, 2), "dev test"),
    ((0, 200, 0), (16, 2, 2), "dev test"),
    ((0, 0, 200), (16, 2, 2), "dev test"),
    ((200, 30, 0), (18, 3, 2), "test"),
    # calibration needs two texts: a small dev part is of single sentences
    ((40, 10, 10), (4, 10, 1), ""),
]


@pytest.mark.parametrize("sizes, expected, made", SIZES)
def test_parts(sizes, expected, made, tmp_path):
    contents, parts = written(tmp_path, **dict(zip(("train", "dev", "test"), sizes, strict=True)))
    assert tuple(len(docs) for docs in parts.values()) == expected
    assert [part for part, each in contents.items() if each.made] == made.split()
    assert sum(part.words for part in contents.values()) == 5 * sum(sizes)
    assert all(part.layers == ["TAG", "POS", "MORPH", "LEMMA"] for part in contents.values())


@pytest.mark.parametrize("sizes, part", [((40, 1, 10), "dev"), ((50, 10, 0), "test")])
def test_too_few_sentences(sizes, part, tmp_path):
    with pytest.raises(ValueError, match=rf"\[HS191\].*part {part}"):
        written(tmp_path, **dict(zip(("train", "dev", "test"), sizes, strict=True)))


def test_parts_of_another_treebank(tmp_path):
    treebank = treebank_in(tiny.write(tmp_path / "treebank", train=40, dev=20, test=10))
    folder = tmp_path / "a-training" / "corpus"
    lexicon = tmp_path / "forms.tsv"
    lexicon.write_text("dog\tNN\n")
    contents = contents_of(treebank, folder, Account(), [lexicon])
    assert contents_of(treebank, folder, Account(), [lexicon]) == contents
    assert contents == write_parts(treebank, folder, Account())
    of_another = "is of treebank, language en;"
    of_others = "is of other files or options than these;"
    cases = [(treebank._replace(name="UD_B"), [lexicon], of_another), (treebank, [], of_others)]
    cases += [(treebank._replace(lang="xx"), [lexicon], of_another)]
    for other, lexicons, message in cases:
        with pytest.raises(ValueError, match=rf"\[HS191\] The treebank .* {message}.*a-training"):
            contents_of(other, folder, Account(), lexicons)
    lexicon.write_text("dog\tNNS\n")
    with pytest.raises(ValueError, match=of_others):
        contents_of(treebank, folder, Account(), [lexicon])
    file = treebank.files["dev"][0]
    file.write_text(file.read_text().replace("dog", "cat"))
    lexicon.write_text("dog\tNN\n")
    with pytest.raises(ValueError, match=of_others):
        contents_of(treebank, folder, Account(), [lexicon])
    # as a killed run, or a full disk, leaves it
    for rest in ("", '{"treebank": ["UD'):
        (folder / "parts.json").write_text(rest)
        assert contents_of(treebank, folder, Account())["dev"] == contents["dev"]


def test_heads_that_are_no_tree(tmp_path):
    """Several roots do not make several sentences; nothing learns from heads."""
    folder = tiny.write(tmp_path / "treebank", train=40, dev=20, test=10)
    file = folder / "en_tiny-ud-train.conllu"
    rows = [line.split("\t") for line in file.read_text("utf8").split("\n")]
    for row in rows:
        if len(row) == 10:
            row[6:8] = "0", "root"
    file.write_text("\n".join("\t".join(row) for row in rows), encoding="utf8")
    write_parts(treebank_in(folder), tmp_path, Account())
    docs = list(DocBin().from_disk(tmp_path / "train.spacy").get_docs(Vocab()))
    assert [sum(1 for _ in doc.sents) for doc in docs] == [10] * 4


def test_layers_that_no_word_has(tmp_path):
    contents, _ = written(tmp_path, columns=(2,))
    assert contents["train"].layers == ["TAG", "POS"]
    message = r"\[HS191\].*no tags, parts of speech, features or lemmas"
    with pytest.raises(ValueError, match=message):
        written(tmp_path, columns=())


def test_damaged(tmp_path):
    folder = tiny.write(tmp_path / "treebank")
    (folder / "en_tiny-ud-dev.conllu").write_text("1\tword\n\n", "utf8")
    with pytest.raises(ValueError, match=r"\[HS191\].*en_tiny-ud-dev.conllu, line 1"):
        write_parts(treebank_in(folder), tmp_path, Account())
