"""pytest plugin: where spaCy's own tests make a tagger, they get one of ours.

    HOSEQ_CONFORMANCE=ASKED.json python -m pytest -p hoseq_as_tagger --pyargs spacy.tests.pipeline.test_tagger

They make one by the factory "tagger", in part with the architecture "spacy.Tagger.v2", and by the class. Reports say
how many taggers each test made (property `made`), so that tests of other things can be told apart.

ASKED.json: {"factory": name of ours, "settings": changes to its defaults, "deselected": [test]}.
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import hooks
import pytest
from spacy.language import Language
from spacy.util import registry
from thinc.api import Config, Model

from spacy_hoseq.components.bidirectional_tagger import HoseqBidirectionalTagger
from spacy_hoseq.components.factories import make_hoseq_bidirectional_tagger, make_hoseq_tagger
from spacy_hoseq.components.tagger import HoseqTagger
from spacy_hoseq.layers.neural import Tok2VecLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.learning.adagrad import AdaGrad


@functools.wraps(make_hoseq_tagger)
def make_tagger(nlp: Language, name: str, model: Model, **settings: Any) -> HoseqTagger:
    """The factory. From `spacy.Tagger.v2`, a linear layer over token vectors, it takes the token vectors."""
    if model.has_ref("tok2vec"):
        tok2vec = model.get_ref("tok2vec")
        model = HigherOrderTagger(Tok2VecLinear(tok2vec))
        model.set_ref("tok2vec", tok2vec)
    return make_hoseq_tagger(nlp, name, model, **settings)


@functools.wraps(make_hoseq_bidirectional_tagger)
def make_bidirectional_tagger(
    nlp: Language, name: str, model: Model, **settings: Any
) -> HoseqBidirectionalTagger:
    """The factory. In place of `spacy.Tagger.v2` it takes its own model, which needs no token vectors."""
    if model.has_ref("tok2vec"):
        defaults = Language.get_factory_meta("tagger").default_config
        model = registry.resolve({"model": defaults["model"]})["model"]
    return make_hoseq_bidirectional_tagger(nlp, name, model, **settings)


FACTORIES = {
    "hoseq_tagger": (
        make_tagger,
        functools.partial(HoseqTagger, objective="max_margin", update_rule=AdaGrad()),
    ),
    "hoseq_bidirectional_tagger": (make_bidirectional_tagger, HoseqBidirectionalTagger),
}


def count_taggers(component: Any) -> None:
    plain_init: Callable[..., None] = component.__init__

    @functools.wraps(plain_init)
    def counting_init(self: Any, *args: Any, **settings: Any) -> None:
        hooks.made += 1
        plain_init(self, *args, **settings)
        if isinstance(self, HoseqBidirectionalTagger):  # spaCy's tests give it few updates
            self._rule["learn_rate"] = 2.0
            self._configure_layer(seed=0)

    component.__init__ = counting_init


def pytest_configure() -> None:
    meta = Language.get_factory_meta(hooks.asked["factory"])
    defaults = Config(meta.default_config)
    if "objective" in defaults:
        defaults["objective"] = "max_margin"  # spaCy's tests wait for a loss of zero
    defaults = defaults.merge(hooks.asked["settings"])
    Language.set_factory_meta("tagger", replace(meta, factory="tagger", default_config=defaults))
    registry.factories.register("tagger", func=FACTORIES[hooks.asked["factory"]][0])
    for component in (HoseqTagger, HoseqBidirectionalTagger):
        count_taggers(component)


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for module in {item.module for item in items}:
        if hasattr(module, "Tagger"):
            module.Tagger = FACTORIES[hooks.asked["factory"]][1]
            meta = Language.get_factory_meta("tagger")
            module.DEFAULT_TAGGER_MODEL = meta.default_config["model"]
