"""n-best and marginals against enumeration of all labellings."""

import itertools
from collections import Counter

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.util import fix_random_seed

from spacy_hoseq.components.predictions import TagDictionary
from spacy_hoseq.decoders.problem import path_score
from spacy_hoseq.layers.weights import weights_of

from ..builders import doc_of, tagger_of
from .decoding import SPANS
from .helpers import (
    ALL_PATTERNS,
    LABELS,
    VARIANTS,
    blank,
    examples_of,
    ready,
    reloaded,
    tagger_model,
    tags_of,
    train,
    trained,
)

L = len(LABELS)


def enumerated(nlp, doc):
    """Score of every labelling of a Doc."""
    potentials = tagger_of(nlp).model.predict([doc])
    every = itertools.product(range(L), repeat=len(doc))
    return {y: float(path_score(potentials, np.array(y, np.int32)).sum()) for y in every}


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "text, starts", [("the cat run .", None), ("run . the cat", [1, 0, 1, 0]), ("cat", None)]
)
def test_best_of_all_labellings(variant, text, starts):
    nlp = ready(variant)
    doc = doc_of(nlp, text, sent_starts=starts)
    table = enumerated(nlp, doc)
    k = min(30, len(table))
    best = tagger_of(nlp).top_k([doc], k)[0]
    scores = sorted(table.values(), reverse=True)[:k]
    assert [scored.score for scored in best] == pytest.approx(scores, abs=1e-6)
    for labels, score in best:
        assert table[tuple(map(LABELS.index, labels))] == pytest.approx(score, abs=1e-6)
    assert len({tuple(labels) for labels, _ in best}) == k
    assert [token.tag_ for token in doc] == [""] * len(doc), "nothing is written"


def test_fewer_labellings_than_asked_for():
    nlp = ready()
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "cat")], 100)[0]) == L
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "a cat", sent_starts=[1, 1])], 100)[0]) == L * L
    assert tagger_of(nlp).top_k([doc_of(nlp, "")], 3) == [[([], 0.0)]]
    assert tagger_of(nlp).top_k([], 3) == []
    pipe, doc = tagger_of(nlp), doc_of(nlp, "a cat")
    assert pipe.top_k(doc, 2) == pipe.top_k([doc], 2)


def with_marginals(**config):
    nlp = blank(**{"objective": "log_likelihood", "save_marginals": True, **config})
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 3)
    return nlp


def marginals_of(doc, name="hoseq_tagger"):
    return doc._.hoseq_marginals[name]


def plain_marginals(nlp, doc, keep=lambda y: True):
    table = {y: score for y, score in enumerated(nlp, doc).items() if keep(y)}
    top = max(table.values())
    expected = np.zeros((len(doc), L))
    for y, score in table.items():
        expected[np.arange(len(doc)), y] += np.exp(score - top)
    return expected / expected.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("patterns", [None, ALL_PATTERNS], ids=["chain", "all"])
def test_marginals_respect_what_is_preset(patterns):
    nlp = with_marginals(model=tagger_model(patterns=patterns))
    doc = Doc(nlp.vocab, words="the cat run".split(), tags=["", "V", ""])
    plain = doc_of(nlp, "the cat run")
    expected = plain_marginals(nlp, plain, lambda y: LABELS[y[1]] == "V")
    assert marginals_of(tagger_of(nlp)(doc))["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert expected[1, LABELS.index("V")] == 1


# Labellings drawn from the posterior, against enumeration


PATTERNS = {"chain": None, "patterns": ALL_PATTERNS, "spans": SPANS}


def sampler(kind="spans", n_updates=2, **settings):
    model = tagger_model(patterns=PATTERNS[kind])
    return trained("log_likelihood", n_updates, model=model, **settings)


def probabilities(nlp, doc, keep=lambda labels: True):
    """p(labels | doc), of the labellings that may be, by enumeration."""
    potentials = tagger_of(nlp).model.predict([doc])
    table = {}
    for y in itertools.product(range(len(LABELS)), repeat=len(doc)):
        if keep(tuple(LABELS[label] for label in y)):
            score = path_score(potentials, np.array(y, np.int32))
            table[tuple(LABELS[label] for label in y)] = float(np.exp(score.sum()))
    total = sum(table.values())
    return {labels: p / total for labels, p in table.items()}


def assert_drawn_from(drawn, expected):
    """Frequencies of single labels and whole labellings lie within five standard deviations."""
    n = len(drawn)
    counts = Counter(map(tuple, drawn))
    assert set(counts) <= set(expected)
    for labels, p in expected.items():
        # rare ones have a long tail
        assert abs(counts[labels] - n * p) < 5 * np.sqrt(n * p * (1 - p)) + 5, labels
    assert len(counts) > 1


@pytest.mark.long
@pytest.mark.parametrize(
    "text, starts", [("old the old", None), ("the cat .", [1, 0, 0]), ("the old cat", [1, 1, 0])]
)
@pytest.mark.parametrize("kind", PATTERNS)
def test_draws_are_of_the_posterior(kind, text, starts):
    nlp = sampler(kind)
    doc = doc_of(nlp, text, sent_starts=starts)
    drawn = tagger_of(nlp).sample([doc], 3000, seed=5)[0]
    assert len(drawn) == 3000
    assert_drawn_from(drawn, probabilities(nlp, doc))
    assert [token.tag_ for token in doc] == [""] * 3, "nothing is written"


def test_the_seed_decides():
    nlp = sampler()
    docs = [doc_of(nlp, "the old dog sees the old cat ."), doc_of(nlp, "she runs home .")]
    first = tagger_of(nlp).sample(docs, 20, seed=3)
    fix_random_seed(1)
    assert tagger_of(nlp).sample(iter(docs), 20, seed=3) == first
    assert tagger_of(nlp).sample(docs, 20, seed=4) != first
    assert tagger_of(nlp).sample(docs, 20) == tagger_of(nlp).sample(docs, 20, seed=0) != first
    assert len({tuple(labels) for labels in first[0]}) > 1
    same = tagger_of(nlp).sample([docs[0], docs[0]], 20, seed=3)
    assert same[0] == first[0] != same[1], "docs are drawn one after the other, from one source"


@pytest.mark.parametrize("text", ["cat", "the cat"])
def test_at_least_one_sample(text):
    nlp = sampler("chain", 0)
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong n_samples: 0\."):
        tagger_of(nlp).sample([doc_of(nlp, text)], 0)


# Labels that are set already, tag dictionaries, and tokens for which nothing is left


LONG = ("the old dog sees a cat .", "D A N V D N .")


def with_gaps(nlp, text, tags):
    return Doc(nlp.vocab, words=text.split(), tags=[tag or "" for tag in tags])


def test_preset_tag_that_is_no_label():
    nlp = ready()
    doc = tagger_of(nlp)(with_gaps(nlp, LONG[0], ["", "", "ODD", "", "", "", ""]))
    assert [token.tag_ for token in doc] == ["D", "A", "ODD", "V", "D", "N", "."]
    assert tagger_of(nlp).predict([doc_of(nlp, "the cat", "ODD ODD")]).label_ids[0].tolist() == [
        LABELS.index("D"), LABELS.index("N"),
    ]  # fmt: skip


@pytest.mark.parametrize("variant", ["max_margin", "frequent"])
def test_preset_tag_that_rules_one_out(variant):
    """ "!N" on a token is gone when there is a label; the best one of the others is found, over all sequences."""
    nlp = ready(variant)
    words = "the cat runs"
    doc = doc_of(nlp, words)
    doc[1].tag_ = "!N"
    best = tagger_of(nlp).top_k([doc_of(nlp, words)], 216)[0]
    best = next(found for found in best if found.labels[1] != "N")
    (most,) = tagger_of(nlp).top_k([doc], 1)[0]
    assert most == best
    assert [token.tag_ for token in tagger_of(nlp)(doc)] == best.labels


DICTIONARY = {"cat": ["V"], "zebra": ["R", "A"], "sees": ["UNKNOWN", "D"]}


def with_dictionary(entries, variant="max_margin", **config):
    nlp = blank(variant, **config)
    tagger_of(nlp).initialize(lambda: examples_of(nlp), tag_dictionary=entries)
    train(nlp, 25)
    return nlp


@pytest.mark.parametrize("word", ["TIME", "mark", "PERSON", "X", "case", "木", "\n", " "])
def test_every_word_can_be_an_entry(word):
    """Some words are names of spaCy's own symbols, whose ids are no hashes."""
    vocab = blank().vocab
    dictionary = TagDictionary({word: ["B"], "other": ["A"]}, ["A", "B"])
    swapped = Doc(vocab, words=["other", word.swapcase() + "y"])
    docs = [Doc(vocab, words=["x", word]), Doc(vocab), swapped]
    assert dictionary.allowed(docs).astype(int).tolist() == [[1, 1], [0, 1], [1, 0], [1, 1]]


def test_preset_tags_go_before_the_dictionary():
    nlp = with_dictionary(DICTIONARY)
    doc = tagger_of(nlp)(with_gaps(nlp, "the cat sees", ["", "A", ""]))
    assert [token.tag_ for token in doc][1:] == ["A", "D"]
    doc = tagger_of(nlp)(with_gaps(nlp, "the cat sees", ["", "ODD", ""]))
    assert [token.tag_ for token in doc][1:] == ["ODD", "D"]
    nlp = with_dictionary(DICTIONARY, overwrite=True)
    doc = tagger_of(nlp)(with_gaps(nlp, "the cat sees", ["", "A", ""]))
    assert [token.tag_ for token in doc][1:] == ["V", "D"]


@pytest.mark.parametrize("labels", [["UNKNOWN"], []])
def test_entry_without_a_known_label(labels):
    with pytest.raises(ValueError, match=r"\[HS027\].*\"cat\".*one of \., A, D, N, R, V"):
        with_dictionary({"dog": ["N"], "cat": labels})


def test_dictionary_is_saved_and_forgotten_with_the_component():
    nlp = with_dictionary(DICTIONARY)
    assert tags_of(reloaded(nlp), "a cat sees")[1:] == ["V", "D"]
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 10)
    assert tags_of(nlp, "a cat runs") == ["D", "N", "V"]


@pytest.mark.parametrize("variant", ["max_margin", "frequent"])
def test_no_way_through_forbidden_transitions(variant):
    nlp = trained(variant, 0)
    weights_of(tagger_of(nlp).model).parameters["trans"].values[:] = -np.inf
    assert tags_of(nlp, "cat") == [LABELS[0]]
    with pytest.raises(ValueError, match=r"\[HS023\] Sequence 0"):
        tags_of(nlp, "the cat")
