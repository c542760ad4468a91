"""The pictures of README, light and dark: a page of `hoseq explain` with the reasons of one name open.

python docs/pictures.py            needs selenium and a Chrome
"""

import tempfile
import time
from pathlib import Path

import typer
from selenium import webdriver
from selenium.webdriver.chrome.options import Options

import spacy_hoseq
from spacy_hoseq.reporting import render

TEXT = "Mary Miller of Acme Ltd. flew from Cork to Boston, where her brothers live."
OPEN_WORD = "document.querySelector('button[data-token=\"3\"]').click()"
OPEN_REASONS = "document.querySelectorAll('details').forEach((reasons) => { reasons.open = true; })"


def main(folder: Path = Path(__file__).parent / "images") -> None:
    nlp = spacy_hoseq.load("en")
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "page.html"
        page.write_text(
            render(nlp(TEXT), nlp, ["hoseq_entities"], title=TEXT).html, encoding="utf8"
        )
        for scheme in ("light", "dark"):
            picture(page, folder / f"explain-{scheme}.png", scheme)


def picture(page: Path, output: Path, scheme: str) -> None:
    """A screenshot of the page, in colours for light or dark screens."""
    options = Options()
    for word in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=820,980"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options)
    try:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.get(page.as_uri())
        browser.execute_script(OPEN_WORD)
        time.sleep(1)  # the page unpacks the reasons
        browser.execute_script(OPEN_REASONS)
        browser.save_screenshot(str(output))
    finally:
        browser.quit()


if __name__ == "__main__":
    typer.run(main)
