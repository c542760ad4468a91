"""What a notebook is given."""

from html import unescape

import pytest
from spacy.tokens import Doc

from spacy_hoseq.reporting import render
from spacy_hoseq.reporting.text import text_page

from ..components import chunker_helpers
from .unpacked import unpacked


@pytest.fixture(scope="module")
def nlp():
    return chunker_helpers.ready("words")


@pytest.fixture(scope="module")
def doc(nlp):
    return nlp(Doc(nlp.vocab, words=["the", "<script>", '"cat"']))


def framed(page):
    """What the frame holds, as a browser reads it."""
    return unescape(page._repr_html_().split('srcdoc="')[1].split('"')[0])


def test_text_alone(doc):
    page = render(doc)
    assert framed(page) == page.html == text_page([doc])
    assert "<title>the &lt;script&gt;" in page.html
    assert 'sandbox="allow-scripts"' in page._repr_html_()
    assert unpacked(page.html)[0]["reasons"] == []


def test_with_reasons(nlp, doc):
    page = render([doc], nlp, title="Why", height=99)
    assert framed(page) == page.html and "height: 99px" in page._repr_html_()
    assert page.html.count("<button class=") == 3 and "<title>Why<" in page.html
    assert all(one["terms"] or not one["against"] for one in unpacked(page.html)[0]["reasons"])
