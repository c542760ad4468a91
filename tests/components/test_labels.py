"""Labels and initialization: ecosystem.md, sections 4 and 13 (rows 2 to 7, 10, 11)."""


import pytest
from spacy.training import Example

from .helpers import (
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    tagger_of,
    train,
)


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


def test_initialization_with_other_labels_is_refused():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    with pytest.raises(ValueError, match="E922"):
        nlp.initialize(lambda: examples_of(nlp, [("a b", "NEW N")]))


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
