"""Labels and initialization: ecosystem.md, sections 4 and 13 (rows 2 to 7, 10, 11)."""

import itertools

import pytest
import srsly
from spacy.training import Example
from thinc.api import ConfigValidationError

from .helpers import (
    CORPUS,
    LABELS,
    VARIANTS,
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    tagger_of,
    tags_of,
    train,
)


@pytest.mark.long
@pytest.mark.parametrize("label", [9, None, 1.5, b"N", ["N"]])
def test_labels_are_strings(label):
    with pytest.raises(ValueError, match="E187"):
        tagger_of(blank()).add_label(label)
    nlp = blank()
    with pytest.raises(ValueError, match="E187"):
        tagger_of(nlp).initialize(lambda: examples_of(nlp), labels=["N", label])


def test_adding_labels():
    tagger = tagger_of(blank())
    assert tagger.labels == tagger.label_data == ()
    assert [tagger.add_label(label) for label in ("N", "V", "N", "A")] == [1, 1, 0, 1]
    assert tagger.labels == tagger.label_data == ("N", "V", "A")
    assert "A" in tagger.vocab.strings
    assert not tagger.is_resizable and tagger.is_trainable


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_labels_after_initialization(variant):
    nlp = blank(variant)
    nlp.initialize(lambda: examples_of(nlp))
    assert tagger_of(nlp).add_label("N") == 0
    with pytest.raises(ValueError, match="E922"):
        tagger_of(nlp).add_label("NEW")
    assert tagger_of(nlp).labels == LABELS


def test_initialization_without_labels():
    nlp = blank()
    for get_examples in (None, lambda: [Example.from_dict(doc_of(nlp, "no gold at all"), {})]):
        with pytest.raises(ValueError, match=r"\[HS069\].*looked in token.tag; .* have: nothing"):
            nlp.initialize(get_examples)


def test_use_without_labels():
    nlp = blank()
    with pytest.raises(ValueError, match="E143"):
        nlp("some text")
    with pytest.raises(ValueError, match="E143"):
        tagger_of(nlp).update(examples_of(nlp))
    with pytest.raises(ValueError, match="E143"):
        tagger_of(nlp).top_k([doc_of(nlp, "some text")], 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_use_without_initialization(variant):
    nlp = blank(variant)
    tagger_of(nlp).add_label("N")
    with pytest.raises(ValueError, match="HS052"):
        nlp("some text")
    with pytest.raises(ValueError, match="HS052"):
        tagger_of(nlp).update(examples_of(nlp))


@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_of_the_examples(variant):
    nlp = blank(variant)
    nlp.initialize(lambda: examples_of(nlp))
    assert tagger_of(nlp).labels == LABELS
    assert list(nlp.meta["labels"]["hoseq_tagger"]) == list(LABELS)


@pytest.mark.filterwarnings("ignore:.*HW010")
def test_labels_with_negative_prefix_are_the_labels():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp, [("a b c", "X !Y !X")]))
    assert tagger_of(nlp).labels == ("X", "Y")
    nlp = blank(neg_prefix="")
    nlp.initialize(lambda: examples_of(nlp, [("a b c", "X !Y !X")]))
    assert tagger_of(nlp).labels == ("!X", "!Y", "X")
    nlp = blank(neg_prefix="not-")
    nlp.initialize(lambda: examples_of(nlp, [("a b c", "X not-Y !X")]))
    assert tagger_of(nlp).labels == ("!X", "X", "Y")


def test_given_labels_keep_their_order():
    nlp = blank()
    labels = ["V", "N", "D", "A", "R", ".", "UNUSED"]
    tagger_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, labels=labels)
    assert list(tagger_of(nlp).labels) == labels
    train(nlp)
    assert predicted(nlp) == gold()


def test_given_labels_join_those_added_before():
    nlp = blank()
    tagger_of(nlp).add_label("N")
    tagger_of(nlp).initialize(lambda: examples_of(nlp), labels=["D", "N", "V", ".", "A", "R"])
    assert tagger_of(nlp).labels == ("N", "D", "V", ".", "A", "R")


def test_label_data_restores_the_labels(tmp_path):
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    path = tmp_path / "labels.json"
    srsly.write_json(path, tagger_of(nlp).label_data)
    other = blank()
    labels = {"@readers": "spacy.read_labels.v1", "path": str(path)}
    other.config["initialize"]["components"]["hoseq_tagger"] = {"labels": labels}
    unlabelled = [Example.from_dict(doc_of(other, text), {}) for text, _ in CORPUS]
    other.initialize(lambda: unlabelled)
    assert tagger_of(other).labels == LABELS


@pytest.mark.parametrize("settings", [{"nonsense": 1}, {"labels": 3}, {"tag_dictionary": ["the"]}])
def test_settings_of_initialization_are_checked(settings):
    nlp = blank()
    nlp.config["initialize"]["components"]["hoseq_tagger"] = settings
    with pytest.raises(ConfigValidationError):
        nlp.initialize(lambda: examples_of(nlp))


def test_examples_of_a_wrong_type():
    nlp = blank()
    tagger_of(nlp).add_label("N")
    for get_examples in (lambda: None, lambda: examples_of(nlp)[0], list, examples_of(nlp)):
        with pytest.raises(TypeError):
            nlp.initialize(get_examples)
        with pytest.raises(TypeError):
            tagger_of(nlp).initialize(get_examples)


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_initialization_without_data_after_adding_labels(variant):
    nlp = blank(variant)
    for label in LABELS:
        tagger_of(nlp).add_label(label)
    nlp.initialize()
    expected = {(".", ".", ".")} if "patterns" not in variant else set(itertools.product(LABELS, repeat=3))
    assert tuple(tags_of(nlp, "x y z")) in expected, "all scores are equal: the first label, or any with patterns"
    before = tagger_of(nlp).model.to_bytes()
    train(nlp, 1)
    assert tagger_of(nlp).model.to_bytes() != before


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_initialization_twice(variant):
    nlp = blank(variant)
    first = None
    for _ in range(2):
        optimizer = nlp.initialize(lambda: examples_of(nlp))
        train(nlp, 5, optimizer=optimizer)
        first = first or tagger_of(nlp).model.to_bytes()
    assert tagger_of(nlp).labels == LABELS
    assert tagger_of(nlp).model.to_bytes() == first, "everything is learnt anew, in the same way"


def test_initialization_with_other_labels_is_refused():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    with pytest.raises(ValueError, match="E922"):
        nlp.initialize(lambda: examples_of(nlp, [("a b", "NEW N")]))


def test_examples_are_read_as_a_stream():
    nlp = blank("all patterns")

    def stream():
        yield from examples_of(nlp)

    nlp.initialize(stream)
    train(nlp)
    assert predicted(nlp) == gold()


def test_all_examples_count_not_only_a_sample():
    nlp = blank()
    corpus = CORPUS * 4 + [("zebras", "Z")]
    nlp.initialize(lambda: examples_of(nlp, corpus))
    assert "Z" in tagger_of(nlp).labels
    train(nlp, corpus=corpus)
    assert tags_of(nlp, "zebras") == ["Z"]


def test_the_empty_text_is_no_label():
    nlp = blank()
    with pytest.raises(ValueError, match=r"\[HS057\].*hoseq_tagger"):
        tagger_of(nlp).add_label("")
    with pytest.raises(ValueError, match=r"\[HS057\]"):
        tagger_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, labels=["A", ""])


@pytest.mark.filterwarnings("ignore:.*HW001")
@pytest.mark.parametrize("tag", ["!", "!A"])
def test_labels_that_are_read_as_negative_annotation(tag):
    nlp = blank()
    examples = [Example.from_dict(doc_of(nlp, "a b"), {"tags": ["A", tag]})]
    with pytest.warns(UserWarning, match=rf"\[HW010\].*\({tag}\).*neg_prefix"):
        nlp.initialize(lambda: examples)
    assert tagger_of(nlp).labels == ("A",)
    plain = blank(neg_prefix="")
    examples = [Example.from_dict(doc_of(plain, "a b"), {"tags": ["A", tag]})]
    plain.initialize(lambda: examples)
    assert tagger_of(plain).labels == (tag, "A")
