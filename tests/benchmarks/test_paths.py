"""A sentence goes no longer way through the code than it did: counts, which are the same on every machine."""

import pytest

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks import paths  # noqa: E402

MOST = {  # files and calls. Who shortens a way writes the new numbers here (`python -m benchmarks.paths`)
    "four components": (38, 759),
    "HoseqTagger.predict": (26, 155),
    "nlp.pipe, 3 texts": (38, 920),
    "an update": (29, 264),
    "explain": (63, 9_165),
}


@pytest.fixture(scope="module")
def known():
    return paths.paths()


def test_every_path_has_its_limit(known):
    assert known.keys() == MOST.keys()


@pytest.mark.parametrize("name", MOST)
def test_a_sentence_goes_no_longer_way(known, name):
    way = paths.walked(known[name])
    files, calls = MOST[name]
    assert way.files and way.calls, "nothing is counted"
    assert len(way.files) <= files, way.files
    assert sum(way.calls.values()) <= calls
