"""The page of `hoseq serve` in a real browser, from a real server, by the English pipeline of the package."""

import time

import pytest

import spacy_hoseq

from ..reporting.test_serving import Running

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server():
    running = Running(spacy_hoseq.load("en"), max_length=200)
    yield running
    running.stop()


@pytest.fixture
def opened(chromium, server):
    chromium.set_window_size(1000, 900)
    chromium.get(server.address)
    yield chromium
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []


def until(found, seconds=10):
    end = time.monotonic() + seconds
    while not (result := found()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


def typed(driver, text, keys=None):
    field = driver.find_element("css selector", "textarea")
    field.clear()
    field.send_keys(text)
    field.send_keys(keys) if keys else driver.find_element("css selector", "form button").click()
    until(lambda: driver.find_elements("css selector", "button.word, [role=alert]"))
    return driver.find_elements("css selector", "button.word")


def panel_of(driver):
    (panel,) = until(lambda: driver.find_elements("css selector", ".panel"))
    return panel.text


def test_type_see_tags_open_reasons(opened):
    words = typed(opened, "They saw her <script>alert(1)</script> duck.")
    texts = [word.find_element("css selector", ".text").text for word in words]
    assert texts[:3] == ["They", "saw", "her"] and "script" in "".join(texts)
    words[2].click()
    said = panel_of(opened)
    assert "her: PRP" in said and "What it could be" in said and "is ahead by" in said
    assert "hoseq_tagger" in said and "hoseq_chunker" in said and "her" in said
    words[2].click()
    assert until(lambda: not opened.find_elements("css selector", ".panel"))
    assert opened.find_element("css selector", "textarea").get_attribute("value").startswith("They saw her <script>")


def test_keys_alone(opened):
    from selenium.webdriver.common.keys import Keys

    words = typed(opened, "Time flies.", Keys.CONTROL + Keys.ENTER)
    words[0].send_keys(Keys.ARROW_RIGHT)
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    assert "flies: " in panel_of(opened)


def test_a_text_that_is_too_long_says_so(chromium, server):
    chromium.get(server.address)
    chromium.execute_script("document.querySelector('textarea').removeAttribute('maxlength')")
    assert typed(chromium, "word " * 60) == []
    assert "[HS149]" in chromium.find_element("css selector", "[role=alert]").text
    severe = [entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"]
    assert len(severe) == 1 and "413" in severe[0]
