"""Formats and readers: examples can be read, divisions are the code's (test_pages.py has what all pages share)."""

import re

import pytest
import spacy
from spacy.util import Config

from spacy_hoseq.readers.formats.recognised import FORMATS, read_corpus, recognised
from spacy_hoseq.readers.settings import Settings
from spacy_hoseq.readers.splits import SPLITS

from .pages import PAGES, section

PAGE = "docs/reference/readers.md"
EXAMPLES = {  # heading: format, and what is read
    "Bracketed trees": ("trees", [("The fox wants to sleep .", ["NP", "VP"])]),
    "Words with tags": ("tagged", [("The fox sleeps 1/2 hour .", []), ("It dreams .", [])]),
    "The People's Daily corpus (PFR)": ("peoples-daily", [("小城 图书馆 今天 开放 。", ["ORG"])]),
    "Columns": ("columns", [("The fox", ["ANIMAL"]), ("It", [])]),
    "Characters": ("columns", [("小 城 下 雨", ["LOC"])]),  # in a file without the ending .bmes
    "CoNLL-U": ("conllu", [("zum Fuchs", [])]),
    "Texts with offsets": ("offsets", [("Ann sleeps .", ["PER"])] * 5),
    "Lists of tokens": ("tokens", [("Ann sleeps", ["PER"])]),
    "Rows of `hoseq apply`": ("rows", [("Ann sleeps .", ["PER"])]),
    "Tables": ("table", [("Ann sleeps", ["PER"])]),
    "WebAnno and INCEpTION": ("webanno", [("Ann sleeps", ["PER"])]),
}


@pytest.mark.parametrize("heading", EXAMPLES)
def test_examples(heading, tmp_path):
    name, expected = EXAMPLES[heading]
    lines = re.findall(r"^(?: {4}.*|)$", section(PAGE, heading), re.MULTILINE)
    text = "\n".join(line[4:] for line in lines).strip()
    (tmp_path / "a").write_text(text + "\n", "utf8")
    assert recognised(tmp_path / "a", Settings()) == name
    sentences = list(read_corpus(tmp_path / "a", name, Settings()))
    spans = [(s.words, s.chunks or s.entities or ()) for s in sentences]
    shown = [(" ".join(words), [label.name for label in some]) for words, some in spans]
    assert shown == expected


def test_every_format_is_described():
    assert {name for name in FORMATS if f"`{name}`" not in PAGES[PAGE]} == set()


def test_the_reader_in_a_config():
    blocks = re.findall(r"```ini\n(.*?)```", PAGES[PAGE], re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        config = Config().from_str('[paths]\nwsj = "wsj"\ntrain = "train"\n[corpora]\n' + block)
        assert callable(spacy.registry.resolve(config["corpora"])["train"])


def test_divisions():
    divisions = section(PAGE, "Divisions of treebanks")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| (.*?) \|", divisions, re.MULTILINE)
    assert {row[0] for row in rows} == set(SPLITS)
    for name, *parts in rows:
        if name in ("wsj-tagging", "wsj-chunking", "ctb5"):
            found = [re.sub("^(sections|files) ", "", part) for part in parts]
            assert found == list(SPLITS[name].parts.values())
