"""The pictures of pages: `hoseq explain` with the reasons of one name open (README, light and dark), `hoseq report`,
and `hoseq find-errors`, on the corpus of the repository.

python docs/pictures.py            needs selenium and a Chrome
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import typer
from selenium import webdriver
from selenium.webdriver.chrome.options import Options

import spacy_hoseq
from spacy_hoseq.reporting import render

TEXT = "Mary Miller of Acme Ltd. flew from Cork to Boston, where her brothers live."
OPEN_WORD = "document.querySelector('button[data-token=\"3\"]').click()"
OPEN_REASONS = "document.querySelectorAll('details').forEach((reasons) => { reasons.open = true; })"
SCORES = "document.querySelector('h2').scrollIntoView()"
ASSETS = Path(__file__).parents[1] / "assets" / "en"


def main(folder: Path = Path(__file__).parent / "images") -> None:
    nlp = spacy_hoseq.load("en")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        page = work / "page.html"
        page.write_text(
            render(nlp(TEXT), nlp, ["hoseq_entities"], title=TEXT).html, encoding="utf8"
        )
        for scheme in ("light", "dark"):
            picture(page, folder / f"explain-{scheme}.png", [OPEN_WORD, OPEN_REASONS], scheme)
        hoseq("convert", ASSETS / "test.conll", "-o", work / "test.spacy")
        hoseq("report", "en", work / "test.spacy", "-o", work / "report")
        picture(work / "report" / "report.html", folder / "report.png", [SCORES], height=680)
        hoseq("convert", ASSETS / "train.conll", "-o", work / "train.spacy")
        settings = ("--folds", "3", "--training.max_epochs", "4")
        hoseq("find-errors", "crf", work / "train.spacy", "-o", work / "errors", *settings)
        picture(work / "errors" / "findings.html", folder / "find-errors.png", height=680)


def hoseq(*arguments: str | Path) -> None:
    """Run a command."""
    command = [sys.executable, "-m", "spacy", "hoseq", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def picture(
    page: Path,
    output: Path,
    scripts: Sequence[str] = (),
    scheme: str = "light",
    height: int = 980,
) -> None:
    """A screenshot of the page after these scripts, in colours for light or dark screens."""
    options = Options()
    for word in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(word)
    options.add_argument(f"--window-size=820,{height}")
    browser = webdriver.Chrome(options=options)
    try:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.get(page.as_uri())
        for script in scripts:
            browser.execute_script(script)
            time.sleep(1)  # the page unpacks the reasons
        browser.save_screenshot(str(output))
    finally:
        browser.quit()


if __name__ == "__main__":
    typer.run(main)
