"""Units of texts, and where sentences begin."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.segmentation.units import ADDRESS, are_parted, units_of, units_of_each


def units(text):
    of_text = units_of(text)
    return [text[a:b] for a, b in zip(of_text.starts, of_text.ends, strict=True)]


def sentences(text):
    """The units of each sentence, written together."""
    of_text = units_of(text)
    parts = []
    for unit, begins in zip(units(text), of_text.sentence, strict=True):
        parts = [*parts, ""] if begins else parts
        parts[-1] += unit
    return parts


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        (" \n\t", []),
        ("我们喝茶", ["我", "们", "喝", "茶"]),
        ("iPhone12在2008年", ["iPhone", "12", "在", "2008", "年"]),
        ("ｉＰｈｏｎｅ１２", ["ｉＰｈｏｎｅ", "１２"]),
        ("3.14%，km/h", ["3", ".", "14", "%", "，", "km", "/", "h"]),
        ("привет 한국어ひらカナ", ["привет", "한국어", "ひ", "ら", "カ", "ナ"]),
        ("e\u0301te\u0301 \u0301", ["e\u0301te\u0301", "\u0301"]),
        ("\u0301x", ["\u0301", "x"]),
        ("毒\u200b\u200b物", ["毒\u200b\u200b", "物"]),
        ("👩\u200d👩\u200d👧👍🏽好🇨🇳", ["👩\u200d👩\u200d👧", "👍🏽", "好", "🇨🇳"]),
        ("a\u200d b", ["a\u200d", "b"]),
        ("\ud800好", ["\ud800", "好"]),
    ],
)
def test_units(text, expected):
    assert units(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("请看https://www.example.com/a?b=1。", ["https://www.example.com/a?b=1"]),
        (
            "写信给info@example.org，或者看example.com.cn/x/",
            ["info@example.org", "example.com.cn/x/"],
        ),
        ("在www.example.com.他", ["www.example.com"]),
        ("http://example.com:80/路径", ["http://example.com:80/"]),
        ("3.14和U.S.A，Node.js，@小明", []),
    ],
)
def test_addresses_are_whole(text, expected):
    of_text = units_of(text, whole=ADDRESS)
    found = [text[a:b] for a, b in zip(of_text.starts, of_text.ends, strict=True)]
    assert "".join(found) == text
    assert [unit for unit in found if ADDRESS.fullmatch(unit)] == expected == ADDRESS.findall(text)
    for unit in expected:
        place = found.index(unit)
        assert of_text.after_space[place : place + 2].all()


@given(st.text(alphabet="a.@:/w我， \n", max_size=15))
def test_what_is_whole_changes_nothing_else(text):
    plain, whole = units_of(text), units_of(text, whole=re.compile("aw|@+"))
    matches = re.finditer("aw|@+", text)
    inside = {i for match in matches for i in range(match.start() + 1, match.end())}
    edges = {i for match in re.finditer("aw|@+", text) for i in match.span()} - {len(text)}
    expected = {*plain.starts.tolist(), *(i for i in edges if not text[i].isspace())} - inside
    assert set(whole.starts.tolist()) == expected


@given(
    st.lists(
        st.text(alphabet="我a1.。”w@ \n\0\u2029\u0301\u200d👍🏽\ud800", max_size=8), max_size=6
    )
)
def test_texts_in_one_go(texts):
    patterns = re.compile("(?<=a)(?=w)"), re.compile("aw|@+")
    for text, of_text in zip(texts, units_of_each(texts, *patterns), strict=True):
        for found, alone in zip(of_text, units_of(text, *patterns), strict=True):
            assert found.dtype == alone.dtype and found.tolist() == alone.tolist()


@given(st.text(alphabet="我们a1.， \n\u0301\u200d👍🏽é", max_size=12))
def test_nothing_is_lost_but_white_space(text):
    of_text = units_of(text)
    at = 0
    pairs = zip(of_text.starts, of_text.ends, of_text.after_space, strict=True)
    for start, end, after_space in pairs:
        assert start < end and not text[at:start].strip()
        assert after_space == (start > at or at == 0)
        assert not re.search(r"\s", text[start:end])
        at = end
    assert not text[at:].strip()
    assert not len(of_text.sentence) or of_text.sentence[0]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("我来。你走！好？", ["我来。", "你走！", "好？"]),
        ("他说：“好。”然后走了……（完。）再见", ["他说：“好。”", "然后走了……", "（完。）", "再见"]),
        ("价3.14元.他用example.com.", ["价3.14元.", "他用example.com."]),
        ("他走了.2008年,他来了.", ["他走了.", "2008年,他来了."]),
        (".5", [".", "5"]),
        ("He left. “So,” I said.", ["Heleft.", "“So,”Isaid."]),
        ("He left at 5. She ran.", ["Heleftat5.", "Sheran."]),
        ("什么？！真的", ["什么？！", "真的"]),
        ("标题\n正文。 \n\n完\n", ["标题", "正文。", "完"]),
        ("。", ["。"]),
        ("", []),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


def test_words_that_need_a_space_between_them():
    assert are_parted("e", "1") and are_parted("1", "２") and are_parted("\u0301", "a")
    assert not are_parted("e", "我") and not are_parted("我", "们") and not are_parted(".", "a")
