"""Texts, tables and pipelines for tests of jobs."""

from pathlib import Path

import spacy
from spacy.language import Language

import spacy_hoseq

from ..builders import packaged

TEXTS = [
    "They tag it at once. Nothing is missing.",
    "",
    "Zoë paid 5 € for 😀 and naïve dogs.\n\nThe end of Mr. Brown's report",
    "   ",
    "The old ferry still runs twice a day, but nobody knows who pays for it.",
    "Stir the rice slowly!  Her second report, which few of us had read, turned out to be right.",
]

CODE = """
import os
from spacy.language import Language

@Language.component("picky")
def picky(doc):
    if "stop" in doc.text:
        raise RuntimeError("this one not")
    if "die" in doc.text:
        os._exit(3)
    return doc
"""


def english(**settings) -> Language:
    return spacy_hoseq.load("en", **settings) if settings else packaged()


def picky_pipeline(folder: Path) -> Path:
    """A pipeline with a component of another package, and beside it the file with its code. RETURNS its folder."""
    (folder / "code.py").write_text(CODE)
    spacy.blank("xx").to_disk(folder / "model")
    text = (folder / "model" / "config.cfg").read_text()
    text = text.replace("pipeline = []", 'pipeline = ["picky"]')
    text = text.replace("[components]", '[components]\n\n[components.picky]\nfactory = "picky"')
    (folder / "model" / "config.cfg").write_text(text)
    return folder / "model"
