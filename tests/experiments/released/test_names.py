"""Names among annotated entities, in sentences that are made up here."""

import pytest

from ...repository import script


@pytest.fixture
def names():
    yield script("released/names")


CASES = [
    # words with tags, heads, mentions, and their names
    (
        "The/DT University/NNP of/IN Oslo/NNP ,/, Norway/NNP",
        [1, -1, 3, 1, 5, 1],
        [(0, 6, "organization", ""), (3, 4, "place", ""), (5, 6, "place", "Norway")],
        [(1, 4, "ORG"), (5, 6, "LOC")],
    ),
    (
        "President/NNP Anna/NNP Berg/NNP 's/POS",
        [1, -1, 1, 1],
        [(0, 4, "person", "")],
        [(1, 3, "PER")],
    ),
    (
        "Norway/NNP Minister/NNP Anna/NNP Berg/NNP",
        [2, 2, -1, 2],
        [(0, 4, "person", "")],
        [(2, 4, "PER")],
    ),
    ("Prince/NNP Anna/NNP Island/NNP", [2, 2, -1], [(0, 3, "place", "")], [(0, 3, "LOC")]),
    ("the/DT Norwegians/NNPS", [1, -1], [(0, 2, "person", "")], [(1, 2, "MISC")]),
    ("the/DT king/NN", [1, -1], [(0, 2, "person", "Harald_V")], []),
    ("in/IN January/NNP", [1, -1], [(1, 2, "time", "January")], []),
    ("Hamlet/NNP", [-1], [(0, 1, "abstract", "")], []),
    ("Hamlet/NNP", [-1], [(0, 1, "abstract", "Hamlet")], [(0, 1, "MISC")]),
]


@pytest.mark.parametrize(("text", "heads", "mentions", "expected"), CASES)
def test_names_of_a_sentence(names, text, heads, mentions, expected):
    words, tags = zip(*(token.rsplit("/", 1) for token in text.split()), strict=True)
    found = names.names_among([names.Mention(*each) for each in mentions], words, tags, heads)
    assert [tuple(name) for name in found] == expected
