"""The page of a text in a real browser: it reads as a text, whatever the width, the theme, the layers and the words."""

import pytest
import spacy
from spacy.tokens import Doc, Span, SpanGroup

import spacy_hoseq
from spacy_hoseq.reporting import render
from spacy_hoseq.reporting.text import text_page

from .contrast import pale
from .overlaps import overlaps

pytestmark = pytest.mark.long
LONG = "internationalisation" * 5
WORDS = ["Ana", "Silva", "ran", "in", "a", "\U0001f600", LONG, ".", "שלום", "עולם", "<b>"]
WIDTHS = (390, 1000, 1600)
TEXT = (
    "In recent years, the company that Ana Silva founded in New York with her brother has grown so quickly that even "
    "its competitors in Germany, who had long doubted whether a small team could build such an internationally "
    "acknowledged machine, now admit openly that they misunderstood the market. Time flies like an arrow."
)
LINES = """
const lines = [];
for (const sentence of document.querySelectorAll(".sentence")) {
  const tops = [...sentence.querySelectorAll(".word")].map((word) => Math.round(word.getBoundingClientRect().top));
  lines.push([...new Set(tops)].map((top) => tops.filter((other) => other === top).length));
}
return lines;
"""
CUT = """
return [...document.querySelectorAll(".word > span, .word > small")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
  .map((one) => one.textContent);
"""


def annotated():
    """Chunks of one letter with long labels, entities that cross them, groups whose spans overlap, long features."""
    nlp = spacy.blank("xx")
    doc = Doc(nlp.vocab, words=WORDS, tags=["NNP"] * len(WORDS), pos=["PROPN"] * len(WORDS))
    for token in doc:
        token.set_morph("Case=Nom|Gender=Fem|Number=Sing|Person=3|VerbForm=Fin")
    chunks = [Span(doc, i, i + 1, f"CHUNK{i}") for i in range(len(WORDS))]
    attrs = {"scores": [0.994] * len(chunks)}
    doc.spans["chunks"] = SpanGroup(doc, name="chunks", spans=chunks, attrs=attrs)
    doc.set_ents([Span(doc, 0, 2, "PERSON"), Span(doc, 4, 5, "A_LONG_NAME_OF_A_LABEL")])
    crossing = [Span(doc, 0, 3, "ONE"), Span(doc, 2, 6, "TWO"), Span(doc, 2, 3, "THREE")]
    doc.spans["crossing"] = SpanGroup(doc, name="crossing", spans=crossing)
    return doc


def themed(driver, dark):
    theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": theme})
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark


def words_of(driver):
    return driver.find_elements("css selector", ".word")


@pytest.fixture(scope="module")
def explained():
    nlp = spacy_hoseq.load("en", config={"components": {"hoseq_tagger": {"save_marginals": True}}})
    return render(nlp(TEXT), nlp).html


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_hides_another_one(browse, width, dark):
    driver = browse(text_page([annotated()]), width)
    themed(driver, dark)
    assert overlaps(driver) == [] and driver.execute_script(CUT) == [] and pale(driver) == []
    words_of(driver)[4].click()
    assert overlaps(driver) == [] and pale(driver) == []
    shown = driver.find_element("css selector", "main").text
    texts = ("Ana", "CHUNK0", "PERSON", "ONE", "TWO", "THREE", "<b>", "do not tell")
    for text in (*texts, "Gender: Fem", "0.994"):
        assert text in shown, text
    label = words_of(driver)[0].get_attribute("aria-label")
    assert "chunks CHUNK0, crossing ONE, ents PERSON" in label
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width, least", [(390, 3), (1000, 8), (1600, 8)])
def test_a_sentence_reads_as_a_sentence(browse, explained, width, least, dark):
    driver = browse(explained, width)
    themed(driver, dark)
    for lines in driver.execute_script(LINES):
        assert all(n >= least for n in lines[:-1])
    assert overlaps(driver) == [] and driver.execute_script(CUT) == [] and pale(driver) == []
    words_of(driver)[20].click()
    for summary in driver.find_elements("css selector", ".panel summary"):
        summary.click()
    assert overlaps(driver) == [] and pale(driver) == []
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_notebook_cell_is_small(explained):
    assert len(explained.encode()) < 20_000 + 1000 * len(TEXT.split())


@pytest.mark.parametrize("width", WIDTHS)
def test_sentences_run_as_they_are_written(browse, width):
    """Each word of Hebrew left of the one before, in the same line, with its label; a full stop beside its word."""
    nlp = spacy.blank("xx")
    hebrew, english = ["שלום", "עולם", "Rome", "."], ["a", LONG, "cat", "."]
    spaces = [True, True, False, False]
    docs = [Doc(nlp.vocab, words=words, spaces=spaces) for words in (hebrew, english)]
    for doc in docs:
        for token in doc:
            token.tag_ = "NNP"
    driver = browse(text_page(docs), width)
    pairs = zip(driver.find_elements("css selector", ".sentence"), (hebrew, english), strict=True)
    for sentence, words in pairs:
        found = sentence.find_elements("css selector", ".word")
        assert [word.find_element("css selector", ":scope > span").text for word in found] == words
        boxes = [word.rect for word in found]
        is_left = words is hebrew
        for one, other in zip(boxes, boxes[1:], strict=False):
            if one["y"] == other["y"]:
                assert (other["x"] < one["x"]) == is_left
        assert boxes[-1]["y"] == boxes[-2]["y"], "the full stop"
        for word, box in zip(found, boxes, strict=True):
            text = word.find_element("css selector", ":scope > span").rect
            assert box["x"] <= text["x"]
            assert text["x"] + text["width"] <= box["x"] + box["width"] + 1


def test_words_of_the_other_direction_inside_a_sentence(browse):
    """Hebrew inside English runs from right to left, with its comma; the full stop ends the English sentence."""
    words = ["the", "greeting", "שלום", ",", "עולם", "."]
    doc = Doc(spacy.blank("xx").vocab, words=words, spaces=[True, True, False, True, False, False])
    found = words_of(browse(text_page([doc])))
    order = sorted(range(len(words)), key=lambda i: found[i].rect["x"])
    assert [words[i] for i in order] == ["the", "greeting", "עולם", ",", "שלום", "."]


def test_overlaps_and_pale_text_are_seen(browse):
    """The tests above would pass for ever if `overlaps` and `pale` saw nothing."""
    style = "position: absolute; left: 5px; top: 5px; color: #999"
    page = f'<!DOCTYPE html><body style="background: #fff"><p style="{style}">one</p><p style="{style}">two</p></body>'
    driver = browse(page)
    assert overlaps(driver) == ["one / two"] and len(pale(driver)) == 2
