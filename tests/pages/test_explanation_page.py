"""What the words of a page open, in a real browser: by mouse and keys, one at a time, near the word."""

import pytest
from spacy.tokens import Doc

from spacy_hoseq.reporting import render

from ..components import chunker_helpers
from .overlaps import overlaps

pytestmark = pytest.mark.long
WORDS = ["the", "old", "<script>alert(1)</script>", "sees", "\n", "a", "cat", "."]


@pytest.fixture(scope="module")
def page():
    nlp = chunker_helpers.trained("marginals", 8)
    return render(nlp(Doc(nlp.vocab, words=WORDS)), nlp).html


def words(driver):
    return driver.find_elements("css selector", ".word")


def panels(driver):
    """When they have what they are to say."""
    found = driver.find_elements("css selector", ".panel")
    driver.execute_async_script(
        """const done = arguments[0];
        const look = () => document.querySelector(".panel > p.quiet") ? setTimeout(look, 10) : done();
        look();"""
    )
    return found


def test_a_word_opens_near_it(browse, page):
    driver = browse(page)
    assert panels(driver) == []
    word = words(driver)[1]
    word.click()
    (panel,) = panels(driver)
    assert panel.find_element("css selector", "h2").text == "old" and "old: " in panel.text
    assert word.get_attribute("aria-expanded") == "true"
    assert 0 < panel.rect["y"] - word.rect["y"] - word.rect["height"] < 40
    panel.find_element("css selector", "summary").click()
    assert "The best labelling is ahead by" in panel.text
    words(driver)[2].click()
    (panel,) = panels(driver)
    assert "<script>alert(1)</script>" in panel.text
    assert word.get_attribute("aria-expanded") == "false"
    words(driver)[2].click()
    assert panels(driver) == []


def test_keys(browse, page):
    from selenium.webdriver.common.keys import Keys

    driver = browse(page)
    reached = []
    for _ in words(driver):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(driver.switch_to.active_element)
    assert reached == words(driver)
    words(driver)[0].send_keys(Keys.ARROW_RIGHT)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    (panel,) = panels(driver)
    assert panel.find_element("css selector", "h2").text == "old"
    driver.switch_to.active_element.send_keys(Keys.TAB)
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert panels(driver) == [] and driver.switch_to.active_element == words(driver)[1]


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen_or_comes_from_the_network(browse, page, width):
    driver = browse(page, width)
    words(driver)[1].click()
    panels(driver)
    assert overlaps(driver) == []
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_text_is_there_without_scripts(browse, page):
    driver = browse(page.replace("<script>", "<noscript>"))
    assert len(words(driver)) == 7 and "old" in driver.find_element("id", "text").text
