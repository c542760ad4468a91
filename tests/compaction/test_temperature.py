"""Calibration: one temperature for all weights of a tagger."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.compaction.temperature import calibrate, gold_probabilities

WORDS, TAGS = ["run", "dog", "the", "sleep"], ["V", "N", "D"]


def examples(nlp, n, seed):
    """Words whose tags are partly at random, so that no one can be sure."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        words = rng.choice(WORDS, 6).tolist()
        tags = [TAGS[WORDS.index(word) % 3] if rng.random() < 0.7 else str(rng.choice(TAGS)) for word in words]
        found.append(Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags)))
    return found


@pytest.fixture(scope="module", params=["max_margin", "perceptron"])
def trained(request):
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_tagger", config={"objective": request.param})
    train = examples(nlp, 60, 0)
    nlp.initialize(lambda: train)
    for _ in range(10):
        nlp.update(train)
    return nlp


def labels(nlp, dev):
    return [[token.tag_ for token in doc] for doc in nlp.pipe([eg.predicted.copy() for eg in dev])]


def test_best_temperature_of_a_grid(trained):
    """Against a search over the log loss, computed from probabilities at each temperature."""
    dev = examples(trained, 100, 1)
    saved = trained.get_pipe("hoseq_tagger").to_bytes()
    before = labels(trained, dev)
    found = calibrate(trained, "hoseq_tagger", dev)
    assert found.log_loss <= found.log_loss_before + 1e-9
    assert labels(trained, dev) == before
    p = gold_probabilities(trained.get_pipe("hoseq_tagger"), dev)
    assert np.isclose(-np.log(p).mean(), found.log_loss)
    for factor in (0.5, 0.8, 1.25, 2.0):
        pipe = trained.get_pipe("hoseq_tagger").from_bytes(saved)
        for node in pipe.model.walk():
            for shim in node.shims:
                shim.scale(factor / found.value)
        other = -np.log(gold_probabilities(pipe, dev)).mean()
        assert other >= found.log_loss - 1e-4, factor
    trained.get_pipe("hoseq_tagger").from_bytes(saved)
