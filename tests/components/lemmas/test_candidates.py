"""Which labels fit which words, against a look at all of them."""

import numpy as np
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_hoseq.components.lemmas.candidates import Candidates
from spacy_hoseq.components.lemmas.scripts import script_named, script_of

VOCAB = spacy.blank("xx").vocab
words = st.lists(st.text(alphabet="abAB", min_size=1, max_size=5), min_size=1, max_size=8)


@given(forms=words, lemmas=words, others=words)
def test_are_all_that_fit(forms, lemmas, others):
    labels = sorted({script_of(form, lemma).label for form, lemma in zip(forms, lemmas, strict=False)})
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


def test_a_long_word_is_looked_up_as_often_as_a_short_one():
    asked = []

    class Endings(dict):
        def get(self, ending, default=None):
            asked.append(ending)
            return super().get(ending, default)

    candidates = Candidates(["lower *s>*", "lower *ies>*y", "lower x*>*"])
    candidates._by_ends["lower"] = Endings(candidates._by_ends["lower"])
    for form in ("xxxxies", "x" * 10_000 + "ies"):
        assert candidates.allowed([Doc(VOCAB, words=[form])]).all()
        assert asked == ["", "s", "es", "ies", "xies"]
        asked.clear()
