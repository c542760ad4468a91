"""Configs in layers: what replaces what, and that comments stay."""

from thinc.api import Config

from spacy_hoseq.recipes.sections import composed, read_layer, text_of

BASE = """# What the base is.
#   how to run it

[a]
# first
x = 1
y = [1,2]

# The inner one.
[a.inner]
@misc = "one.v1"
size = 3

[a.inner.deep]
@misc = "deep.v1"

[z]
"""


def composed_text(*texts):
    return text_of(composed(map(read_layer, texts)))


def test_one_layer_is_as_it_was():
    assert composed_text(BASE) == BASE
    assert composed_text(BASE, "") == BASE


def test_settings_are_replaced_where_they_stood_with_their_comments():
    text = composed_text(BASE, "# Another.\n\n[a]\n# second\nx = 2\n# new\nw = 0\n")
    assert text.startswith("# Another.\n\n[a]\n# second\nx = 2\ny = [1,2]\n# new\nw = 0\n\n# The inner one.\n[a.inner]")


def test_the_comment_of_a_section_stays():
    assert '# The inner one.\n[a.inner]\n@misc = "one.v1"\nsize = 4\n' in composed_text(BASE, "[a.inner]\nsize = 4\n")
    assert "# Other.\n[a.inner]\n" in composed_text(BASE, "# Other.\n[a.inner]\nsize = 4\n")


def test_a_function_replaces_the_whole_section_and_those_in_it():
    text = composed_text(BASE, '[a.inner]\n@misc = "two.v1"\n')
    assert Config().from_str(text)["a"] == {"x": 1, "y": [1, 2], "inner": {"@misc": "two.v1"}}
    assert "# The inner one.\n[a.inner]" not in text and text.endswith('[a.inner]\n@misc = "two.v1"\n\n[z]\n')


def test_sections_stand_behind_their_relatives():
    text = composed_text(BASE, "[a.other]\nq = 1\n\n[y.new]\np = 1\n")
    assert [line for line in text.splitlines() if line.startswith("[")] == [
        "[a]", "[a.inner]", "[a.inner.deep]", "[a.other]", "[z]", "[y.new]",
    ]  # fmt: skip


def test_a_section_takes_the_place_of_a_setting_and_the_other_way_round():
    text = composed_text("[a]\nb = null\nc = 1\n", '[a.b]\n@misc = "one.v1"\n')
    assert Config().from_str(text) == {"a": {"c": 1, "b": {"@misc": "one.v1"}}}
    assert composed_text(text, "[a]\nb = null\n") == "[a]\nc = 1\nb = null\n"
