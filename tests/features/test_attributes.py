"""Attribute values against values written by hand, and against the tokens' own."""

import numpy as np
import pytest
import spacy
from spacy.attrs import IDS
from spacy.strings import hash_string
from spacy.tokens import Doc, Token

from spacy_hoseq.features.attributes import check_attribute, lexical_attribute, token_values
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import parse_templates

from .values import value_of

VALUES = {  # by attribute: word and value (text is hashed, 0 = no value)
    "orth": {"Mid-1990s": "Mid-1990s"},
    "lower": {"Mid-1990s": "mid-1990s"},
    "shape": {"Mid-1990s": "Xxx-ddddx"},
    "short_shape": {"Mid-1990s": "Xx-dx", "a": "x", "U.S.": "X.X."},
    "prefix": {"Mid-1990s": "M"},
    "suffix": {"Mid-1990s": "90s"},
    "prefix1": {"Mid-1990s": "M"},
    "prefix3": {"Mid-1990s": "Mid"},
    "prefix9": {"Mid-1990s": "Mid-1990s"},
    "prefix10": {"Mid-1990s": 0},
    "suffix2": {"Mid-1990s": "0s", "a": 0},
    "suffix1": {"木": "木"},
    "has_digit": {"Mid-1990s": 1, "３": 1, "three": 0},
    "has_upper": {"iPod": 1, "ipod": 0},
    "initial_upper": {"iPod": 0, "Pod": 1, "A": 1, "Éa": 1, "1A": 0, "木": 0},
    "edge": {"Pod": 0, ".": 0},
    "known_tag0": {"Pod": 0},
    "has_hyphen": {"well-known": 1, "known": 0},
    "several_chars": {"高兴": 1, "高": 0},
    "length": {"Mid-1990s": 9, "高兴": 2, " \n": 2},
    "char_classes": {"３０％": "NdPo", "Ab3": "LlLuNd", "高兴": "Lo", "\n": "Cc"},
    "simplified": {"網路Ａ": "网路a", "沿著，": "沿着,"},
    "simplified_prefix2": {"網路": "网路"},
    "simplified_prefix3": {"網路": 0},
    "simplified_suffix1": {"臺灣": "湾"},
    "repeated_char": {
        "高高兴兴": "AABB",
        "试试": "AA",
        "研究研究": "ABAB",
        "看一看": "ABA",
        "高兴": 0,
        "高": 0,
        "哈哈哈哈哈哈哈": 0,
    },
    "is_alpha": {"dog": 1, "d0g": 0},
    "is_title": {"Dog": 1},
    "is_punct": {".": 1},
    "is_space": {"\n": 1},
    "is_stop": {"the": 1},
    "like_num": {"ten": 1},
    "like_url": {"example.org": 1},
    "is_bracket": {"(": 1},
    "is_currency": {"$": 1},
}
VALUES = [(name, *pair) for name, values in VALUES.items() for pair in values.items()]


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


@pytest.fixture
def extension():
    Token.set_extension("test_value", default=None)
    yield "test_value"
    Token.remove_extension("test_value")


@pytest.mark.parametrize("name, word, value", VALUES)
def test_value_of_a_word(vocab, name, word, value):
    assert value_of(name, vocab[word]) == (hash_string(value) if isinstance(value, str) else value)


@pytest.mark.parametrize("name", ["tag", "LOWER", "_.x", "prefixes", "suffix-1", "nonsense"])
def test_what_does_not_depend_on_the_word_alone(name):
    assert lexical_attribute(name) is None


def docs_of(lang):
    vocab = spacy.blank(lang).vocab
    english = "Ten|dogs|(|U.S.|)|cost|$|3,50|in|the|TIME|\n|Mark|  "
    texts = [
        {"en": english, "zh": "他|高高兴兴|地|\n|花|了|３０％|。|  |ＡＢＣ|试试"}[lang].split("|")
    ]
    return [Doc(vocab, words=words) for words in [*texts, ["x"], []]]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_columns_hold_the_values_of_the_tokens(lang):
    fields = [
        "orth", "lower", "norm", "shape", "prefix", "suffix", "is_alpha", "is_ascii", "is_digit", "is_lower",
        "is_upper", "is_title", "is_punct", "is_space", "is_bracket", "is_quote", "is_left_punct", "is_right_punct",
        "is_currency", "like_num", "like_url", "like_email", "is_stop",
    ]  # fmt: skip
    docs = docs_of(lang)
    columns = FeatureExtractor(parse_templates([f"{name}[-1..0]" for name in fields])).columns(docs)
    assert columns.n_tokens == len(docs[0]) + 1
    of_tokens = columns.words.table[columns.words.rows][:, columns.types[columns.positions]]
    for name, values in zip(fields, of_tokens, strict=True):
        assert values.tolist() == [int(getattr(token, name)) for doc in docs for token in doc], name


def fires(template, docs):
    """At which tokens, end to end."""
    return FeatureExtractor(parse_templates([template])).keys(docs)[0].astype(bool).tolist()


def test_edges_of_sentences(vocab):
    """No word has this attribute, only the places before and after a sentence."""
    divided = Doc(vocab, words=list("abcde"), sent_starts=[1, 0, 0, 1, 0])
    docs = [divided, Doc(vocab), Doc(vocab, words=["a"])]
    x, _ = True, False
    assert fires("edge[-1]", docs) == [x, _, _, x, _, x]
    assert fires("edge[1]", docs) == [_, _, x, _, x, x]
    assert fires("edge[-2]", docs) == [x, x, _, x, x, x]
    assert fires("edge[0]", docs) == [_] * 6
    assert fires("edge[-1]+edge[1]", docs) == [_, _, _, _, _, x]
    assert fires("edge[1]+lower[0]", docs) == [_, _, x, _, x, x]
    firsts = FeatureExtractor(parse_templates(["edge[-1]"])).keys(docs)[0]
    assert len(set(firsts.tolist())) == 2, "one feature, and none"


def test_annotation_of_the_doc(vocab):
    annotation = {"tags": ["X1", "", "X2"], "pos": ["DET", "", "NOUN"]}
    doc = Doc(vocab, words=["a", "b", "c"], lemmas=["a", "b", "d"], **annotation)
    assert token_values(doc, "tag").tolist() == [hash_string("X1"), 0, hash_string("X2")]
    assert token_values(doc, "pos").tolist() == [doc[0].pos, 0, doc[2].pos]
    assert token_values(doc, "LEMMA").tolist() == [token.lemma for token in doc]
    assert token_values(doc, "tag").dtype == np.uint64
    for name in ("tag", "lemma", "ent_type"):
        assert token_values(Doc(vocab), name).tolist() == []


def test_values_of_an_extension(vocab, extension):
    doc = Doc(vocab, words=list("abcdefgh"))
    values = ["person", "", None, True, False, 7, -1, np.int64(5)]
    for token, value in zip(doc, values, strict=True):
        token._.test_value = value
    expected = [hash_string("person"), 0, 0, 1, 0, 7, 2**64 - 1, 5]
    assert token_values(doc, "_.test_value").tolist() == expected
    assert token_values(Doc(vocab), "_.test_value").tolist() == []


@pytest.mark.parametrize("value", [1.5, ["a"], {"a": 1}, b"a"])
def test_extension_value_of_a_wrong_type(vocab, extension, value):
    doc = Doc(vocab, words=["a"])
    doc[0]._.test_value = value
    with pytest.raises(ValueError, match=rf"\[HS027\].*{type(value).__name__}"):
        token_values(doc, "_.test_value")


def test_extension_that_is_not_registered(vocab):
    extractor = FeatureExtractor(parse_templates(["_.never_registered[0]"]))
    with pytest.raises(ValueError, match=r"\[HS014\].*_\.never_registered"):
        extractor.keys([Doc(vocab, words=["a"])])


def test_every_attribute_of_spacy_is_accepted(vocab):
    doc = Doc(vocab, words=["Dog", "."])
    for name in IDS:
        if name and name.isidentifier():
            check_attribute(name.lower())
            assert len(token_values(doc, name.lower())) == 2
