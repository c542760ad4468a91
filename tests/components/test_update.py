"""Learning: the contract of `update`, and that every objective learns."""

import numpy as np
import pytest
from thinc.api import Adam

from spacy_hoseq.learning import parameter
from spacy_hoseq.learning.parameter import Parameter

from .helpers import (
    VARIANTS,
    blank,
    examples_of,
    gold,
    predicted,
    tagger_of,
    tags_of,
    train,
    trained,
)


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_overfits_a_few_sentences(variant):
    nlp = blank(variant)
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    assert predicted(nlp) != gold()
    first = train(nlp, 1, optimizer=optimizer)
    last = train(nlp, 25, optimizer=optimizer)
    assert predicted(nlp) == gold()
    assert last < 0.5 * first if "likelihood" in variant else last < max(1, 0.1 * first)
    assert [[t.tag_ for t in doc] for doc in nlp.pipe(eg.x.copy() for eg in examples_of(nlp))] == gold()


def state(nlp):
    shims = [node.shims[0] for node in tagger_of(nlp).model.walk()]
    return [parameter.values.copy() for shim in shims for parameter in shim.parameters.values()]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


SMALL = [("the cat runs", "D N V"), ("a dog", "D N")]


@pytest.mark.parametrize("sgd", [None, False])
def test_weights_change_with_an_optimizer_only(sgd):
    nlp = trained(n_updates=1)
    before = state(nlp)
    tagger_of(nlp).update(examples_of(nlp), sgd=sgd)
    assert same(before, state(nlp))
    tagger_of(nlp).finish_update(Adam())
    assert not same(before, state(nlp))


def test_loss_without_an_update():
    nlp = trained("perceptron", 30)
    examples = examples_of(nlp)
    potentials = tagger_of(nlp).model.predict([eg.predicted for eg in examples])
    loss, gradient = tagger_of(nlp).get_loss(examples, potentials)
    assert loss == 0 and not gradient.scores.any()
    wrong = examples_of(nlp, [(text, " ".join(["R"] * len(text.split()))) for text, _ in SMALL])
    loss, gradient = tagger_of(nlp).get_loss(wrong, tagger_of(nlp).model.predict([eg.predicted for eg in wrong]))
    assert loss > 0
    assert gradient.scores.sum(axis=1) == pytest.approx(0) and np.abs(gradient.scores).sum() == 10


def damage(nlp, name, value):
    for node in tagger_of(nlp).model.walk():
        shim = node.shims[0]
        if name in shim.parameters:
            values = np.array(shim.parameters[name].values)
            values[0] = value
            shim.set(Parameter(name, values))


@pytest.mark.long
@pytest.mark.parametrize("variant", ["max_margin", "log_likelihood", "frequent"])
@pytest.mark.parametrize("name, code", [("table", "HS020"), ("trans", "HS020")])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_damaged_weights_give_an_error(variant, name, code, value):
    nlp = trained(variant, 0)
    damage(nlp, name, value)
    with pytest.raises(ValueError, match=rf"\[{code}\].*learn_rate"):
        train(nlp, 1)
    with pytest.raises(ValueError, match=rf"\[{code}\].*weights are damaged"):
        tags_of(nlp, "the cat runs")


def test_divergence_is_no_silent_failure():
    nlp = trained(n_updates=0, update_rule={**VARIANTS["perceptron"]["update_rule"], "learn_rate": 1e38})
    with pytest.raises(ValueError, match=r"HS02[01]|HS04[01]|E910"), np.errstate(all="ignore"):
        for _ in range(20):
            train(nlp, 1)
            predicted(nlp)


@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_weights_are_updated_in_blocks(objective, monkeypatch):
    """Some rows of transitions at a time, with the same result."""

    def transitions():
        nlp = blank(objective)
        examples = examples_of(nlp)
        nlp.initialize(lambda: examples)
        for _ in range(3):
            nlp.update(examples)
        return tagger_of(nlp).model.shims[0].values("trans", is_train=True)

    expected = transitions()
    monkeypatch.setattr(parameter, "BLOCK", 7)
    assert np.array_equal(transitions(), expected) and expected.any()
