"""Models saved in the second format of weights, without a digest, which are kept in data/format_2 as they were written,
with what they said then."""

import pytest

from ..alike import differences
from .saved import DATA, NAMES, formats_in, said, said_then, saved

FOLDER = DATA / "format_2"


@pytest.mark.parametrize("name", NAMES)
def test_files_are_of_the_second_format(name):
    formats = formats_in((FOLDER / name / "model").read_bytes())
    assert formats and set(formats) == {2}


def test_they_say_what_they_said():
    """Labels to the last one, numbers to 1e-6 (they were written on another processor); once more after saving."""
    nlps, pipes = saved(FOLDER)
    then = said_then(FOLDER)
    assert not differences(said(nlps), then)
    for pipe in pipes.values():
        data = pipe.to_bytes(exclude=["vocab"])
        pipe.from_bytes(data)
        assert pipe.to_bytes(exclude=["vocab"]) == data
    assert not differences(said(nlps), then)


def test_what_they_said_is_worth_comparing():
    then = said_then(FOLDER)
    assert {name: len(docs) for name, docs in then.items()} == dict.fromkeys(then, 13) and len(then) == 3
    (tagged, *_), (decided, *_), (chunked, *_) = then.values()
    assert tagged["tags"] == decided["tags"] == "D A N V D N .".split()
    assert chunked["chunks"] == [[0, 3, "NP"], [3, 4, "VP"], [4, 6, "NP"]] and len(chunked["scores"]) == 3
    assert {"hoseq_marginals hoseq_tagger", "hoseq_marginals hoseq_chunker"} <= set(chunked)
    assert sorted(decided["hoseq_decisions hoseq_bidirectional_tagger"]["order"]) == [1, 2, 3, 4, 5, 6, 7]
