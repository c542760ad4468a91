"""`hoseq_lemmatizer`: what it reads and writes, its candidates, its probabilities, and saving."""

import numpy as np
import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.components.targets.lemmas import (
    Candidates,
    LemmaLabels,
    Script,
    label_of,
    script_named,
)

from ..builders import learn
from . import lemma_helpers as tiny
from .lemma_helpers import NAME

pytestmark = pytest.mark.filterwarnings(r"ignore:\[HW005\]")  # words without parts of speech


@pytest.fixture(scope="module")
def nlp():
    return tiny.trained()


def test_words_that_nothing_fits_are_their_own_lemma(nlp):
    nlp = tiny.blank()
    pipe = nlp.get_pipe(NAME)
    example = Example(Doc(nlp.vocab, words=["went"]), Doc(nlp.vocab, words=["went"], lemmas=["go"]))
    pipe.initialize(lambda: [example])
    assert pipe.labels == ("lower went>go",)
    assert tiny.said(pipe(Doc(nlp.vocab, words=["went", "came"]))) == ["go", "came"]


def test_a_lemma_that_is_set_constrains_probabilities(nlp):
    pipe = nlp.get_pipe(NAME)
    doc = Doc(nlp.vocab, words=["saw"], pos=["VERB"], lemmas=["saw"])
    assert pipe.lemma_probabilities([doc]) == [[{"saw": pytest.approx(1.0)}]]


def test_tokens_seen_before_change_nothing(nlp):
    """The labels of tokens by themselves are those of whole texts."""
    pipe = nlp.get_pipe(NAME)
    docs = [tiny.analyzed(nlp, line) for line in tiny.CORPUS] * 2
    potentials = pipe.read(docs).potentials
    whole = np.where(potentials.allowed, potentials.scores, -np.inf).argmax(axis=1)
    for _ in range(2):
        assert np.array_equal(np.concatenate(pipe.predict(docs).label_ids), whole)


@pytest.mark.parametrize("label_cells", [1, 200])
def test_many_new_tokens_are_decoded_some_at_a_time(monkeypatch, nlp, label_cells):
    pipe = nlp.get_pipe(NAME)
    docs = [tiny.analyzed(nlp, line) for line in tiny.CORPUS]
    expected = np.concatenate(pipe.predict(docs).label_ids)
    again = nlp.from_bytes(nlp.to_bytes()).get_pipe(NAME)
    monkeypatch.setattr(again, "label_cells", label_cells)
    assert np.array_equal(np.concatenate(again.predict(docs).label_ids), expected)


def test_more_training_is_seen():
    nlp = tiny.trained(n_updates=1)
    pipe = nlp.get_pipe(NAME)
    doc = tiny.analyzed(nlp, tiny.CORPUS[1])
    pipe.predict([doc])
    for _ in range(20):
        nlp.update(tiny.examples_of(nlp))
    assert tiny.said(pipe(doc)) == tiny.rows_of(tiny.CORPUS[1])[2]


def test_templates_about_neighbours():
    """Where neighbours count, texts are decoded as they are."""
    templates = ["bias", "lower[0]", "lower[-1]+lower[0]"]
    nlp = tiny.blank(model={"emissions": {"templates": templates, "min_count": 1}})
    learn(nlp, tiny.examples_of(nlp), 20)
    assert tiny.said(nlp(Doc(nlp.vocab, words=["She", "saw"]))) == ["she", "see"]
    assert tiny.said(nlp(Doc(nlp.vocab, words=["The", "saw"]))) == ["the", "saw"]


def test_templates_about_forms_alone():
    """Then a form has one lemma, whatever its part of speech is."""
    nlp = tiny.trained(model={"emissions": {"templates": ["bias", "lower[0]"], "min_count": 1}})
    docs = [Doc(nlp.vocab, words=["saw"], pos=[pos]) for pos in ("VERB", "NOUN")]
    lemmas = {lemma for doc in docs for lemma in tiny.said(nlp(doc))}
    assert len(lemmas) == 1 and lemmas <= {"see", "saw"}


def test_probabilities_are_sums_over_scripts():
    nlp = tiny.trained(objective="log_likelihood")
    pipe = nlp.get_pipe(NAME)
    doc = Doc(nlp.vocab, words=["saw", "cuts"], pos=["VERB", "NOUN"])
    potentials = pipe.read([doc]).potentials
    weights = np.where(potentials.allowed, np.exp(potentials.scores.astype(np.float64)), 0)
    (lemmas,) = pipe.lemma_probabilities([doc], least=0.0)
    for token, row, found in zip(doc, weights, lemmas, strict=True):
        expected = {}
        for label_id in np.flatnonzero(row):
            lemma = pipe.candidates.scripts[label_id].lemma(token.text)
            expected[lemma] = expected.get(lemma, 0) + row[label_id] / row.sum()
        assert found == pytest.approx(expected)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_lexicon():
    """A form of the lexicon has the lemmas that stand there, and those of the training text, and no others."""
    nlp = tiny.trained(lexicon={"stories": ["storey"], "mice": ["mouse"], "saw": ["saw"]})
    pipe = nlp.get_pipe(NAME)
    doc = Doc(nlp.vocab, words=["stories", "mice", "ponies"], pos=["NOUN"] * 3)
    assert tiny.said(nlp(doc)) == ["storey", "mouse", "pony"]
    (lemmas,) = pipe.lemma_probabilities([Doc(nlp.vocab, words=["stories", "saw"])], least=0.0)
    assert set(lemmas[0]) == {"storey"} and set(lemmas[1]) == {"saw", "see"}


def test_other_words_in_the_prediction():
    """Gold lemmas count for tokens that are words of the reference."""
    nlp = tiny.blank()
    pipe = nlp.get_pipe(NAME)
    gold = Doc(nlp.vocab, words=["cannot", "cats"], lemmas=["cannot", "cat"])
    example = Example(Doc(nlp.vocab, words=["can", "not", "cats"]), gold)
    pipe.initialize(lambda: [example])
    assert pipe.gold_ids([example]).tolist() == [-1, -1, pipe.labels.index("lower *s>*")]
    nlp.update([example])


def test_dictionary_of_scripts_that_do_not_fit():
    """Of a word for which it has no other, the scripts that fit are candidates, as without an entry."""
    nlp = tiny.blank()
    pipe = nlp.get_pipe(NAME)
    dictionary = {"ponies": ["lower went>go"], "walries": ["lower went>go"]}
    pipe.initialize(lambda: tiny.examples_of(nlp), nlp=nlp, tag_dictionary=dictionary)
    for _ in range(10):
        nlp.update(tiny.examples_of(nlp))
    doc = Doc(nlp.vocab, words=["ponies", "walries"], pos=["NOUN", "NOUN"])
    assert tiny.said(pipe(doc)) == ["pony", "walry"]


def test_the_most_frequent_scripts_are_labels():
    """1,500 of them. Of those that are equally frequent the scripts of whole forms come first, then by name."""
    letters = [str.maketrans("0123456789", "abcdefghij"), str.maketrans("0123456789", "klmnopqrst")]
    # form and lemma share no letter
    pairs = [tuple(f"{i:04}".translate(table) for table in letters) for i in range(1499)]
    pairs += [(f"abcdefgh{ending}", "abcdefgh") for ending in ("zi", "ju", "xo")]
    pairs += [("walks", "walk")] * 2
    vocab = spacy.blank("xx").vocab
    words, lemmas = zip(*pairs, strict=True)
    doc = Doc(vocab, words=words, lemmas=lemmas)
    labels = LemmaLabels().labels_in([Example(doc, doc)])
    whole = [label for label in labels if "*" not in label]
    assert len(labels) == 1500 and labels == sorted(labels)
    assert "lower *s>*" in labels and len(whole) == 1499


# Edit scripts: what is made of a form is the lemma that the script is of, whatever the characters are


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
    ("하며", "하+며", "lower *며>*+며"),
    ("이적했다", "이적+하+았+다", "lower *했다>*+하+았+다"),
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
    replaced = sum(map(len, script_named(label_of(form, lemma))[1:5]))
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


@pytest.mark.parametrize(
    "label", ["", "lower", "lower a", "small *>*", "lower *s>", "lower **>*", "lower a>b>c"]
)
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
