"""The template language: what each construct stands for, and errors that point into the string."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import (
    MAX_OFFSET,
    UPSTREAM,
    Part,
    Template,
    parse_template,
    parse_templates,
    split_templates,
    template_sets,
    templates_named,
)

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
    f"lower[-{MAX_OFFSET}]": ["lower[-100]"],
    f"lower[{MAX_OFFSET}]": ["lower[100]"],
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


def test_template_is_its_parts():
    assert parse_template("lower[-1]+suffix3[0]") == [
        Template((Part("lower", -1), Part("suffix3", 0)))
    ]
    assert parse_template("bias") == [Template((Part("bias", 0),))]


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
    assert templates_named("lemmas+guide_tags") == [*templates_named("lemmas"), *templates_named("guide_tags")]
    templates_named("lemmas").clear()
    assert templates_named("lemmas"), "each call gives a list of its own"


@pytest.mark.parametrize("name", ["english", "lemmas+", ""])
def test_no_such_set(name):
    with pytest.raises(
        ValueError, match=r'\[HS161\] There is nothing named "\w*" here\. Known: english_pos, '
    ):
        templates_named(name)


def test_upstream_chunks_are_those_of_chunks():
    """With labels of the component below for given tags, up to three in a row."""
    upstream = [str(template) for template in parse_templates(templates_named("upstream_chunks"))]
    given = [str(t) for t in parse_templates(templates_named("chunks")) if "tag[" in str(t)]
    short = [text for text in given if text.count("tag[") <= 3]
    assert [text.replace("upstream", "tag") for text in upstream] == short and len(given) == len(
        short
    ) + 3
    found = split_templates(parse_templates(templates_named("upstream_chunks")), UPSTREAM)
    assert [len(found.plain), len(found.labels)] == [0, len(upstream)]


_names = st.sampled_from(["lower", "orth", "prefix", "suffix12", "is_alpha", "_.x", "_.y2", "tag"])
_parts = st.builds(Part, _names, st.integers(-MAX_OFFSET, MAX_OFFSET)) | st.just(Part("bias", 0))


@settings(max_examples=max(100, settings.default.max_examples))
@given(st.lists(_parts, min_size=1, max_size=4))
def test_written_form_is_read_back(parts):
    template = Template(tuple(parts))
    assert parse_template(str(template)) == [template]
