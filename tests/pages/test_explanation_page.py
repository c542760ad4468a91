"""The page of reasons in a real browser: opened, read, used by mouse and keys."""

import pytest
from spacy.tokens import Doc

from spacy_hoseq.reporting import render

from ..components import chunker_helpers

pytestmark = pytest.mark.long
WORDS = ["the", "old", "<script>alert(1)</script>", "sees", "\n", "a", "cat", "."]


@pytest.fixture(scope="module")
def nlp():
    return chunker_helpers.trained("marginals", 8)


@pytest.fixture(scope="module")
def page(nlp):
    return render(nlp(Doc(nlp.vocab, words=WORDS)), nlp, title="Why").html


def words(driver):
    return driver.find_elements("css selector", "button.word")


def panels(driver):
    return driver.find_elements("css selector", ".panel")


def test_a_word_opens_its_reasons(browse, page):
    driver = browse(page)
    assert panels(driver) == []
    word = words(driver)[1]
    word.click()
    (panel,) = panels(driver)
    assert panel.find_element("css selector", "h2").text.startswith("old: ")
    assert "What it could be" in panel.text and "The best labelling is ahead by" in panel.text
    assert word.get_attribute("aria-expanded") == "true"
    words(driver)[2].click()
    (panel,) = panels(driver)
    assert "<script>alert(1)</script>" in panel.text and word.get_attribute("aria-expanded") == "false"
    words(driver)[2].click()
    assert panels(driver) == []


def test_keys(browse, page):
    from selenium.webdriver.common.keys import Keys

    driver = browse(page)
    words(driver)[0].send_keys(Keys.ARROW_RIGHT)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    (panel,) = panels(driver)
    assert "old" in panel.find_element("css selector", "h2").text
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert panels(driver) == [] and driver.switch_to.active_element == words(driver)[1]


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen(browse, page, width):
    """What is too wide scrolls in its own box."""
    driver = browse(page, width)
    words(driver)[1].click()
    shown = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert shown[0] <= shown[1]


def test_nothing_comes_from_the_network(browse, page):
    driver = browse(page)
    words(driver)[1].click()
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
