"""Losses and decoders that a config names: of the package, and one's own."""

import re

import numpy as np
import pytest
import spacy

from spacy_hoseq.components.named import name_of
from spacy_hoseq.decoders import Paths, decode_exact, max_marginal
from spacy_hoseq.decoders.choice import DECODERS
from spacy_hoseq.learning import OBJECTIVES

from ..builders import doc_of, tagger_of
from ..docs.pages import section
from .helpers import CORPUS, blank, train, trained

PAGE = "docs/tasks/extend.md"
FUNCTIONS = {"objective": OBJECTIVES, "decoder": DECODERS}


def code_of(title):
    (block,) = re.findall(r"```python\n(.*?)```", section(PAGE, title), flags=re.DOTALL)
    assert block.count("\n") <= 15
    return block


@pytest.fixture(scope="module", autouse=True)
def own():
    """The functions of the page, registered."""
    namespace = {"np": np, "spacy": spacy, "__name__": __name__}
    for title in ("A loss of your own", "A decoder of your own"):
        exec(code_of(title), namespace)
    return namespace


def tagger(**settings):
    return tagger_of(blank(**settings))


@pytest.mark.parametrize("setting, name", [(s, n) for s, known in FUNCTIONS.items() for n in known])
def test_short_name_and_registered_name_are_the_same_function(setting, name):
    full = f"spacy_hoseq.{name}.v1"
    for value in (name, full, {"@misc": full}):
        assert getattr(tagger(**{setting: value}), setting) is FUNCTIONS[setting][name]


@pytest.mark.parametrize("setting", FUNCTIONS)
def test_names_that_are_not_registered(setting):
    known = ".*".join([*FUNCTIONS[setting], "left_to_right.v1", "softmax_margin.v1"])
    message = rf'\[HS161\] There is nothing named "nonsense" here\. Known: {known}'
    with pytest.raises(ValueError, match=message):
        tagger(**{setting: "nonsense"})
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong `{setting}`.*Expected a function"):
        tagger(**{setting: "spacy_hoseq.adagrad.v1"})


@pytest.mark.parametrize(
    "objective", ["softmax_margin.v1", {"@misc": "softmax_margin.v1", "bonus": 0.5}]
)
def test_own_loss(objective, own):
    nlp = trained(objective=objective)
    component = tagger_of(nlp)
    assert name_of(component.objective, OBJECTIVES) == component.objective_name == "softmax_margin"
    assert not component.is_calibrated
    expected = 1.0 if isinstance(objective, str) else 0.5
    assert component.objective.keywords == {"bonus": expected}
    assert nlp.config["components"]["hoseq_tagger"]["objective"] == objective


def test_own_decoder_labels_and_is_trained_with():
    sizes = []

    def first_labels(potentials):
        sizes.append(len(potentials.scores))
        labels = np.zeros(len(potentials.scores), np.int32)
        return Paths(labels, np.zeros(len(potentials.lengths)))

    nlp = trained()
    component = tagger_of(nlp)
    doc = doc_of(nlp, "the cat runs")
    exact = component.read([doc]).best
    component.decoder = first_labels
    assert component.read([doc]).best.tolist() == [0, 0, 0] != exact.tolist()
    component.decoder = max_marginal
    assert component.read([doc]).best.tolist() == exact.tolist()
    component.decoder = first_labels
    train(nlp, 1)
    assert sizes == [3, sum(len(text.split()) for text, _ in CORPUS)]


def test_greedy_decoder_of_the_page(own):
    nlp = trained(decoder="left_to_right.v1")
    component = tagger_of(nlp)
    assert component.decoder is own["left_to_right"]
    reading = component.read([doc_of(nlp, "the cat runs"), doc_of(nlp, "")])
    paths = own["left_to_right"](reading.potentials)
    assert reading.best.tolist() == paths.labels.tolist()
    assert (paths.scores <= decode_exact(reading.potentials).scores + 1e-6).all()


@pytest.mark.parametrize(
    "labels", [np.zeros(2, np.int32), np.zeros(3), np.array([0, 0, 99]), np.array([0, -1, 0])]
)
def test_labels_that_are_not_permitted(labels):
    nlp = trained()
    tagger_of(nlp).decoder = lambda potentials: Paths(labels, np.zeros(1))
    with pytest.raises(ValueError, match=r'\[HS028\] The decoder of the component "hoseq_tagger"'):
        nlp("the cat runs")
