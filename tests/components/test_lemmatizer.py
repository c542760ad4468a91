"""`hoseq_lemmatizer`: what it reads and writes, its candidates, its probabilities, and saving."""

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from . import lemma_helpers as tiny
from .lemma_helpers import NAME

pytestmark = pytest.mark.filterwarnings(r"ignore:\[HW005\]")  # words without parts of speech


@pytest.fixture(scope="module")
def nlp():
    return tiny.trained()


def test_new_words_by_their_ends_and_parts_of_speech(nlp):
    doc = Doc(nlp.vocab, words=["Fairies", "saw", "stories"], pos=["NOUN", "VERB", "NOUN"])
    assert tiny.said(nlp(doc)) == ["fairy", "see", "story"]
    assert tiny.said(nlp(Doc(nlp.vocab, words=["saw"], pos=["NOUN"]))) == ["saw"]


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
    nlp.initialize(lambda: tiny.examples_of(nlp))
    for _ in range(20):
        nlp.update(tiny.examples_of(nlp))
    assert tiny.said(nlp(Doc(nlp.vocab, words=["She", "saw"]))) == ["she", "see"]
    assert tiny.said(nlp(Doc(nlp.vocab, words=["The", "saw"]))) == ["the", "saw"]


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


def test_marginals():
    nlp = tiny.trained(objective="log_likelihood", save_marginals=True)
    doc = nlp(tiny.analyzed(nlp, tiny.CORPUS[0]))
    probabilities = doc._.hoseq_marginals[NAME]["probabilities"]
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(len(doc)), abs=1e-5)
    assert not probabilities[~nlp.get_pipe(NAME).candidates.allowed([doc])].any()
