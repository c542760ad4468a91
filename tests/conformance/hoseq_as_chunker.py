"""pytest plugin: where spaCy's own tests make a span categorizer or an entity recognizer, they get our chunker.

    HOSEQ_CONFORMANCE=ASKED.json python -m pytest -p hoseq_as_chunker --pyargs spacy.tests.pipeline.test_spancat

Reports say how many chunkers each test made (property `chunkers`), so that tests of other things can be told apart.

ASKED.json: {"settings": changes to our defaults, "deselected": [test]}.
"""

import functools
import os
import sys
import unittest.mock
from dataclasses import replace
from typing import Any, List

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.util import registry
from thinc.api import Config, fix_random_seed

from spacy_hoseq.components.chunker import HoseqChunker, make_hoseq_chunker

asked = srsly.read_json(os.environ["HOSEQ_CONFORMANCE"])
made = 0
NER = {"annotate_ents": True, "spans_key": "ner", "scorer": {"@scorers": "spacy.ner_scorer.v1"}}
FACTORIES = {"spancat": {"spans_key": "sc"}, "ner": NER}


@functools.wraps(make_hoseq_chunker)
def make_chunker(*args: Any, **settings: Any) -> HoseqChunker:
    global made
    made += 1
    return make_hoseq_chunker(*args, **settings)


def pytest_configure() -> None:
    sys.modules.setdefault("mock", unittest.mock)  # the backport, which some of the modules import
    spacy.blank("en")  # spaCy registers its factories when the first pipeline is made
    meta = Language.get_factory_meta("hoseq_chunker")
    for name, own in FACTORIES.items():
        defaults = Config(meta.default_config).merge(own).merge(asked["settings"])
        Language.set_factory_meta(name, replace(meta, factory=name, default_config=defaults))
        registry.factories.register(name, func=make_chunker)
    HoseqChunker.key = property(lambda self: self.cfg["spans_key"])  # names that spaCy's component has
    HoseqChunker._n_labels = property(lambda self: len(self.tags))


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Function]) -> None:
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
    fix_random_seed(0)


def pytest_runtest_teardown(item: pytest.Function) -> None:
    item.user_properties.append(("chunkers", made))
