"""Findings and reports in a real browser: opened, filtered, read by keys, on a phone, in large numbers."""

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.inspection.findings import Alternative, Finding, judged, ranked
from spacy_hoseq.reporting.findings import findings_page
from spacy_hoseq.reporting.report import as_page, report

from ..components import chunker_helpers, helpers
from ..reporting.test_report import examples

pytestmark = pytest.mark.long
WORDS = ["the", "old", "<script>alert(1)</script>", "sees", "\n", "a", "cat", "."]


def findings(n):
    nlp = helpers.ready()
    docs = [Doc(nlp.vocab, words=[*WORDS, f"word{i}"] * 2) for i in range(n)]
    made = []
    for i in range(n):
        gold = Alternative([(2, 3, "A")], 0.01)
        others = [Alternative([(2, 3, "<b>")], 0.9), Alternative([], 0.05)]
        span = 2, 3, (0, len(docs[i]))
        made.append(Finding(i, "tagger", "tag", *span, gold, others, 4.5, 0.02, 0.01, 1e9))
    return findings_page(docs, made)


def rows(driver):
    rows = driver.find_elements("css selector", "#findings > li")
    return [row for row in rows if row.is_displayed()]


def test_a_finding_opens_by_mouse_and_keys(browse):
    from selenium.webdriver.common.keys import Keys

    first, second, _ = rows(browse(findings(3)))
    assert "<script>alert(1)</script>" in first.text and "0.0100" not in first.text
    first.find_element("css selector", "button").click()
    assert "A (annotated)" in first.text and "0.0100" in first.text and "nothing" in first.text
    second.find_element("css selector", "button").send_keys(Keys.ENTER)
    assert "0.0100" in second.text


def test_a_finding_has_the_reasons_of_the_model(browse):
    from selenium.webdriver.support.wait import WebDriverWait

    nlp = chunker_helpers.trained("marginals", 8)
    examples = chunker_helpers.examples_of(nlp)
    wrong = [Example(eg.predicted, mistaken(eg.reference)) for eg in examples]
    made = ranked(list(judged(nlp, wrong)), n=20, k=2, with_reasons=True)
    assert {one.component for one in made if one.why} == {"hoseq_tagger", "hoseq_chunker"}
    for one in made:
        if one.why is not None:
            found = sum(term.value for term in one.why.terms)
            assert found == pytest.approx(one.why.difference, abs=1e-3)
    driver = browse(findings_page([eg.reference for eg in examples], made))
    for row in rows(driver)[:3]:
        row.find_element("css selector", "button").click()
    wait = WebDriverWait(driver, 10)
    wait.until(lambda _: len(driver.find_elements("css selector", ".panel details.why")) == 3)
    rows(driver)[0].find_element("css selector", "li > button").click()
    assert len(driver.find_elements("css selector", ".panel")) == 2


def mistaken(doc):
    """With another tag at its first word, and chunks of the other type."""
    copy = doc.copy()
    copy[0].tag_ = "V" if copy[0].tag_ != "V" else "N"
    other = {"NP": "VP"}
    spans = [Span(copy, s.start, s.end, other.get(s.label_, "NP")) for s in doc.spans["chunks"]]
    copy.spans["chunks"] = spans
    return copy


def test_findings_are_filtered(browse):
    driver = browse(findings(12))
    field = driver.find_element("id", "filter")
    field.send_keys("WORD11")
    assert len(rows(driver)) == 1 and driver.find_element("id", "count").text == "1 of 12"
    field.clear()
    field.send_keys("<b>")
    assert len(rows(driver)) == 12


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("page", ["findings", "report"])
def test_nothing_is_wider_than_the_screen_or_comes_from_the_network(browse, page, width):
    nlp = helpers.ready("log_likelihood")
    html = findings(3)
    if page != "findings":
        html = as_page(report(nlp, examples(), model="m", data="d"))
    driver = browse(html, width)
    driver.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    widths = "return [document.documentElement.scrollWidth, window.innerWidth]"
    shown = driver.execute_script(widths)
    assert shown[0] <= shown[1]
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_words_of_a_report_are_words(browse):
    nlp = helpers.ready("log_likelihood")
    driver = browse(as_page(report(nlp, examples(), model="<m>", data="d")))
    assert "<m> on d" in driver.find_element("tag name", "h1").text
    assert "<script>" in driver.find_element("tag name", "body").text
    assert len(driver.find_elements("css selector", "svg[role=img] circle")) > 2
