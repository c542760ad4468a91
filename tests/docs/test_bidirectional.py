"""Tables about bidirectional inference are those of the code (test_pages.py has what all pages share)."""

import inspect
import re

import spacy
from thinc.api import Config

from spacy_hoseq.chunks import read_chunks, write_chunks
from spacy_hoseq.components.bidirectional_tagger import HoseqBidirectionalTagger

from .pages import ROOT, blocks, table, with_parents

TASKS = "docs/reference/bidirectional.md"


def test_strategies_table():
    """Each is taken by the factory, and no other."""
    strategies = [row[0].strip("`") for row in table("| Strategy | Finds")]
    annotation = inspect.signature(HoseqBidirectionalTagger).parameters["strategy"].annotation
    assert sorted(strategies) == sorted(annotation.__args__)


def test_representations_table():
    documented = {}
    for names, tags in (row[:2] for row in table("| `representation` | Tags")):
        for name in re.findall(r"`(\w+)`", names):
            documented[name] = re.findall(r"`([A-Z ]+)`", tags)[:3]
    annotation = inspect.signature(HoseqBidirectionalTagger).parameters["representation"].annotation
    assert set(documented) == set(annotation.__args__[0].__args__)
    for name, expected in documented.items():
        chunks = [read_chunks(["B-NP", "I-NP", "I-NP"][:n]) for n in (1, 2, 3)]
        made = [write_chunks(chunk, n, name) for n, chunk in enumerate(chunks, 1)]
        assert [" ".join(tag[0] for tag in tags) for tags in made] == expected


def test_configs():
    """What the text shows are parts of one."""
    chunks = Config().from_disk(ROOT / "configs" / "bidirectional_chunks.cfg", interpolate=False)
    for block in blocks(TASKS, "ini"):
        shown = Config().from_str(with_parents(block), interpolate=False)
        if "corpora" in shown:
            assert shown["corpora"]["train"] == chunks["corpora"]["train"]
        for name, settings in shown.get("components", {}).items():
            nlp = spacy.blank("en")
            nlp.add_pipe(settings.pop("factory"), name, config=settings)
            assert nlp.get_pipe(name).cfg["representation"] == settings.get("representation")
