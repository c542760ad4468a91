"""The page of weights in a real browser."""

import pytest

from spacy_hoseq.inspection.weights import inspected
from spacy_hoseq.reporting.inspection import inspection_page

from ..components import chunker_helpers

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def page():
    nlp = chunker_helpers.trained("patterns", 6)
    docs = list(nlp.pipe(chunker_helpers.doc_of(nlp, text) for text in chunker_helpers.TEXTS))
    return inspection_page(inspected(nlp, docs), title="Inside")


def test_features_are_found_by_name(browse, page):
    driver = browse(page)
    (field,) = driver.find_elements("css selector", "input")
    rows = driver.find_elements("css selector", "#features-1 tbody tr")
    rows = [row for row in rows if row.is_displayed()]
    field.send_keys("ends in -he")
    shown = [row for row in rows if row.is_displayed()]
    assert 0 < len(shown) < len(rows) and all("ends in -he" in row.text for row in shown)
    field.clear()
    field.send_keys("x", "\ue003")  # and back: everything again
    assert len([row for row in rows if row.is_displayed()]) == len(rows)


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen(browse, page, width):
    driver = browse(page, width)
    widths = "return [document.documentElement.scrollWidth, window.innerWidth]"
    shown = driver.execute_script(widths)
    assert shown[0] <= shown[1]
