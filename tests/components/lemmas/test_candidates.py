"""Which labels fit which words, against a look at all of them."""

import numpy as np
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_hoseq.components.lemmas.candidates import Candidates
from spacy_hoseq.components.lemmas.scripts import script_named, script_of

words = st.lists(st.text(alphabet="abAB", min_size=1, max_size=5), min_size=1, max_size=8)


@given(forms=words, lemmas=words, others=words)
def test_are_all_that_fit(forms, lemmas, others):
    labels = sorted({script_of(form, lemma).label for form, lemma in zip(forms, lemmas, strict=False)})
    candidates = Candidates(labels)
    for form in [*forms, *others]:
        fitting = [i for i, label in enumerate(labels) if script_named(label).applied(form) is not None]
        assert candidates.of(form).tolist() == fitting


def test_mask():
    candidates = Candidates(["lower *s>*", "lower went>go"])
    doc = Doc(spacy.blank("xx").vocab, words=["cats", "went", "x", "cats"])
    assert np.array_equal(candidates.allowed([doc]), [[1, 0], [0, 1], [1, 1], [1, 0]])
    assert candidates.lemma("x", 0) == "x", "no script fits: the word is its own lemma"


def test_endings_of_a_long_word_are_looked_up_as_far_as_there_are_any():
    asked = []

    class Endings(dict):
        def get(self, ending, default=None):
            asked.append(ending)
            return super().get(ending, default)

    candidates = Candidates(["lower *s>*", "lower *ies>*y", "lower x*>*"])
    candidates._by_ends["lower"] = Endings(candidates._by_ends["lower"])
    assert candidates.of("x" * 10_000 + "ies").tolist() == [0, 1, 2]
    assert asked == ["ies", "es", "s", ""]
