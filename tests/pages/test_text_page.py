"""The page of `hoseq tag` in a real browser: no text hides another one, whatever the width and the layers."""

import pytest
import spacy
from spacy.tokens import Doc, Span, SpanGroup

from spacy_hoseq.reporting.text import text_page

from .overlaps import overlaps

pytestmark = pytest.mark.long
LONG = "internationalisation" * 5
WORDS = ["Ana", "Silva", "ran", "in", "a", "\U0001f600", LONG, ".", "שלום", "עולם", "<b>"]
WIDTHS = (390, 1000, 1600)


def annotated():
    """Chunks of one letter with long labels, entities that cross them, groups whose spans overlap."""
    nlp = spacy.blank("xx")
    doc = Doc(nlp.vocab, words=WORDS, tags=["NNP"] * len(WORDS), pos=["PROPN"] * len(WORDS))
    chunks = [Span(doc, i, i + 1, f"CHUNK{i}") for i in range(len(WORDS))]
    doc.spans["chunks"] = SpanGroup(doc, name="chunks", spans=chunks, attrs={"scores": [0.994] * len(chunks)})
    doc.set_ents([Span(doc, 0, 2, "PERSON"), Span(doc, 4, 5, "A_LONG_NAME_OF_A_LABEL")])
    crossing = [Span(doc, 0, 3, "ONE"), Span(doc, 2, 6, "TWO"), Span(doc, 2, 3, "THREE")]
    doc.spans["crossing"] = SpanGroup(doc, name="crossing", spans=crossing)
    return doc


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_hides_another_one(browse, width, dark):
    driver = browse(text_page([annotated()], notes={"chunks": "Not calibrated."}), width)
    theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": theme})
    assert overlaps(driver) == []
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    shown = driver.find_element("css selector", "main").text
    for text in ("Ana", "CHUNK0 0.99*", "PERSON", "A_LONG_NAME_OF_A_LABEL", "ONE", "TWO", "THREE", "<b>", "Not calib"):
        assert text in shown


@pytest.mark.parametrize("width", WIDTHS)
def test_sentences_run_as_they_are_written(browse, width):
    """Each word of Hebrew left of the one before, in the same line, with its label; a full stop beside its word."""
    nlp = spacy.blank("xx")
    hebrew, english = ["שלום", "עולם", "Rome", "."], ["a", LONG, "cat", "."]
    docs = [Doc(nlp.vocab, words=words, spaces=[True, True, False, False]) for words in (hebrew, english)]
    for doc in docs:
        for token in doc:
            token.tag_ = "NNP"
    driver = browse(text_page(docs, notes={}), width)
    for sentence, words in zip(driver.find_elements("css selector", ".sentence"), (hebrew, english), strict=True):
        found = sentence.find_elements("css selector", ".word")
        assert [word.find_element("css selector", ".text").text for word in found] == words
        boxes = [word.rect for word in found]
        is_left = words is hebrew
        for one, other in zip(boxes, boxes[1:], strict=False):
            if one["y"] == other["y"]:
                assert (other["x"] < one["x"]) == is_left
        assert boxes[-1]["y"] == boxes[-2]["y"], "the full stop"
        for word, box in zip(found, boxes, strict=True):
            text = word.find_element("css selector", ".text").rect
            assert box["x"] <= text["x"] and text["x"] + text["width"] <= box["x"] + box["width"] + 1


def test_overlaps_are_seen(browse):
    """The test above would pass for ever if `overlaps` saw nothing."""
    style = "position: absolute; left: 5px; top: 5px"
    page = f'<!DOCTYPE html><body><p style="{style}">one</p><p style="{style}">two</p></body>'
    assert overlaps(browse(page)) == ["one / two"]
