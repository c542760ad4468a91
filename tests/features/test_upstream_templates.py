"""Templates with labels of an earlier component: what they are split into."""

import itertools

import pytest
from spacy.strings import get_string_id

from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.features.upstream_templates import split_upstream


def split(*texts):
    return split_upstream(parse_templates(texts))


def offsets_of(found):
    return [tuple(first + place for place in shape) for first, shape in found.places]


# Template -> its word part (None = none), places of its labels
PARTS = {
    "upstream[0]": (None, (0,)),
    "upstream[-1]+upstream[0]": (None, (-1, 0)),
    "upstream[0]+upstream[-1]": (None, (-1, 0)),
    "upstream[2]+upstream[-3]+upstream[0]": (None, (-3, 0, 2)),
    "upstream[0]+lower[0]": ("lower[0]", (0,)),
    "lower[1]+upstream[1]+suffix2[-1]+upstream[-1]": ("lower[1]+suffix2[-1]", (-1, 1)),
    "upstream[-1]+bias": ("bias", (-1,)),
}


@pytest.mark.parametrize("text", PARTS)
def test_parts(text):
    found = split(text)
    word, places = PARTS[text]
    assert [str(t) for t in found.words] == ([] if word is None else [word])
    assert [(t.word, t.offsets) for t in found.labels] == [(-1 if word is None else 0, places)]
    assert found.labels[0].seed == get_string_id(text)
    assert offsets_of(found) == [places]
    assert found.margin == max(map(abs, places))


def test_all_kinds_together():
    found = split("upstream[-1..1]", "upstream[0]+lower[-1..0]", "upstream[1]+upstream[0]", "upstream[1]+lower[0]")
    assert [str(t) for t in found.words] == ["lower[-1]", "lower[0]"]
    assert [(t.word, t.offsets) for t in found.labels] == [
        *((-1, (offset,)) for offset in (-1, 0, 1)),
        (0, (0,)),
        (1, (0,)),
        (-1, (0, 1)),
        (1, (1,)),
    ]
    assert offsets_of(found) == [(-1,), (0,), (1,), (0,), (0,), (0, 1), (1,)]
    assert found.shapes == [(0,), (0, 1)]
    assert found.margin == 1
    assert len({t.seed for t in found.labels}) == 7


@pytest.mark.parametrize("text, margin", [("upstream[0]", 0), ("upstream[-4..1]", 4), ("upstream[0]+lower[7]", 0)])
def test_margin_is_of_labels_only(text, margin):
    assert split(text).margin == margin


def test_ranges_are_written_out():
    found = split("upstream[-1..0]+upstream[1..2]")
    assert offsets_of(found) == list(itertools.product((-1, 0), (1, 2)))
    assert found.shapes == [(0, 2), (0, 3), (0, 1)]


@pytest.mark.parametrize("parts", [*itertools.permutations(["upstream[-1]", "upstream[1]", "lower[0]"])])
def test_order_of_parts_does_not_matter_for_places(parts):
    found = split("+".join(parts))
    assert offsets_of(found) == [(-1, 1)] and [str(t) for t in found.words] == ["lower[0]"]


def test_two_orders_are_two_templates_at_the_same_places():
    found = split("upstream[-1]+upstream[0]", "upstream[0]+upstream[-1]")
    assert offsets_of(found) == 2 * [(-1, 0)] and len({t.seed for t in found.labels}) == 2


WITHOUT = ["lower[0]", "bias", "lower[0]+suffix2[-1]"]
TWICE = ["upstream[0]+upstream[0]", "upstream[-1]+lower[0]+upstream[-1]", "upstream[-1..0]+upstream[0]"]


@pytest.mark.parametrize("text", WITHOUT + TWICE)
def test_template_without_labels_or_with_a_place_twice(text):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong template: .*each place once"):
        split("upstream[1]", text)


def test_message_names_the_template():
    with pytest.raises(ValueError, match=r"\"upstream\[2\]\+upstream\[2\]\""):
        split("upstream[1..2]+upstream[2]")
