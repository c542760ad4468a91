"""The order of decisions as text, page and picture."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import spacy
from markupsafe import escape
from spacy.tokens import Doc

from spacy_hoseq.components.extensions import write_decisions
from spacy_hoseq.reporting.decisions import (
    decisions_page,
    decisions_text,
    draw_decisions,
    sentences_of,
)

from ..builders import doc_of
from ..components.bidirectional_helpers import NAME, chunker, tagger_of
from ..repository import script

NLP = spacy.blank("xx")
PAPER = (  # Tsuruoka & Tsujii (2005), section 4.1
    "The/DT/4 company/NN/7 had/VBD/11 sought/VBN/14 increases/NNS/13 totaling/VBG/12 $/$/2 80.3/CD/5 million/CD/8 "
    ",/,/1 or/CC/6 22/CD/9 %/NN/10 ././3"
)


def annotated(text, probabilities=None, name=NAME, **annotation):
    """A Doc from words with tags and turns, as in the paper."""
    words, tags, turns = zip(*(item.rsplit("/", 2) for item in text.split()), strict=True)
    doc = Doc(NLP.vocab, words=words, tags=tags, **annotation)
    probabilities = np.linspace(1, 0.5, len(doc)) if probabilities is None else probabilities
    write_decisions(doc, name, list(tags), np.array(turns, "i4"), np.array(probabilities, "f4"))
    return doc


def drawing_of(doc):
    """Elements of the picture of a Doc's first sentence, by class or tag."""
    found = {}
    for element in ElementTree.fromstring(draw_decisions(*sentences_of(doc, NAME)[0])).iter():
        found.setdefault(element.get("class") or element.tag.split("}")[1], []).append(element)
    return found


def texts(elements):
    return [element.text for element in elements]


class Page(HTMLParser):
    """Tags that a page opens; refuses what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.captions = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "figcaption":
            self.captions.append(data)


def test_text_as_in_the_paper():
    ((span, labels, order, _),) = sentences_of(annotated(PAPER), NAME)
    assert decisions_text(span, labels, order) == PAPER
    with pytest.raises(ValueError, match="shorter"):
        decisions_text(span, labels[1:], order)


def test_picture_shows_words_labels_turns_and_probabilities():
    found = drawing_of(annotated("dogs/N/2 run/V/3 ././1", [0.75, 1, 0.1234]))
    assert texts(found["word"]) == ["dogs", "run", "."]
    assert texts(found["label"]) == ["N", "V", "."]
    assert texts(found["turn"]) == ["2", "3", "1"]
    assert texts(found["title"]) == ["2. dogs: N, 0.750", "3. run: V, 1.000", "1. .: ., 0.123"]


def test_picture_is_a_staircase():
    found = drawing_of(annotated(PAPER))
    turns = [int(text) for text in texts(found["turn"])]
    dots = [(circle.get("cx"), circle.get("cy")) for circle in found["circle"]]
    in_order = [dot for _, dot in sorted(zip(turns, dots, strict=True))]
    assert [tuple(point.split(",")) for point in found["path"][0].get("points").split()] == in_order
    heights = [float(y) for _, y in in_order]
    steps = {round(before - after, 6) for before, after in zip(heights, heights[1:], strict=False)}
    # y grows downwards: the first stands lowest, each a step above
    assert len(steps) == 1 and steps.pop() > 0
    columns = [float(x) for x, _ in dots]
    assert columns == sorted(columns)
    assert [element.get("x") for element in found["word"]] == [x for x, _ in dots]
    expected = [(x, y, x) for x, y in dots]
    assert [(line.get("x1"), line.get("y1"), line.get("x2")) for line in found["drop"]] == expected


@pytest.mark.parametrize("word", ["<script>alert('1')</script>", "&amp;"])
def test_words_are_escaped(word):
    doc = Doc(NLP.vocab, words=[word, "y"])
    write_decisions(doc, NAME, [word, "Y"], np.array([1, 2], "i4"), np.array([1, 0.5], "f4"))
    found = drawing_of(doc)
    assert texts(found["word"]) == [word, "y"] and texts(found["label"]) == [word, "Y"]
    assert found["title"][0].text == f"1. {word}: {word}, 1.000"
    page = decisions_page([doc], NAME, title=word)
    assert "".join(Page(page).captions) == f"{word}/{word}/1 y/Y/2"
    assert "script" not in Page(page).seen
    assert f"<title>{escape(word)}</title>" in page and f"<h1>{escape(word)}</h1>" in page


def test_page():
    docs = [annotated("dogs/N/2 run/V/3 ././1"), annotated("oh/U/1"), annotated(PAPER)]
    text = decisions_page(docs, NAME, title="In which order")
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>") and "<title>In which order</title>" in text
    assert "<h1>In which order</h1>" in text
    assert "<title>Decisions</title>" in decisions_page([], NAME)
    assert page.captions == ["dogs/N/2 run/V/3 ././1", "oh/U/1", PAPER]
    assert page.seen.count("figure") == page.seen.count("svg") == 3 and "script" not in page.seen
    assert not re.search(r"\bon\w+=|javascript:|(?:href|src)=|url\(", text)
    drawings = re.findall(r"<svg.*?</svg>", text)
    assert drawings == [draw_decisions(*sentences_of(doc, NAME)[0]) for doc in docs]


@pytest.mark.parametrize("label", ["\x07\x1b[31m", "\ud800", "<&>"])
def test_labels_of_control_characters(label):
    """Pictures are XML, which has no such characters."""
    doc = Doc(NLP.vocab, ["dogs", "run"])
    write_decisions(doc, NAME, [label, "V"], np.array([1, 2], "i4"), np.array([1, 1], "f4"))
    expected = "".join(c if c.isprintable() else "\u2423" for c in label)
    drawn = drawing_of(doc)
    assert texts(drawn["label"]) == [expected, "V"]
    assert drawn["title"][0].text == f"1. dogs: {expected}, 1.000"
    draw = script("common/draw").draw_sentence
    picture = ElementTree.fromstring(draw([label, "run"], ["N", label], [1.0, 0.5]))
    shown = [element.text for element in picture.iter() if element.get("class")]
    assert shown == [expected, "N", "run", expected]
    assert Page(decisions_page([doc], NAME)).captions == [f"dogs/{expected}/1 run/V/2"]
    decisions_page([doc], NAME).encode("utf8")


def test_decisions_of_a_chunker():
    """Labels are the tags of the chunks, not those that were given."""
    nlp = chunker(save_decisions=True)
    doc = tagger_of(nlp)(doc_of(nlp, "dogs run .", "N V ."))
    ((_, labels, order, probabilities),) = sentences_of(doc, NAME)
    assert labels == ["B-NP", "B-VP", "O"] and sorted(order) == [1, 2, 3]
    assert all(0 < p < 1 for p in probabilities)
    assert [span.text for span in doc.spans["chunks"]] == ["dogs", "run"]
