"""Words become units with labels."""

import pytest
import spacy
from confection import ConfigValidationError
from spacy.tokens import Doc
from spacy.util import registry

from spacy_hoseq.segmentation.corpus import labelled_units

from .helpers import examples_of, saved_words


def labelled(words, spaces=None, tags=None, kinds=""):
    doc = labelled_units(Doc(spacy.blank("zh").vocab, words=words, spaces=spaces, tags=tags), kinds)
    return doc.text, [(unit.text, unit.tag_) for unit in doc]


def test_labels_of_units():
    text, units = labelled(["我", "喜欢", "iPhone", "X", "的", "3.14", "千字文"])
    assert text == "我喜欢iPhone X的3.14千字文"
    assert [unit for unit, _ in units] == "我 喜 欢 iPhone X 的 3 . 14 千 字 文".split()
    assert [label for _, label in units] == [f"{place}-W" for place in "SBESSSBIEBIE"]
    found = labelled(["我们", " \n", "喝", "茶"], [True] * 4)[0]
    assert found == "我们喝茶", "white space of words is not used"
    tagged = labelled(["我们", "喝"], tags=["PN", "VV"], kinds="tag")[1]
    assert tagged == [("我", "B-PN"), ("们", "E-PN"), ("喝", "S-VV")]


def test_a_unit_with_the_end_of_a_word_is_of_the_word_in_which_it_begins():
    units = labelled(["第1", "0a", "e", "\u0301茶"])[1]
    assert [unit for unit, _ in units] == ["第", "1", "0", "a", "e\u0301", "茶"]
    assert [label for _, label in units] == [f"{place}-W" for place in "BEBESS"]


def test_reader(tmp_path):
    examples = examples_of(saved_words(tmp_path), "tag")
    assert [eg.reference.text for eg in examples][3] == "我买了iPhone 12。"
    assert [eg.predicted.text for eg in examples] == [eg.reference.text for eg in examples]
    assert not examples[0].predicted.has_annotation("TAG")
    assert [unit.tag_ for unit in examples[0].reference] == ["B-PN", "E-PN", "S-VV", "S-NN", "S-PU"]


def test_settings_that_cannot_be():
    with pytest.raises(ConfigValidationError, match="kinds"):
        registry.resolve({"units": {"@augmenters": "spacy_hoseq.units.v1", "kinds": "lemma"}})
