"""pytest plugin: where spaCy's own tests make a tagger, they get one of ours.

    HOSEQ_CONFORMANCE=ASKED.json python -m pytest -p hoseq_as_tagger --pyargs spacy.tests.pipeline.test_tagger

They make one by the factory "tagger", in part with the architecture "spacy.Tagger.v2", and by the class. Reports say
how many taggers each test made (property `taggers`), so that tests of other things can be told apart.

ASKED.json: {"factory": name of ours, "settings": changes to its defaults, "deselected": [test]}.
"""

import functools
import os
import sys
import unittest.mock
from dataclasses import replace
from typing import Any, Callable, List

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.util import registry
from thinc.api import Config, Model, fix_random_seed

from spacy_hoseq.components import bidirectional_tagger
from spacy_hoseq.components.bidirectional_tagger import (
    HoseqBidirectionalTagger,
    make_hoseq_bidirectional_tagger,
)
from spacy_hoseq.components.tagger import HoseqTagger, make_hoseq_tagger
from spacy_hoseq.layers.neural import Tok2VecLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.learning.adagrad import AdaGrad

bidirectional_tagger.LEARN_RATE = 2.0  # spaCy's tests give it few updates

asked = srsly.read_json(os.environ["HOSEQ_CONFORMANCE"])
made = 0


@functools.wraps(make_hoseq_tagger)
def make_tagger(nlp: Language, name: str, model: Model, **settings: Any) -> HoseqTagger:
    """The factory. From `spacy.Tagger.v2`, a linear layer over token vectors, it takes the token vectors."""
    if model.has_ref("tok2vec"):
        tok2vec = model.get_ref("tok2vec")
        patterns = {"patterns": asked["settings"].get("model", {}).get("patterns")}
        model = HigherOrderTagger(Tok2VecLinear(tok2vec), registry.resolve(patterns)["patterns"])
        model.set_ref("tok2vec", tok2vec)
    return make_hoseq_tagger(nlp, name, model, **settings)


@functools.wraps(make_hoseq_bidirectional_tagger)
def make_bidirectional_tagger(nlp: Language, name: str, model: Model, **settings: Any) -> HoseqBidirectionalTagger:
    """The factory. In place of `spacy.Tagger.v2` it takes its own model, which needs no token vectors."""
    if model.has_ref("tok2vec"):
        defaults = Language.get_factory_meta("tagger").default_config
        model = registry.resolve({"model": defaults["model"]})["model"]
    return make_hoseq_bidirectional_tagger(nlp, name, model, **settings)


FACTORIES = {
    "hoseq_tagger": (make_tagger, functools.partial(HoseqTagger, objective="max_margin", update_rule=AdaGrad())),
    "hoseq_bidirectional_tagger": (make_bidirectional_tagger, HoseqBidirectionalTagger),
}


def count_taggers(component: Any) -> None:
    plain_init: Callable[..., None] = component.__init__

    @functools.wraps(plain_init)
    def counting_init(self: Any, *args: Any, **settings: Any) -> None:
        global made
        made += 1
        plain_init(self, *args, **settings)

    component.__init__ = counting_init


def pytest_configure() -> None:
    sys.modules.setdefault("mock", unittest.mock)  # the backport, which some of the modules import
    spacy.blank("en")  # spaCy registers its factories when the first pipeline is made
    meta = Language.get_factory_meta(asked["factory"])
    defaults = Config(meta.default_config).merge(asked["settings"])
    Language.set_factory_meta("tagger", replace(meta, factory="tagger", default_config=defaults))
    registry.factories.register("tagger", func=FACTORIES[asked["factory"]][0])
    for component in (HoseqTagger, HoseqBidirectionalTagger):
        count_taggers(component)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Function]) -> None:
    for module in {item.module for item in items}:
        if hasattr(module, "Tagger"):
            module.Tagger = FACTORIES[asked["factory"]][1]
            module.DEFAULT_TAGGER_MODEL = Language.get_factory_meta("tagger").default_config["model"]
    tests = {item.nodeid.removeprefix("spacy/tests/"): item for item in items}
    gone = set(asked["deselected"]) - set(tests)
    if gone:
        raise pytest.UsageError(f"listed, but not among spaCy's tests: {', '.join(sorted(gone))}")
    deselected = [tests[name] for name in asked["deselected"]]
    config.hook.pytest_deselected(items=deselected)
    items[:] = [item for item in items if item not in deselected]


def pytest_runtest_logstart() -> None:
    global made
    made = 0
    fix_random_seed(0)  # for the networks below the tagger


def pytest_runtest_teardown(item: pytest.Function) -> None:
    item.user_properties.append(("taggers", made))
