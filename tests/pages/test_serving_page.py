"""The page of `hoseq serve` in a real browser, from a real server, by the English pipeline of the package."""

import time

import pytest

import spacy_hoseq

from ..reporting.running import Running
from .test_explanation_page import panels

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server():
    running = Running(spacy_hoseq.load("en"), max_length=200)
    yield running
    running.stop()


@pytest.fixture
def opened(chromium, server):
    chromium.set_window_size(1000, 900)
    chromium.get(server.url)
    yield chromium
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []


def until(found, seconds=10):
    end = time.monotonic() + seconds
    while not (result := found()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


def typed(driver, text, keys=None):
    """RETURNS the words of the answer."""
    field = driver.find_element("css selector", "textarea")
    field.clear()
    field.send_keys(text)
    field.send_keys(keys) if keys else driver.find_element("css selector", "form button").click()
    assert driver.execute_script("return document.getElementById('answer').textContent"), "at once"
    until(lambda: driver.find_elements("css selector", "#answer .word, #answer .problem"))
    return driver.find_elements("css selector", ".word")


def value(driver):
    return driver.find_element("css selector", "textarea").get_attribute("value")


def test_type_see_tags_open_reasons(opened):
    words = typed(opened, "They saw her <script>alert(1)</script> duck.")
    texts = [word.find_element("css selector", ":scope > span").text for word in words]
    assert texts[:3] == ["They", "saw", "her"] and "script" in "".join(texts)
    assert opened.title.startswith("They saw her <script>")
    assert opened.title.endswith("(en_hoseq_sm)")
    words[2].click()
    (panel,) = panels(opened)
    assert "lemma" in panel.text and "her: PRP" in panel.text
    assert len(panel.find_elements("css selector", "details.why")) > 2
    words[2].click()
    assert until(lambda: not opened.find_elements("css selector", ".panel"))
    assert value(opened).startswith("They saw her <script>")
    typed(opened, "Time flies.")
    assert until(lambda: opened.title.startswith("Time flies."))


def test_keys_alone(opened):
    from selenium.webdriver.common.keys import Keys

    words = typed(opened, "Time flies.", Keys.CONTROL + Keys.ENTER)
    words[0].send_keys(Keys.ARROW_RIGHT)
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    assert "flies: " in panels(opened)[0].text


def test_a_text_that_is_too_long_says_so_and_stays(chromium, server):
    chromium.get(server.url)
    chromium.execute_script("document.querySelector('textarea').removeAttribute('maxlength')")
    assert typed(chromium, "word " * 60) == []
    said = chromium.execute_script("return document.querySelector('[role=alert]').textContent")
    assert "300 characters" in said and "--" not in said and value(chromium) == "word " * 60
    log = chromium.get_log("browser")
    severe = [entry["message"] for entry in log if entry["level"] == "SEVERE"]
    assert len(severe) == 1 and "413" in severe[0]


def test_what_is_typed_outlives_the_server(chromium):
    running = Running(spacy_hoseq.load("en"))
    chromium.get(running.url)
    running.stop()
    assert typed(chromium, "Time flies.") == [] and value(chromium) == "Time flies."
    assert "does not answer" in chromium.find_element("css selector", ".problem").text
    chromium.get_log("browser")
