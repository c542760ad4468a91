"""Features, transitions and labels in words."""

import pytest
import spacy
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from spacy_hoseq.features.word_classes import word_classes
from spacy_hoseq.inspection.wording import chunks_in_words, lemma_in_words, transition, wording_of

LABELS = ("NN", "DT", "VBZ")


@pytest.fixture
def wording(tmp_path):
    path = tmp_path / "classes.tsv"
    lines = ["Mary\t7\tfirst", "Anna\t7\tfirst|of_town", "John\t7\t", "Leo\t7\t", "runs\t8\t"]
    path.write_text("\n".join(lines), encoding="utf8")
    return wording_of(LABELS, Vocab(lookups=word_classes(path)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bias", "always"),
        ("lower[0] = the", 'is "the"'),
        ("orth[-1] = The", 'the word before is written "The"'),
        ("lower[0] = (", 'is "("'),
        ("suffix3[0] = ing + short_shape[0] = x", "ends in -ing and is in lower case"),
        ("prefix2[1] = Co", "the word after begins with Co-"),
        ("tag[-2] = IN + lower[0] = x", 'the second word before is tagged IN, this word is "x"'),
        ("lower[1] = a + lower[0] = b", 'this word is "b", the word after is "a"'),
        ("lower[-1] = <s>", "there is no word before"),
        ("known_tags[0] = 0\u24231", "is known as DT or NN"),
        ("known_tag2[0] = True", "is known as VBZ"),
        ("known_tags[0] = 99", "is known as tag 99"),
        ("word_class1[1] = 7", "the word after is like Mary, Anna, John"),
        ("word_class1[0] = 9", "is in word class 9"),
        ("word_class2[0] = first|of_town", "is listed as first or a word of town"),
        ("has_digit[0] = True", "has digit"),
        ("_.kind[0] = odd", "has the .kind odd"),
        ("tag[0] = NN (0.95)", "is tagged NN (0.95)"),
        ("no template", "no template"),
    ],
)
def test_features(wording, name, words):
    assert wording.feature(name) == words


def test_classes_without_words():
    """Of an older pipeline: the class has its number."""
    wording = wording_of(LABELS, Vocab(lookups=Lookups()))
    assert wording.feature("word_class1[0] = 7") == "is in word class 7"


@pytest.mark.parametrize(
    ("before", "label", "is_chunk", "words"),
    [
        ("DT", "NN", False, "NN after DT"),
        ("B-NP", "I-NP", True, "NP goes on"),
        ("B-NP", "L-NP", True, "NP goes on"),
        ("U-PP", "U-NP", True, "NP after PP"),
        ("O", "I-NP", True, "NP after no chunk"),
        ("L-NP", "O", True, "no chunk after NP"),
        ("I-NP", "I-VP", True, "VP after NP"),
    ],
)
def test_transitions(before, label, is_chunk, words):
    assert transition(before, label, is_chunk=is_chunk) == words


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (["B-LOC", "L-LOC"], "LOC"),
        (["O", "U-NP"], "no chunk and NP"),
        (["O", "O"], "no chunk"),
        (["B-ORG", "I-ORG", "I-ORG"], "ORG"),
        (["U-NP", "U-NP"], "NP and NP"),
    ],
)
def test_chunks(tags, words):
    assert chunks_in_words(tags) == words


@pytest.mark.parametrize(
    ("label", "word", "words"),
    [
        ("keep *ies>*y", "ponies", "pony (drop -ies, add -y)"),
        ("lower ge*t>*en", "Gesagt", "sagen (drop ge-, drop -t, add -en, in lower case)"),
        ("lower went>go", "went", "go"),
        ("keep *>*", "cat", "cat"),
    ],
)
def test_lemmas(label, word, words):
    assert lemma_in_words(label, word) == words


def test_class_words_come_along(tmp_path):
    """They are saved with the vocabulary."""
    nlp = spacy.blank("xx")
    path = tmp_path / "classes.tsv"
    path.write_text("Mary\t7\n", encoding="utf8")
    nlp.vocab.lookups = word_classes(path)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    assert wording_of((), again.vocab).feature("word_class1[0] = 7") == "is like Mary"
