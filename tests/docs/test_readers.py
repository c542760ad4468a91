"""Formats and readers: examples can be read, divisions are the code's (test_pages.py has what all pages share)."""

import inspect
import re

import pytest
import spacy
from spacy.util import Config

from spacy_hoseq.readers.formats.columns import Columns, read_columns
from spacy_hoseq.readers.formats.conllu import read_conllu
from spacy_hoseq.readers.formats.peoples_daily import read_peoples_daily
from spacy_hoseq.readers.formats.tagged_text import read_tagged_text
from spacy_hoseq.readers.formats.trees import read_trees
from spacy_hoseq.readers.splits import SPLITS

from .pages import PAGES, section

PAGE = "docs/reference/readers.md"
EXAMPLES = {  # heading: reader, and what it reads
    "Bracketed trees": (read_trees, [("The fox wants to sleep .", ["NP", "VP"])]),
    "Words with tags": (read_tagged_text, [("The fox sleeps 1/2 hour .", []), ("It dreams .", [])]),
    "The People's Daily corpus (PFR)": (read_peoples_daily, [("小城 图书馆 今天 开放 。", ["ORG"])]),
    "Columns": (lambda *a: read_columns(*a, Columns(1, 2, 3)), [("The fox", ["ANIMAL"]), ("It", [])]),
    "Characters": (lambda *a: read_columns(*a, Columns(1, 0, -1)), [("小 城 下 雨", ["LOC"])]),
    "CoNLL-U": (read_conllu, [("zum Fuchs", [])]),
}


@pytest.mark.parametrize("heading", EXAMPLES)
def test_examples(heading, tmp_path):
    read, expected = EXAMPLES[heading]
    lines = re.findall(r"^(?: {4}.*|)$", section(PAGE, heading), re.MULTILINE)
    (tmp_path / "a").write_text("\n".join(line[4:] for line in lines) + "\n", encoding="utf-8")
    sentences = list(read(tmp_path / "a", ["utf-8"]))
    names = [[label.name for label in sentence.chunks or sentence.entities or ()] for sentence in sentences]
    assert [(" ".join(s.words), found) for s, found in zip(sentences, names, strict=True)] == expected


def test_readers():
    names = set(re.findall(r"spacy_hoseq\.\w+_corpus\.v1", PAGES["docs/tasks/convert.md"]))
    assert len(names) == 5
    settings = set(re.findall(r"`(\w+)`", section(PAGE, "The readers")))
    for name in names:
        assert set(inspect.signature(spacy.registry.readers.get(name)).parameters) <= settings | {"path"}
    block = re.search(r"```ini\n(.*?)```", PAGES[PAGE], re.DOTALL).group(1)
    config = Config().from_str('[paths]\nwsj = "wsj"\n[corpora]\n' + block)
    assert callable(spacy.registry.resolve(config["corpora"])["train"])


def test_divisions():
    divisions = section(PAGE, "Divisions of treebanks")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| (.*?) \|", divisions, re.MULTILINE)
    assert {row[0] for row in rows} == set(SPLITS)
    for name, *parts in rows:
        if name in ("wsj-tagging", "wsj-chunking", "ctb5"):
            assert [re.sub("^(sections|files) ", "", part) for part in parts] == list(SPLITS[name].parts.values())
