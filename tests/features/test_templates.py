"""The template language: what each construct stands for, and errors that point into the string."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.strings import get_string_id

from spacy_hoseq.decoders.bidirectional.local import OFFSETS
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.keys import label_values
from spacy_hoseq.features.templates import (
    Part,
    Template,
    parse_template,
    parse_templates,
    split_templates,
    template_sets,
    templates_named,
)
from spacy_hoseq.layers.local_classifiers import LocalFeatures

from ..layers.helpers import doc_of

CONSTRUCTS = {
    "bias": ["bias"],
    "lower[0]": ["lower[0]"],
    "lower[+1]": ["lower[1]"],
    "lower[-2..2]": ["lower[-2]", "lower[-1]", "lower[0]", "lower[1]", "lower[2]"],
    "lower[-1..+1]": ["lower[-1]", "lower[0]", "lower[1]"],
    "lower[3..3]": ["lower[3]"],
    "prefix[0]": ["prefix[0]"],
    "prefix2[0]": ["prefix2[0]"],
    "prefix1..3[0]": ["prefix1[0]", "prefix2[0]", "prefix3[0]"],
    "suffix2..3[-1..0]": ["suffix2[-1]", "suffix2[0]", "suffix3[-1]", "suffix3[0]"],
    "suffix127[0]": ["suffix127[0]"],
    "known_tag0..3[-1..1]": [f"known_tag{n}[{offset}]" for n in range(4) for offset in (-1, 0, 1)],
    "known_tag126..127[-1..0]": ["known_tag126[-1]", "known_tag126[0]", "known_tag127[-1]", "known_tag127[0]"],
    "known_tag127[2]+orth[0]": ["known_tag127[2]+orth[0]"],
    "edge[-1]": ["edge[-1]"],
    "initial_upper[-2..2]": [f"initial_upper[{offset}]" for offset in (-2, -1, 0, 1, 2)],
    "is_alpha[0]": ["is_alpha[0]"],
    "TAG[0]": ["TAG[0]"],
    "_.gazetteer[0]": ["_.gazetteer[0]"],
    "_.list2[-1]": ["_.list2[-1]"],
    "lower[-1]+lower[0]": ["lower[-1]+lower[0]"],
    "bias+orth[0]": ["bias+orth[0]"],
    "lower[-1]+bias+_.x[0]": ["lower[-1]+bias+_.x[0]"],
    "prefix1..2[0]+orth[0..1]": [
        "prefix1[0]+orth[0]", "prefix1[0]+orth[1]", "prefix2[0]+orth[0]", "prefix2[0]+orth[1]",
    ],
    f"lower[-{100}]": ["lower[-100]"],
    f"lower[{100}]": ["lower[100]"],
}  # fmt: skip

PART, NUMBERS = "an attribute and an offset", "suffix, word_class take a number"
# Template text -> where the part begins to which the arrow points, counted from 1, and what is expected there.
MISTAKES = {
    **dict.fromkeys(["", "   ", "lower", "lower[", "lower[0", "lower[]", "lower[x]", "lower[0..]", "lower[0.5]",
                     "lower[ 0]", "3lower[0]", "+lower[0]", " lower[0]", "lower[0]orth[0]", "bias[0", "suffix1..[0]",
                     "_.[0]"], (1, PART)),
    "lower[0]+": (10, PART),
    "lower[0]++orth[0]": (10, PART),
    "lower[0] + orth[0]": (1, PART),
    **dict.fromkeys(["lower3[0]", "known_tags2[0]", "edge1[0]"], (1, NUMBERS)),
    "lower[2..1]": (1, "smaller number first"),
    "orth[+1]+lower[2..1]": (10, "smaller number first"),
    **dict.fromkeys(["lower[101]", "lower[-101]", "lower[0..101]"], (1, "a range from -100 to 100")),
    "prefix3..1[0]": (1, "smaller number first"),
    **dict.fromkeys(["prefix0[0]", "suffix128[0]"], (1, "a range from 1 to 127")),
    **dict.fromkeys(["known_tag128[0]", "known_tag3..128[0]"], (1, "a range from 0 to 127")),
}  # fmt: skip


@pytest.mark.parametrize("text", CONSTRUCTS)
def test_construct(text):
    assert [str(template) for template in parse_template(text)] == CONSTRUCTS[text]


@pytest.mark.parametrize("text", MISTAKES)
def test_error_points_at_the_place(text):
    at, expected = MISTAKES[text]
    with pytest.raises(ValueError, match=rf"\[HS010\].* at character {at};") as error:
        parse_templates(["bias", text])
    lines = str(error.value).split("\n")
    assert expected in lines[0]
    assert lines[1] == "    " + text
    assert lines[2] == "    " + " " * (at - 1) + "^"


@pytest.mark.parametrize("text", [None, 3, ["lower[0]"]])
def test_template_that_is_no_string(text):
    with pytest.raises(ValueError, match="HS010"):
        parse_templates([text])


def test_no_templates():
    with pytest.raises(ValueError, match="HS027"):
        parse_templates([])


@pytest.mark.parametrize("first", ["lower[0]", "lower[-1..1]", "lower[+0]", "lower[0..0]"])
def test_same_template_twice(first):
    with pytest.raises(ValueError, match=r"\[HS027\].*\"lower\[0\]\""):
        parse_templates([first, "bias", "lower[0]"])


def test_order_of_parts_and_of_templates_is_kept():
    assert [str(t) for t in parse_templates(["orth[1]", "lower[0]+orth[0]", "orth[0]+lower[0]"])] == [
        "orth[1]", "lower[0]+orth[0]", "orth[0]+lower[0]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["wordform", "lowr", "prefixes", "_x", "is_", "span", "known_tag", "edges"]
)
def test_unknown_attribute(name):
    with pytest.raises(ValueError, match=rf"\[HS013\].*\"{name}\".*Known: .*lower"):
        FeatureExtractor(parse_templates([f"{name}[0]"]))


FIRST = {  # of each set, its first templates
    "english_pos": ["known_tags[-2]", "known_tags[-1]", "known_tags[0]", "known_tags[1]", "known_tags[2]", "bias"],
    "accurate_pos": ["known_tags[-2]", "known_tags[-1]", "known_tags[0]", "known_tags[1]", "known_tags[2]", "bias"],
    "chinese_pos": ["known_tags[-2]", "known_tags[-1]", "known_tags[0]", "known_tags[1]", "known_tags[2]", "bias"],
    "accurate_chinese_pos": ["known_tags[-2]", "known_tags[-1]", "known_tags[0]", "known_tags[1]", "known_tags[2]"],
    "guide_tags": ["tag[-2]", "tag[-1]", "tag[0]", "tag[1]", "tag[2]", "tag[0]+orth[-1]"],
    "bidirectional_pos": ["orth[-1]", "orth[0]", "orth[1]", "orth[-1]+orth[0]", "orth[0]+orth[1]", "prefix1[0]"],
    "morphology": ["known_tags[-2]", "known_tags[-1]", "known_tags[0]", "known_tags[1]", "known_tags[2]", "bias"],
    "lemmas": ["bias", "lower[0]", "suffix1[0]"],
    "sentences": ["bias", "orth[-2]", "orth[-1]", "orth[0]", "orth[1]", "lower[0]"],
    "chunks": ["bias", "orth[-2]"],
    "chunk_words": ["bias", "orth[-2]"],
    "upstream_chunks": ["upstream[-2]", "upstream[-1]"],
    "bidirectional_chunks": ["orth[-2]", "orth[-1]"],
    "entities": ["bias", "orth[-2]"],
    "chinese_entities": ["bias", "suffix1[-2]"],
    "character_entities": ["bias", "orth[-2]"],
    "word_entities": ["bias", "orth[-2]"],
    "segmentation": ["bias", "folded[-2]"],
    "spaced_segmentation": ["bias", "lower[-2]"],
}  # fmt: skip


def test_every_set_is_read():
    """None has a template twice."""
    assert {*FIRST} == {*template_sets()}
    for name, first in FIRST.items():
        found = [str(template) for template in parse_templates(templates_named(name))]
        assert found[: len(first)] == first and len(found) > len(first)


def test_sets_with_classes_of_words_and_several_together():
    more = [str(template) for template in parse_templates(templates_named("entities", classes=2))]
    few = [str(template) for template in parse_templates(templates_named("entities"))]
    assert more[: len(few)] == few and more[len(few) :] == [
        "word_class1[-1]", "word_class1[0]", "word_class1[1]", "word_class2[-1]", "word_class2[0]", "word_class2[1]",
        "word_class2[-1]+word_class2[0]", "word_class2[0]+word_class2[1]",
    ]  # fmt: skip
    both = [*templates_named("lemmas"), *templates_named("guide_tags")]
    assert templates_named("lemmas+guide_tags") == both
    templates_named("lemmas").clear()
    assert templates_named("lemmas"), "each call gives a list of its own"


@pytest.mark.parametrize("name", ["english", "lemmas+", ""])
def test_no_such_set(name):
    message = r'\[HS161\] There is nothing named "\w*" here\. Known: english_pos, '
    with pytest.raises(ValueError, match=message):
        templates_named(name)


_names = st.sampled_from(["lower", "orth", "prefix", "suffix12", "is_alpha", "_.x", "_.y2", "tag"])
_parts = st.builds(Part, _names, st.integers(-100, 100)) | st.just(Part("bias", 0))


@settings(max_examples=max(100, settings.default.max_examples))
@given(st.lists(_parts, min_size=1, max_size=4))
def test_written_form_is_read_back(parts):
    template = Template(tuple(parts))
    assert parse_template(str(template)) == [template]


# Templates with labels of neighbours, or of an earlier component: what they are split into, and their keys


LABELS = ("A", "B", "C")
BEFORE, AFTER = len(LABELS), len(LABELS) + 1


def split(*texts, attribute="label"):
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
    attribute = "label" if "label" in text else "upstream"
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
TWICE = ["upstream[0]+upstream[0]", "upstream[-1]+lower[0]+upstream[-1]"]
TWICE += ["upstream[-1..0]+upstream[0]"]


@pytest.mark.parametrize("text", [*OWN, *WITHOUT, *TWICE])
def test_templates_that_look_at_the_own_label_at_none_or_at_one_twice(text):
    attribute, expected = ("label", "label") if text in OWN else ("upstream", "each place once")
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong template: \"[^:]*{expected}"):
        split(f"{attribute}[3]", text, attribute=attribute)


def test_values_of_labels():
    """Of the names, not of the ids: a feature keeps its key if labels are numbered otherwise. No label is an edge."""
    values = label_values(LABELS).tolist()
    names = [*(f"label={name}" for name in LABELS), "<s>", "</s>"]
    assert values == [get_string_id(name) for name in names]
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
    mask = features.label_templates[0].mask
    (keys,) = features.label_keys(found, slots, label_values(LABELS), mask)
    return keys.tolist()


def test_keys_are_those_of_scalar_arithmetic():
    """Saved models depend on them."""
    doc, contexts = doc_of("x yz x"), [[BEFORE, 1], [0, 2], [1, AFTER]]
    name = "label[-1]+orth[0]+label[1]+orth[-1]"
    values = label_values(LABELS).tolist()
    (word,) = FeatureExtractor(parse_templates(["orth[0]+orth[-1]"])).keys([doc])
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
