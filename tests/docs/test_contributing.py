"""CONTRIBUTING.md against the tree and pyproject.toml: files that it names exist, registered names live there."""

import re
from pathlib import Path

import pytest

import spacy_hoseq

from .pages import PAGES, ROOT

tomllib = pytest.importorskip("tomllib")

PACKAGE = Path(spacy_hoseq.__file__).parent  # which may be installed elsewhere
PAGE = PAGES.get("CONTRIBUTING.md", "")
FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml))`")
FOLDER = re.compile(r"`((?:spacy_hoseq|tests|docs)/[\w/]*)`")
PLACES = {  # section -> the registered names that it is about, and where they are defined
    "A source of label patterns": (
        r"\w+_patterns\.v\d|same_\w+_pairs\.v\d|chunk_words\.v\d",
        "spacy_hoseq.patterns",
    ),
    "A layer of scores": (r"(SparseLinear|MarginalLinear|SumEmissions)\.v\d", "spacy_hoseq.layers"),
}

pytestmark = pytest.mark.skipif(not PAGE, reason="installed without its source tree")


def sections():
    """Text by title, of "How to add ..."."""
    parts = re.split(r"^### (.*)$", PAGE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def entry_points():
    """(group, name without that of the package) -> module."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    return {
        (group, name.removeprefix("spacy_hoseq.")): target.partition(":")[0]
        for group, names in project["entry-points"].items()
        for name, target in names.items()
    }


@pytest.mark.parametrize("title", sections())
def test_files_exist(title):
    """Those with a folder lie there, all others anywhere in the package."""
    text = sections()[title]
    for name in FILE.findall(text):
        anywhere = () if "/" in name else PACKAGE.rglob(name)
        assert place_of(name).is_file() or any(anywhere), name
    for name in FOLDER.findall(text):
        assert place_of(name).is_dir(), name


def place_of(name):
    """Where a file or folder of the repository is."""
    return PACKAGE.parent / name if name.startswith("spacy_hoseq/") else ROOT / name


@pytest.mark.parametrize("title", PLACES)
def test_registered_names_live_where_the_page_says(title):
    pattern, package = PLACES[title]
    modules = {
        module for (_, name), module in entry_points().items() if re.fullmatch(pattern, name)
    }
    assert modules and all(module.startswith(f"{package}.") for module in modules)
    assert package.replace(".", "/") in sections()[title]


def test_groups_of_registered_names():
    groups = {group for group, _ in entry_points()}
    assert set(re.findall(r"spacy_(?:misc|readers|architectures|factories)", PAGE)) <= groups
