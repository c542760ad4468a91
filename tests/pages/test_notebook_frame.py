"""The frame that a notebook shows, in a real browser."""

import pytest
from spacy.tokens import Doc

from spacy_hoseq.reporting import render

from ..components import chunker_helpers
from .test_explanation_page import panels

pytestmark = pytest.mark.long


def test_words_open_inside_the_frame(browse):
    nlp = chunker_helpers.ready("words")
    doc = nlp(Doc(nlp.vocab, words=["the", "old", "cat"]))
    driver = browse(f"<!DOCTYPE html><title>Notebook</title>{render(doc, nlp)._repr_html_()}")
    driver.switch_to.frame(driver.find_element("css selector", "iframe"))
    driver.find_elements("css selector", ".word")[0].click()
    (panel,) = panels(driver)
    assert "chunks" in panel.text and panel.find_elements("css selector", "details.why")
    driver.switch_to.default_content()
