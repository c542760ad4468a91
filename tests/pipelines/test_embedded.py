"""Pipelines that come with the package: found, loaded, sourced, refused."""

import copy
import pickle
import shutil
import zlib

import pytest
import spacy
import srsly
from spacy.tokens import Doc

import spacy_hoseq
from spacy_hoseq.pipelines import embedded_path, loading
from spacy_hoseq.treebanks import words_of

from ..builders import packaged, shared

NAMES = sorted(path.parent.name for path in loading.PIPELINES_FOLDER.glob("*/meta.json"))
LONG = {"marks": pytest.mark.long}
ONE_SOON = [name if name[:2] == "af" else pytest.param(name, **LONG) for name in NAMES]
TEXTS = [
    "",
    "\n",
    "   ",
    "x" * 100_000,
    "\U0001f600 \U0001f469\u200d\U0001f52c!",
    "Это не по-английски. 这不是英语。",
    "a\n\nb\r\nc\td",
]


def test_there_are_some():
    assert "en_hoseq_sm" in NAMES


@pytest.mark.parametrize("name", ONE_SOON)
def test_whatever_text(name):
    nlp = shared(name)
    for text, doc in zip(TEXTS, nlp.pipe(TEXTS), strict=True):
        assert doc.text == text
        assert all(token.tag_ and token.pos_ for token in doc)
        assert all(span.text.strip() for span in doc.sents) or not text.strip()


@pytest.mark.parametrize("name", ONE_SOON)
def test_is_light_in_other_processes(name):
    """At most 1.5 times the files, also when words and weights were used; and the same results."""
    nlp = spacy_hoseq.load(name)
    n_bytes = sum(file.stat().st_size for file in embedded_path(name).rglob("*") if file.is_file())
    fresh = len(pickle.dumps(nlp))
    expected = [doc.to_json() for doc in nlp.pipe(TEXTS)]
    used = pickle.dumps(nlp)
    assert fresh < 1.5 * n_bytes and len(used) < 1.5 * n_bytes
    for other in (pickle.loads(used), copy.deepcopy(nlp)):
        assert [doc.to_json() for doc in other.pipe(TEXTS)] == expected
        assert len(pickle.dumps(other)) < 1.5 * n_bytes


@pytest.mark.parametrize("name", NAMES)
def test_every_part_is_for_the_lowest_spacy(name):
    """The segmenter of a tokenizer is a pipeline, too: made with a newer spaCy, it would warn."""
    metas = [srsly.read_json(path) for path in embedded_path(name).rglob("meta.json")]
    assert {meta["spacy_version"] for meta in metas} == {">=3.8.13,<3.9.0"}


def test_english():
    doc = spacy_hoseq.load("en")("We tag it at once. Nothing has to be downloaded!")
    first, second = (sentence.text for sentence in doc.sents)
    assert (first, second) == ("We tag it at once.", "Nothing has to be downloaded!")
    assert [token.tag_ for token in doc][:6] == ["PRP", "VBP", "PRP", "IN", "RB", "."]
    assert [token.pos_ for token in doc][:4] == ["PRON", "VERB", "PRON", "ADP"]
    chunks = doc.spans["chunks"]
    assert ("to be downloaded" in [span.text for span in chunks]) or len(chunks) > 4
    assert all(0 <= score <= 1 for score in chunks.attrs["scores"])


@pytest.mark.parametrize(
    "words",
    [
        "Nice| work|\U0001f44d\U0001f3fd|!",
        "so| \u2764\ufe0f|\u2764\ufe0f| good",
        "a| \U0001f469\U0001f3fd\u200d\U0001f4bb|.",
        "go| \U0001f1ec\U0001f1e7|\U0001f1eb\U0001f1f7",
    ],
)
def test_emoji_of_several_characters_are_words(words):
    text = words.replace("|", "")
    doc = shared("en").make_doc(text)
    assert doc.text == text
    assert [token.text for token in doc] == [word.strip() for word in words.split("|")]


@pytest.mark.parametrize(
    "sentences",
    [
        ["We meet at 5 p.m. ", "He left."],
        ["Off to the beach with the kids\n", "So much fun today\n", "Who is coming too"],
        ["Please find the plan below.\n", "Best wishes\n", "Ana Lee"],
    ],
)
def test_sentences_end_after_abbreviations_and_with_lines(sentences):
    doc = shared("en")("".join(sentences))
    found = [sentence.text.strip() for sentence in doc.sents]
    assert found == [sentence.strip() for sentence in sentences]


@pytest.mark.parametrize(
    "lang, words, text, lemma",
    [
        ("af", "Die kinders speel buite .", "Die kinders speel buite. Hulle lag.", "kind"),
        ("cy", "Mae 'r plant yn yr ysgol .", "Mae'r plant yn yr ysgol. Roedd hi yno.", "plentyn"),
    ],
)
def test_pipelines_of_treebanks(lang, words, text, lemma):
    """Words, sentences, features and lemmas of raw text."""
    nlp = shared(lang)
    assert nlp.lang == lang == spacy.blank(lang).lang and nlp.meta["version"] == "1.0.0"
    doc = nlp(text)
    first, second = doc.sents
    assert [token.text for token in first] == words.split() and second.text.endswith(".")
    (noun,) = (token for token in doc if token.lemma_ == lemma)
    assert noun.pos_ == "NOUN" and noun.morph.get("Number") == ["Plur"]


GIVEN = {"en": "It works . It ran .", "zh": "我们 喝 茶 。 他 走 了 。"}
GIVEN |= {"af": "Hulle lag . Dit werk .", "cy": "Mae hi yma . Mae ef yno ."}


@pytest.mark.parametrize("lang", GIVEN)
def test_given_words_have_sentences(lang):
    words = GIVEN[lang].split()
    doc = shared(lang)(Doc(shared(lang).vocab, words))
    assert [sentence[-1].text for sentence in doc.sents] == [words[-1]] * 2


def test_english_features_lemmas_and_names():
    doc = shared("en")("The mice were seen by Mary Miller in London.")
    assert [token.lemma_ for token in doc][:5] == ["the", "mouse", "be", "see", "by"]
    assert doc[1].morph.to_dict() == {"Number": "Plur"} and doc[3].morph.get("VerbForm") == ["Part"]
    names = [(span.text, span.label_) for span in doc.ents]
    assert names == [("Mary Miller", "PER"), ("London", "LOC")]
    assert all(0.3 < score <= 1 for score in doc.spans["entities"].attrs["scores"])


def test_welsh_words_of_a_word():
    doc = shared("cy")("Roedd hi yno.")
    assert [word.text for word in words_of(doc[0])] == ["Yr", "oedd"]


def test_by_language_or_by_name():
    assert embedded_path("en") == embedded_path("en_hoseq_sm")
    found = spacy_hoseq.load("en", exclude=["hoseq_chunker"]).pipe_names
    assert found == [name for name in shared("en").pipe_names if name != "hoseq_chunker"]


def test_a_component_of_it():
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_tagger", source=packaged())  # which changes it
    text = "Cats sleep."
    assert [token.tag_ for token in nlp(text)] == [token.tag_ for token in shared("en")(text)]


def test_unknown_names():
    with pytest.raises(ValueError, match=r'\[HS130\].*"xx".*"en"'):
        spacy_hoseq.load("xx")


def test_settings_that_spacy_does_not_have():
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        spacy_hoseq.load("en", foo=1)


def test_installed_without_data(monkeypatch, tmp_path):
    monkeypatch.setattr(loading, "PIPELINES_FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"\[HS131\].*pip install"):
        spacy_hoseq.load("en")


@pytest.mark.parametrize("name", NAMES)
def test_card_and_licence_are_there(name):
    folder = embedded_path(name)
    meta = spacy.util.load_meta(folder / "meta.json")
    assert meta["license"] == "CC BY-SA 4.0"
    assert meta["sources"] and all(source["license"] for source in meta["sources"])
    card = (folder / "README.md").read_text("utf8")
    labels = spacy_hoseq.load(name).pipe_labels.get("hoseq_entities", [])
    assert "It has no dependency parser" in card and "no vectors" in card
    assert "<<<<<<<" not in card
    assert all(label in card for label in labels) if labels else "no names" in card
    assert "CC BY-SA" in (folder / "LICENSE").read_text("utf8")
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert sum(len(zlib.compress(data)) for data in files) < 5_300_000  # as in the wheel


def test_damaged(tmp_path):
    """A file that is cut is refused at load."""
    shutil.copytree(embedded_path("en"), tmp_path / "en")
    model = tmp_path / "en" / "hoseq_tagger" / "model"
    model.write_bytes(model.read_bytes()[:-100])
    with pytest.raises(ValueError, match="HS064"):
        spacy.load(tmp_path / "en")
