"""Edit scripts: what is made of a form is the lemma that the script is of, whatever the characters are."""

import numpy as np
import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_hoseq.components.targets.lemmas import (
    Candidates,
    Script,
    label_of,
    script_named,
)

SCRIPTS = [
    ("ponies", "pony", "lower *ies>*y"),
    ("Ponies", "pony", "lower *ies>*y"),
    ("house", "house", "lower *>*"),
    ("The", "the", "lower *>*"),
    ("Berlin", "Berlin", "keep *>*"),
    ("BERLIN", "Berlin", "title *>*"),
    ("usa", "USA", "upper *>*"),
    ("gesagt", "sagen", "lower ge*t>*en"),
    ("went", "go", "lower went>go"),
    ("is", "be", "lower is>be"),
    ("women", "woman", "lower *en>*an"),
    ("3>2*", "3%", "lower 3%3E2%2A>3%25"),
    ("", "", "lower >"),
    ("", "a", "lower >a"),
    ("a", "", "lower a>"),
]
words = st.text(max_size=12) | st.text(alphabet="abAB*>% \u0301\u0130ß👩\u200d🚀", max_size=8)


@pytest.mark.parametrize("form, lemma, label", SCRIPTS)
def test_labels(form, lemma, label):
    assert label_of(form, lemma) == label


@given(form=words, lemma=words)
@example(form="İstanbul", lemma="istanbul")
@example(form="cafe\u0301s", lemma="cafe\u0301")
@example(form="👩\u200d🚀s", lemma="👩\u200d🚀")
def test_makes_the_lemma(form, lemma):
    script = script_named(label_of(form, lemma))
    assert script.applied(form) == lemma
    assert script_named(script.label) == script


def pieces_of(text):
    return {text[i:j] for j in range(len(text) + 1) for i in range(j + 1)}


@given(form=words, lemma=words)
def test_is_the_shortest_of_all_cases(form, lemma):
    """No case shares a longer string with the lemma, counted from what stays out of it."""
    script = script_named(label_of(form, lemma))
    replaced = sum(map(len, script[1:5]))
    for changed in (form.lower(), form, form[:1].upper() + form[1:].lower(), form.upper()):
        size = max(map(len, pieces_of(changed) & pieces_of(lemma)))
        if 3 * size > max(len(changed), len(lemma)):
            assert replaced <= len(changed) + len(lemma) - 2 * size


def test_fits():
    assert Script("lower", "", "", "ies", "y").applied("ponies") == "pony"
    assert Script("lower", "", "", "ies", "y").applied("pony") is None
    assert Script("lower", "ge", "", "t", "en").applied("get") is None
    assert Script("lower", "went", "go", is_whole=True).applied("forwent") is None
    assert Script("lower", "", "", "s", "").applied("s") is None, "something stays"


@pytest.mark.parametrize("label", ["", "lower", "lower a", "small *>*", "lower *s>", "lower **>*", "lower a>b>c"])
def test_no_scripts(label):
    with pytest.raises(ValueError, match="HS027"):
        script_named(label)


VOCAB = spacy.blank("xx").vocab
word_lists = st.lists(st.text(alphabet="abAB", min_size=1, max_size=5), min_size=1, max_size=8)


@given(forms=word_lists, lemmas=word_lists, others=word_lists)
def test_are_all_that_fit(forms, lemmas, others):
    labels = sorted({label_of(form, lemma) for form, lemma in zip(forms, lemmas, strict=False)})
    doc = Doc(VOCAB, words=[*forms, *others])
    for form, allowed in zip(doc, Candidates(labels).allowed([doc]), strict=True):
        fitting = [script_named(label).applied(form.text) is not None for label in labels]
        assert allowed.tolist() == (fitting if any(fitting) else [True] * len(labels))


def test_mask():
    candidates = Candidates(["lower *s>*", "lower went>go"])
    doc = Doc(VOCAB, words=["cats", "went", "x", "cats"])
    assert np.array_equal(candidates.allowed([doc]), [[1, 0], [0, 1], [1, 1], [1, 0]])
    assert candidates.scripts[0].lemma("x") == "x", "no script fits: the word is its own lemma"


def test_no_words():
    assert Candidates(["lower *s>*"]).allowed([]).shape == (0, 1)
    assert Candidates(["lower *s>*"]).allowed([Doc(VOCAB)]).shape == (0, 1)
