"""What the plugin of this folder does: leave out the listed tests, and count the components of ours that tests make."""

import os
import sys
import unittest.mock

import pytest
import spacy
import srsly
from thinc.api import fix_random_seed

asked = srsly.read_json(os.environ["HOSEQ_CONFORMANCE"])
made = 0
sys.modules.setdefault("mock", unittest.mock)  # the backport, which some of the modules import
spacy.blank("en")  # spaCy registers its factories when the first pipeline is made


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
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
    fix_random_seed(0)  # for the networks below a tagger


def pytest_runtest_teardown(item: pytest.Function) -> None:
    item.user_properties.append(("made", made))
