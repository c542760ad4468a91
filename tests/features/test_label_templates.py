"""Templates with labels of neighbours, or of an earlier component: what they are split into, and their keys."""

import numpy as np
import pytest
from spacy.strings import get_string_id

from spacy_hoseq.decoders.bidirectional.local import OFFSETS
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.keys import label_values
from spacy_hoseq.features.templates import LABEL, UPSTREAM, parse_templates, split_templates
from spacy_hoseq.layers.local_features import LocalFeatures

from ..layers.helpers import doc_of

LABELS = ("A", "B", "C")
BEFORE, AFTER = len(LABELS), len(LABELS) + 1


def split(*texts, attribute=LABEL):
    return split_templates(parse_templates(texts), attribute)


# Template -> its word part (None = none), offsets of its labels
PARTS = {
    "label[-1]": (None, (-1,)),
    "label[-2]+label[2]": (None, (-2, 2)),
    "label[1]+label[-1]": (None, (1, -1)),
    "label[-1]+orth[0]": ("orth[0]", (-1,)),
    "orth[0]+label[1]+suffix2[-1]": ("orth[0]+suffix2[-1]", (1,)),
    "label[-1]+bias+label[-3]": ("bias", (-1, -3)),
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
    attribute = LABEL if LABEL in text else UPSTREAM
    word, offsets = PARTS[text]
    plain, words, (template,) = split(text, attribute=attribute)
    assert [*map(str, plain)] == [] and [*map(str, words)] == [word] * (word is not None)
    assert (template.word, template.offsets) == (-1 if word is None else 0, offsets)
    assert template.seed == get_string_id(text)
    own = [f"{attribute}[{offset}]" for offset in offsets]
    assert [*map(str, template.parts)] == [*(word.split("+") if word else []), *own]


def test_all_kinds_together():
    texts = "orth[0]", "label[1..2]+orth[0]", "lower[0]", "label[-1]", "label[-1]+lower[0..1]"
    plain, words, labels = split(*texts)
    assert [*map(str, plain)] == ["orth[0]", "lower[0]"]
    assert [*map(str, words)] == ["orth[0]", "lower[0]", "lower[1]"]
    pairs = [(0, (1,)), (0, (2,)), (-1, (-1,)), (1, (-1,)), (2, (-1,))]
    assert [(t.word, t.offsets) for t in labels] == pairs
    assert len({t.seed for t in labels}) == 5


OWN = ["label[0]", "label[-2..2]", "orth[0]+label[0]", "label[-1]+label[0]+orth[1]"]
WITHOUT = ["lower[0]", "bias", "lower[0]+suffix2[-1]"]
TWICE = ["upstream[0]+upstream[0]", "upstream[-1]+lower[0]+upstream[-1]", "upstream[-1..0]+upstream[0]"]


@pytest.mark.parametrize("text", [*OWN, *WITHOUT, *TWICE])
def test_templates_that_look_at_the_own_label_at_none_or_at_one_twice(text):
    attribute, expected = (LABEL, "label") if text in OWN else (UPSTREAM, "each place once")
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong template: \"[^:]*{expected}"):
        split(f"{attribute}[3]", text, attribute=attribute)


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
    features = LocalFeatures([text], 2)
    slots = np.full((len(doc), 4), -1)
    slots[:, [OFFSETS[2].index(offset) for offset in template.offsets]] = contexts
    (keys,) = features.label_keys(found, slots, label_values(LABELS), features.masks[0])
    return keys.tolist()


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
