"""Reports and pictures in a real browser: no text hides another one, whatever the width, the theme and the words."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.inspection import quality
from spacy_hoseq.reporting.reliability import draw_calibration
from spacy_hoseq.reporting.report import as_page, report
from spacy_hoseq.reporting.text import text_page

from ..components import chunker_helpers
from ..repository import script
from .overlaps import overlaps

pytestmark = pytest.mark.long
WIDTHS = (390, 1000, 1600)
LONG = "internationalisation" * 8
WORDS = ["the", "old", LONG, "\U0001f600", "שלום", "עולם", "sees", "a", "cat", "."]
LABELS = ("N", "A_LONG_NAME_OF_A_LABEL", "NP", LONG)


@pytest.fixture(scope="module")
def page():
    """Of a pipeline of which most labels are wrong, so that confusions are many."""
    nlp = chunker_helpers.trained("marginals", 8)
    no_spaces = [False] * len(WORDS)
    texts = [[*WORDS[i:], *WORDS[:i]] for i in range(len(WORDS))]
    docs = [Doc(nlp.vocab, words=words, spaces=no_spaces) for words in texts]
    examples = []
    for number, doc in enumerate(docs):
        gold = doc.copy()
        for i, token in enumerate(gold):
            token.tag_ = LABELS[(i + number) % len(LABELS)]
        firsts = range(0, len(gold), 2)
        gold.spans["chunks"] = [Span(gold, i, i + 2, LABELS[i % len(LABELS)]) for i in firsts]
        examples.append(Example(doc, gold))
    return as_page(report(nlp, examples, model="training/model-best", data=f"{LONG}.spacy"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report(browse, page, width, dark):
    driver = browse(page, width)
    theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": theme})
    driver.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert overlaps(driver) == []
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    text = driver.find_element("tag name", "main").text
    assert "no chunk" in text and "training/model-best" in text
    assert driver.find_elements("css selector", ".matrix td.right")
    shown = driver.execute_script("return document.body.textContent")
    assert "oldinternationalisation" in shown, "as it is written"


@pytest.mark.parametrize("spread", [0.02, 0.2, 5.0])
def test_pictures_of_probabilities(browse, spread):
    """Ticks of any size, and a title that is too long."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([spread] * 4, 500)
    found = quality(p, np.array([rng.choice(4, p=row) for row in p]), p.argmax(axis=1))
    title = f"Probabilities of hoseq_tagger: training/model-best on {LONG}.spacy"
    picture = draw_calibration(found, found, title=title)[:-1]
    driver = browse(f'<!DOCTYPE html><body style="margin: 0">{picture}', 1000)
    driver.execute_script("document.querySelectorAll('title').forEach(one => one.remove())")
    assert [pair for pair in overlaps(driver) if not pair.startswith(("before", "after"))] == []


@pytest.mark.parametrize("width", [300, 900])
def test_a_sentence_as_a_picture(browse, width):
    words = [*WORDS, "我们今天去北京大学", "看", LONG]
    draw = script("common/draw").draw_sentence
    labels = ["A_LONG_LABEL", *["N"] * (len(words) - 1)]
    picture = draw(words, labels, [0.9] * len(words), width=width)
    driver = browse(f'<!DOCTYPE html><body style="margin: 0">{picture}')
    end = "t => t.getBBox().x + t.getBBox().width"
    ends = f"return [...document.querySelectorAll('text')].map({end})"
    assert max(driver.execute_script(ends)) <= width
    driver.execute_script("document.querySelectorAll('title').forEach(one => one.remove())")
    assert overlaps(driver) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_words_stand_as_they_are_written(browse, width):
    """No space before a comma, none between Chinese words, where the labels leave room."""
    nlp = spacy.blank("xx")
    words, spaces = ["Look", ",", "here"], [False, True, False]
    doc = Doc(nlp.vocab, words=words, spaces=spaces, tags=["V", ",", "R"])
    driver = browse(text_page([doc]), width)
    assert overlaps(driver) == []
    box_of = "const range = document.createRange(); range.selectNodeContents(arguments[0]);"
    box_of += "return range.getBoundingClientRect().toJSON()"
    words = driver.find_elements("css selector", ".word > span")
    look, comma, here = (driver.execute_script(box_of, word) for word in words)
    assert comma["left"] - look["right"] < 1 and here["left"] - comma["right"] > 3
