"""Classes of words from a table: clusters, lexicons."""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.features.attributes import lexical_attribute
from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE, word_classes

from ..builders import learn, misc

LINES = "dog\t0110\tNN\nrun\t011\tVB|NN\nParis\t1\t\nus\t10\tPRP\nUS\t1\tNNP\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "classes.tsv"
    file.write_text(LINES, "utf8")
    return file


def value(vocab, word, number):
    return lexical_attribute(f"word_class{number}").value(vocab[word])


def test_classes(path):
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes(path)
    classes = {
        word: (value(vocab, word, 1), value(vocab, word, 2))
        for word in ("dog", "Dog", "RUN", "Paris", "paris", "us", "US", "Us", "cat")
    }
    assert classes == {
        "dog": ("0110", "NN"), "Dog": ("0110", "NN"), "RUN": ("011", "VB|NN"), "Paris": ("1", ""), "paris": ("", ""),
        "us": ("10", "PRP"), "US": ("1", "NNP"), "Us": ("10", "PRP"), "cat": ("", ""),
    }  # fmt: skip
    lexemes = [vocab[word] for word in classes]
    for number in (1, 2):
        together = lexical_attribute(f"word_class{number}").values(lexemes, [*classes])
        assert together == [of_word[number - 1] for of_word in classes.values()]


def test_traditional_characters(tmp_path):
    """The classes of the word as it is written come first."""
    file = tmp_path / "classes.tsv"
    file.write_text("台湾\tns\n臺\tzg\n台\tm\n", "utf8")
    vocab = spacy.blank("zh").vocab
    vocab.lookups = word_classes(file)
    found = {word: value(vocab, word, 1) for word in ("臺灣", "台湾", "臺", "台", "灣")}
    assert found == {"臺灣": "ns", "台湾": "ns", "臺": "zg", "台": "m", "灣": ""}


def test_an_empty_lexicon_knows_no_word(tmp_path):
    (tmp_path / "forms.tsv").touch()
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes(lexicon=tmp_path / "forms.tsv")
    assert value(vocab, "dog", 1) == ""


def test_same_bytes_whatever_the_order(path, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("\n".join(reversed(LINES.splitlines())), encoding="utf8")
    tables = [word_classes(each).get_table(WORD_CLASSES_TABLE) for each in (other, path)]
    assert tables[0].to_bytes() == tables[1].to_bytes()


def tagger(path):
    nlp = spacy.blank("xx")
    model = {"emissions": {"templates": ["bias", "word_class1..2[0]"]}}
    nlp.add_pipe("hoseq_tagger", config={"model": model})
    nlp.config["initialize"]["lookups"] = misc("word_classes", path=str(path))
    doc = Doc(nlp.vocab, words=["run", "dog", "us"], tags=["VB", "NN", "PRP"])
    return learn(nlp, [Example(Doc(nlp.vocab, words=["run", "dog", "us"]), doc)], 5)


def test_saved_with_the_vocabulary(path, tmp_path):
    """A word that training has not seen is known by its class."""
    nlp = tagger(path)
    assert [token.tag_ for token in nlp("Dog Run")] == ["NN", "VB"]
    nlp.to_disk(tmp_path / "model")
    path.unlink()
    assert [token.tag_ for token in spacy.load(tmp_path / "model")("Dog Run")] == ["NN", "VB"]


def test_a_sourced_component_brings_its_table(path, tmp_path):
    source = tagger(path)
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger", source=source)
    assert [token.tag_ for token in nlp("Dog Run")] == ["NN", "VB"]
    nlp.to_disk(tmp_path / "model")
    assert [token.tag_ for token in spacy.load(tmp_path / "model")("Dog Run")] == ["NN", "VB"]


def test_missing_table():
    with pytest.raises(ValueError, match=r"\[HS007\].*word_class1.*0 columns"):
        value(spacy.blank("xx").vocab, "cat", 1)


def test_a_component_brings_its_table_back(path):
    nlp = tagger(path)
    expected = [token.tag_ for token in nlp("A cat")]
    nlp.vocab.lookups.remove_table(WORD_CLASSES_TABLE)
    assert [token.tag_ for token in nlp("A cat")] == expected


@pytest.mark.parametrize("lines", ["dog\t1\nrun\t1\t2\n", "\t1\n", "dog\n", "dog" + "\t1" * 17])
def test_lines_that_cannot_be(lines, path):
    path.write_text(lines, "utf8")
    with pytest.raises(ValueError, match=r"\[HS073\].*line"):
        word_classes(path)


def test_no_path():
    with pytest.raises(ValueError, match="E913"):
        word_classes(None)
