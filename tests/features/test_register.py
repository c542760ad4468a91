"""Attributes of words that users register."""

import numpy as np
import pytest
import spacy
from spacy.strings import get_string_id, hash_string
from spacy.tokens import Doc

from spacy_hoseq.features import FeatureExtractor, parse_templates, register_attribute
from spacy_hoseq.features.attributes import (
    WORD_ATTRIBUTES,
    as_keys,
    lexical_attribute,
    numbered_names,
    numbers_of,
)

from .values import value_of

VOCAB = spacy.blank("en").vocab


@pytest.fixture(autouse=True)
def registered():
    before = dict(WORD_ATTRIBUTES)
    yield
    WORD_ATTRIBUTES.clear()
    WORD_ATTRIBUTES.update(before)


def vowels(word):
    return "".join(c for c in word if c in "aeiou")


def nth_letter(number, word):
    return word[number : number + 1]


def keys_of(texts, words):
    return FeatureExtractor(parse_templates(texts)).keys([Doc(VOCAB, words=words)])


def fires(texts, words):
    return keys_of(texts, words).astype(bool).tolist()


def test_templates_can_name_it():
    assert register_attribute("test_vowels")(vowels) is vowels
    assert value_of("test_vowels", VOCAB["banana"]) == hash_string("aaa")
    assert fires(["test_vowels[0]"], ["banana", "xyz", "salad"]) == [[True, False, True]]
    one, other = keys_of(["test_vowels[0]", "test_vowels[1]"], ["nag", "tab"]).tolist()
    assert one[0] == one[1] != other[0], "words of the same value, and another place"


def test_attributes_with_numbers():
    register_attribute("test_letter", numbers=range(1, 4))(nth_letter)
    assert numbers_of("test_letter") == range(1, 4) and "test_letter" in numbered_names()
    expected = [[True, True], [False, True], [False, True]]
    assert fires(["test_letter1..3[0]"], ["ab", "abcd"]) == expected
    assert value_of("test_letter2", VOCAB["abc"]) == hash_string("c")
    assert lexical_attribute("test_letter4") is lexical_attribute("test_letter0") is None
    with pytest.raises(ValueError, match=r"(?s)\[HS010\].*a range from 1 to 3"):
        parse_templates(["test_letter1..4[0]"])
    with pytest.raises(ValueError, match=r"\[HS013\].*test_letterN"):
        FeatureExtractor(parse_templates(["test_letter[0]"]))


@pytest.mark.parametrize(
    "values, numbers",
    [
        (["a", "", "b"], [hash_string("a"), 0, hash_string("b")]),
        ([True, False, True], [1, 0, 1]),
        ([7, 0, -1], [7, 0, 2**64 - 1]),
        ([None, "a", 3], [0, hash_string("a"), 3]),
        ([np.int64(-2), np.bool_(True).item(), None], [2**64 - 2, 1, 0]),
    ],
)
def test_values_of_all_types(values, numbers):
    words = ["one", "two", "three"]
    register_attribute("test_value")(dict(zip(words, values, strict=True)).get)
    extractor = FeatureExtractor(parse_templates(["test_value[0]"]))
    columns = extractor.columns([Doc(VOCAB, words=words)])
    assert columns.words.table[columns.words.rows[0], columns.words.types].tolist() == numbers


def test_values_of_a_wrong_type():
    register_attribute("test_value")(lambda word: 1.5)
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong float.*1\.5"):
        keys_of(["test_value[0]"], ["a"])


def test_values_that_depend_on_a_table():
    vocab = spacy.blank("en").vocab
    register_attribute("test_table", word="lexeme", table="sizes")(
        lambda word: word.vocab.lookups.get_table("sizes", {}).get(word.text, 0)
    )
    extractor = FeatureExtractor(parse_templates(["test_table[0]"]))
    doc = Doc(vocab, words=["a", "b"])
    fired = [extractor.keys([doc]).astype(bool).tolist()[0]]
    for sizes in ({"a": 1}, {"b": 1}):
        vocab.lookups.set_table("sizes", spacy.lookups.Table("sizes", sizes))
        fired.append(extractor.keys([doc]).astype(bool).tolist()[0])
    assert fired == [[False, False], [True, False], [False, True]], "another table is used at once"


def of_another_file():
    namespace = {}
    exec(compile("def vowels(word): return word", "other.py", "exec"), namespace)
    return namespace["vowels"]


@pytest.mark.parametrize(
    "name, function, numbers",
    [
        ("lower", vowels, None),
        ("prefix", nth_letter, range(3)),
        ("known_tag", nth_letter, range(3)),
        ("test_vowels", of_another_file(), None),
        *(
            (name, vowels, None)
            for name in ("", "Test", "test2", "a-b", "bias", "label", "upstream", "_")
        ),
        *(
            ("test_letter", nth_letter, numbers)
            for numbers in (range(0), range(0, 4, 2), range(-1, 4), range(4, 0, -1))
        ),
    ],
)
def test_names_and_numbers_that_cannot_be_used(name, function, numbers):
    register_attribute("test_vowels")(vowels)
    before = dict(WORD_ATTRIBUTES)
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong attribute: '{name}'"):
        register_attribute(name, numbers=numbers)(function)
    assert before == WORD_ATTRIBUTES


def test_a_file_that_is_loaded_again():
    """Its functions take the place of those that were registered before."""
    for value in ("one", "two"):
        register_attribute("test_value")(lambda word, value=value: value)
    assert value_of("test_value", VOCAB["a"]) == hash_string("two")


def test_with_and_without_a_number_are_two_attributes():
    register_attribute("suffixes", numbers=range(3))(nth_letter)
    register_attribute("suffixes")(vowels)
    assert value_of("suffixes", VOCAB["tea"]) == hash_string("ea")
    assert value_of("suffixes0", VOCAB["tea"]) == hash_string("t")


def test_keys_are_those_of_the_string_store():
    """Of words of one kind in fewer calls, symbols of spaCy and the empty string among them."""
    texts = ["det", "NOUN", "", "walking", "中"]
    assert as_keys(texts).tolist() == [get_string_id(text) for text in texts]
    assert as_keys([-1, 0, 7]).tolist() == [2**64 - 1, 0, 7]
    assert as_keys([True, False]).tolist() == [1, 0]
    assert as_keys([None, None]).tolist() == [0, 0]
    assert as_keys(["det", 7, None, True]).tolist() == [get_string_id("det"), 7, 0, 1]
    assert as_keys([]).tolist() == []
