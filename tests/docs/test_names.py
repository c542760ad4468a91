"""docs/reference/names.md: few names, all there, and no page needs another one."""

import re
from importlib import import_module
from operator import attrgetter

import spacy
import srsly

from .pages import PAGES, ROOT, section

SECTION = section("docs/reference/names.md", "In Python")
FIRST = [row.split(" | ")[0] for row in SECTION.splitlines() if row.startswith("| `")]
NAMES = re.findall(r"`([^`]+)`", " ".join(FIRST))
IMPORTS = re.compile(r"^ *from (spacy_hoseq[\w.]*) import ([\w, ]+)", flags=re.MULTILINE)


def resolved(name):
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def test_they_are_few_and_each_says_what_it_is():
    ours = [name for name in NAMES if name.startswith("spacy_hoseq.")]
    assert len(ours) > 30 and len(NAMES) == len({*NAMES})
    for name in ours:
        assert name.endswith("__version__") or len(resolved(name).__doc__) > 20, name


def test_those_of_components_and_docs_are_there():
    nlp = spacy.blank("en")
    pipes = {name: nlp.add_pipe(name) for name in NAMES if name.startswith("hoseq_")}
    expected = {name for name in spacy.registry.factories.get_all() if name.startswith("hoseq_")}
    assert {*pipes} == expected
    pipes |= {name.removeprefix("hoseq_"): pipe for name, pipe in pipes.items()}
    pipes["pipe"] = pipes["hoseq_tagger"]
    for name in NAMES:
        owner, _, attribute = name.partition(".")
        if owner in pipes and attribute:
            assert attrgetter(attribute)(pipes[owner]).__doc__, name
        elif name.startswith("doc._."):
            assert nlp.make_doc("").has_extension(attribute[2:]) or attribute == "_.hoseq_certainty"


def test_pages_import_no_other():
    cells = srsly.read_json(ROOT / "docs" / "notebook.ipynb")["cells"]
    texts = [*PAGES.values(), *("".join(cell["source"]) for cell in cells)]
    imported = set()
    for module, names in IMPORTS.findall("\n".join(texts)):
        imported |= {f"{module}.{name.strip()}" for name in names.split(",")}
    assert len(imported) > 10 and imported - {*NAMES} == set()
