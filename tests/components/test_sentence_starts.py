"""Sentence starts as labels: a tagger with the attribute "sent_start" in the place of spaCy's `senter`."""

import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from ..builders import learn

TEMPLATES = ["bias", "orth[-1]", "short_shape[0]", "line_break[0]", "orth[-1]+short_shape[0]"]
SENTENCES = ["It rains .", "Go !", "We stay at home", "Why not ?", "Mr. A ran ."]
SENTENCES = [text.split() for text in SENTENCES]


def blank(**settings):
    nlp = spacy.blank("xx")
    emissions = {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": TEMPLATES}
    config = {"attribute": "sent_start", "model": {"emissions": emissions}, **settings}
    nlp.add_pipe("hoseq_tagger", name="sentences", config=config)
    nlp.config["training"]["score_weights"] = {"sents_f": 1.0}
    return nlp


def gold(nlp, n_sentences, seed, between=("",)):
    """A Doc of random sentences; `between` stands between two of them."""
    rng = random.Random(seed)
    words, spaces, starts = [], [], []
    for number, sentence in enumerate(rng.choices(SENTENCES, k=n_sentences)):
        gap = rng.choice(between) if number else ""
        if gap:
            spaces[-1] = False
            words, spaces, starts = [*words, gap], [*spaces, False], [*starts, False]
        words += sentence
        spaces += [True] * len(sentence)
        starts += [True] + [False] * (len(sentence) - 1)
    return Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)


def unannotated(doc):
    return Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])


@pytest.fixture(scope="module")
def trained():
    nlp = blank()
    golds = [gold(nlp, 6, seed, between=("", "\n", "\n\n")) for seed in range(30)]
    examples = [Example(unannotated(doc), doc) for doc in golds]
    return learn(nlp, examples, 8)


def starts(doc):
    return [token.is_sent_start for token in doc]


def test_scores_are_those_of_sentences(trained):
    docs = [gold(trained, 5, seed) for seed in range(200, 205)]
    scores = trained.evaluate([Example(unannotated(doc), doc) for doc in docs])
    assert scores["sents_f"] == scores["sents_p"] == scores["sents_r"] == 1.0
    starts = [True, False, False, False, False]
    joined = Doc(trained.vocab, words="It rains . Go !".split(), sent_starts=starts)
    scores = trained.evaluate([Example(unannotated(joined), joined)])
    assert (scores["sents_p"], scores["sents_r"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    "text", ["", "\n", " It rains.", "\n\nIt rains. Go!\n", "It rains.\n\n\nGo!"]
)
def test_white_space_begins_no_sentence(trained, text):
    doc = trained(text)
    assert doc.text == text
    starts = [token.i for token in doc if token.is_sent_start]
    assert starts == [sentence.start for sentence in doc.sents]
    for sentence in doc.sents:
        assert sentence.text.strip() or not text.strip()


def test_gold_on_other_tokens():
    """The text is cut otherwise: a sentence starts at the first token that the gold one stands in."""
    nlp = blank()
    spaces = [True, False, True, False, False]
    predicted = Doc(nlp.vocab, words=["It", "rain", "s.", "G", "o!"], spaces=spaces)
    words = ["It", "rains", ".", "Go", "!"]
    reference = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=[1, -1, -1, 1, -1])
    values = nlp.get_pipe("sentences").target.aligned(Example(predicted, reference))
    assert [nlp.vocab.strings[value] for value in values.tolist()] == ["S", "I", "I", "S", "I"]


def test_other_labels_are_refused():
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong label of sent_start: 'B'.*S, I"):
        blank().get_pipe("sentences").add_label("B")


def test_empty_text_before_training():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_senter")
    assert not len(nlp(""))
