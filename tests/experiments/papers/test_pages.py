"""The pages of the papers: tables of metrics between marks, beside the published figures."""

import re
from functools import lru_cache

import numpy as np
import pytest
import srsly

from spacy_hoseq.reporting import significance

from ...repository import ROOT, script

DRAWN_ANEW = significance._drawn_anew
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
pages = script("papers/pages")


def test_published_figures_have_a_place():
    figures = srsly.read_yaml(ROOT / "experiments" / "papers" / "published.yml")
    keys = [(one["paper"], one["table"], one["row"], one["column"]) for one in figures]
    assert len(set(keys)) == len(keys) > 20
    assert pages.published("tsuruoka-tsujii", "2", "easiest_first") == "97.13"
    assert pages.published("tsuruoka-tsujii", "2", "voting") == "-"


def test_steps_that_run_together_write_files_of_their_own():
    steps = srsly.read_yaml(ROOT / "experiments" / "papers" / "steps.yml")
    files = [
        file for step in steps.values() for file in re.findall(r"metrics/\S+\.json\S*", step["run"])
    ]
    assert len(set(files)) == len(files) > 10


@pytest.mark.parametrize("page", ["easiest-first", "nonnegative", "sparse-crf", "multilayer"])
def test_every_paper_has_a_page_that_says_what_is_not_made(page):
    text = (ROOT / "docs" / "papers" / f"{page}.md").read_text(encoding="utf8")
    entry = (ROOT / "docs" / "papers.md").read_text(encoding="utf8")
    assert "## Not made here" in text and f"papers/{page}.md" in entry


def test_the_list_of_tables_has_figures_of_the_papers_and_of_our_pages():
    """docs/papers.md: rows of four tables, each below the link to its page."""
    published = {
        str(one["value"])
        for one in srsly.read_yaml(ROOT / "experiments" / "papers" / "published.yml")
    }
    steps = srsly.read_yaml(ROOT / "experiments" / "papers" / "steps.yml")
    sections = (ROOT / "docs" / "papers.md").read_text(encoding="utf8").split("\n## [")[1:]
    pages_of = [ROOT / "docs" / re.search(r"\]\((.*?)\)", section)[1] for section in sections]
    rows = [
        (page, row)
        for page, section in zip(pages_of, sections, strict=True)
        for row in rows_of(section)
    ]
    assert len(sections) == 4 and len(rows) > 20
    for page, (_, theirs, ours, state) in rows:
        assert {*re.findall(NUMBER, theirs)} <= published, theirs
        assert {*re.findall(NUMBER, ours)} <= {
            *re.findall(NUMBER, page.read_text(encoding="utf8"))
        }, ours
        for step, size in re.findall(r"`(\w+)`, (hour|full)", state):
            assert steps[step][size] is not None and (
                size == "hour" or steps[step]["hour"] is None
            ), state


def rows_of(section):
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in lines
        if not line.startswith("| ---")
    ]


@lru_cache(maxsize=4)
def drawn(n, resamples, seed):
    return [weights.astype(np.uint8) for weights in DRAWN_ANEW(n, resamples, seed)]


@pytest.mark.long
def test_pages_have_the_figures_of_their_metrics(tmp_path, monkeypatch):
    """Of the metrics that are kept beside the pages. Systems are compared in the same resamples: drawn once."""
    monkeypatch.setattr(
        significance, "_drawn_anew", lambda *some: (one.astype(float) for one in drawn(*some))
    )
    folder = ROOT / "docs" / "papers"
    assert "new_words.jsonl" in [path.name for path in (folder / "metrics").iterdir()]
    pages.main(tmp_path, pages=folder, metrics=folder / "metrics")
    for page in folder.glob("*.md"):
        assert (tmp_path / page.name).read_text(encoding="utf8") == page.read_text(
            encoding="utf8"
        ), page.name
