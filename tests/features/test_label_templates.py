"""Templates with labels of neighbours, or of an earlier component: what they are split into, and their keys."""

import itertools

import numpy as np
import pytest
from spacy.strings import get_string_id

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.keys import label_keys, label_values, split_templates
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.features.upstream_templates import split_upstream

from ..layers.helpers import doc_of

LABELS = ("A", "B", "C")
BEFORE, AFTER = len(LABELS), len(LABELS) + 1


def split(*texts):
    return split_templates(parse_templates(texts))


# Template -> its word part (None = none), offsets of its labels
PARTS = {
    "label[-1]": (None, (-1,)),
    "label[-2]+label[2]": (None, (-2, 2)),
    "label[1]+label[-1]": (None, (1, -1)),
    "label[-1]+orth[0]": ("orth[0]", (-1,)),
    "orth[0]+label[1]+suffix2[-1]": ("orth[0]+suffix2[-1]", (1,)),
    "label[-1]+bias+label[-3]": ("bias", (-1, -3)),
}


@pytest.mark.parametrize("text", PARTS)
def test_parts(text):
    plain, words, labels = split("bias", text)
    assert [str(t) for t in plain] == ["bias"]
    word, offsets = PARTS[text]
    assert [str(t) for t in words] == ([] if word is None else [word])
    assert [(t.word, t.offsets) for t in labels] == [(-1 if word is None else 0, offsets)]


def test_all_kinds_together():
    plain, words, labels = split(
        "orth[0]", "label[1..2]+orth[0]", "lower[0]", "label[-1]", "label[-1]+lower[0..1]"
    )
    assert [str(t) for t in plain] == ["orth[0]", "lower[0]"]
    assert [str(t) for t in words] == ["orth[0]", "lower[0]", "lower[1]"]
    assert [(t.word, t.offsets) for t in labels] == [
        (0, (1,)),
        (0, (2,)),
        (-1, (-1,)),
        (1, (-1,)),
        (2, (-1,)),
    ]
    assert len({t.seed for t in labels}) == 5


@pytest.mark.parametrize(
    "text", ["label[0]", "label[-2..2]", "orth[0]+label[0]", "label[-1]+label[0]+orth[1]"]
)
def test_label_that_is_to_be_found(text):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong template: \".*label\[0\].*\""):
        split("bias", text)


def test_values_of_labels():
    """Of the names, not of the ids: a feature keeps its key if labels are numbered otherwise. No label is an edge."""
    values = label_values(LABELS).tolist()
    assert values == [
        *(get_string_id(f"label={name}") for name in LABELS),
        get_string_id("<s>"),
        get_string_id("</s>"),
    ]
    assert len(set(label_values(["<s>", "</s>"]).tolist())) == 4
    assert label_values(LABELS[::-1]).tolist() == [*values[:3][::-1], *values[3:]]


def scalar_mix(state, value):
    """splitmix64's finaliser in Python's integers."""
    x = state ^ value
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    return (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64


def keys_of(text, doc, contexts):
    """contexts: label ids of each token, by the template's offsets."""
    _, words, (template,) = split(text)
    found = FeatureExtractor(words).keys([doc]) if words else np.zeros((0, len(doc)), np.uint64)
    return label_keys(
        template, found, [label_values(LABELS)[c] for c in np.array(contexts).T]
    ).tolist()


def test_keys_are_those_of_scalar_arithmetic():
    """Saved models depend on them."""
    doc, contexts = doc_of("x yz x"), [[BEFORE, 1], [0, 2], [1, AFTER]]
    name = "label[-1]+orth[0]+label[1]+orth[-1]"
    values, (word,) = (
        label_values(LABELS).tolist(),
        FeatureExtractor(parse_templates(["orth[0]+orth[-1]"])).keys([doc]),
    )
    seed = get_string_id(name)
    expected = [
        scalar_mix(scalar_mix(scalar_mix(seed, w), values[a]), values[b])
        for w, (a, b) in zip(word.tolist(), contexts, strict=True)
    ]
    assert keys_of(name, doc, contexts) == expected
    plain = [scalar_mix(get_string_id("label[2]"), values[y]) for y in (2, 0, AFTER)]
    assert keys_of("label[2]", doc, [[2], [0], [AFTER]]) == plain


def test_no_feature_where_the_word_part_has_no_value():
    doc = doc_of("x yz 3 Q")
    for text, fires in [
        ("label[-1]+suffix2[0]", [False, True, False, False]),
        ("label[-1]+has_upper[0]", [False, False, False, True]),
        (
            "has_upper[1]+label[1]",
            [False, False, True, True],
        ),  # after the last token there is "</s>"
        ("label[-1]", [True] * 4),
        ("label[-1]+bias", [True] * 4),
    ]:
        assert [key != 0 for key in keys_of(text, doc, [[1]] * 4)] == fires, text


# labels of an earlier component


def split_up(*texts):
    return split_upstream(parse_templates(texts))


def offsets_of(found):
    return [tuple(first + place for place in shape) for first, shape in found.places]


# Template -> its word part (None = none), places of its labels
UPSTREAM_PARTS = {
    "upstream[0]": (None, (0,)),
    "upstream[-1]+upstream[0]": (None, (-1, 0)),
    "upstream[0]+upstream[-1]": (None, (-1, 0)),
    "upstream[2]+upstream[-3]+upstream[0]": (None, (-3, 0, 2)),
    "upstream[0]+lower[0]": ("lower[0]", (0,)),
    "lower[1]+upstream[1]+suffix2[-1]+upstream[-1]": ("lower[1]+suffix2[-1]", (-1, 1)),
    "upstream[-1]+bias": ("bias", (-1,)),
}


@pytest.mark.parametrize("text", UPSTREAM_PARTS)
def test_upstream_parts(text):
    found = split_up(text)
    word, places = UPSTREAM_PARTS[text]
    assert [str(t) for t in found.words] == ([] if word is None else [word])
    assert [(t.word, t.offsets) for t in found.labels] == [(-1 if word is None else 0, places)]
    assert found.labels[0].seed == get_string_id(text)
    assert offsets_of(found) == [places]
    assert found.margin == max(map(abs, places))


def test_all_kinds_of_upstream_templates():
    found = split_up(
        "upstream[-1..1]",
        "upstream[0]+lower[-1..0]",
        "upstream[1]+upstream[0]",
        "upstream[1]+lower[0]",
    )
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


@pytest.mark.parametrize(
    "parts", [*itertools.permutations(["upstream[-1]", "upstream[1]", "lower[0]"])]
)
def test_order_of_parts_does_not_matter_for_places(parts):
    found = split_up("+".join(parts))
    assert offsets_of(found) == [(-1, 1)] and [str(t) for t in found.words] == ["lower[0]"]


WITHOUT = ["lower[0]", "bias", "lower[0]+suffix2[-1]"]
TWICE = [
    "upstream[0]+upstream[0]",
    "upstream[-1]+lower[0]+upstream[-1]",
    "upstream[-1..0]+upstream[0]",
]


@pytest.mark.parametrize("text", WITHOUT + TWICE)
def test_template_without_labels_or_with_a_place_twice(text):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong template: .*each place once"):
        split_up("upstream[1]", text)
