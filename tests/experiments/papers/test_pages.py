"""The pages of the papers: tables of metrics between marks, beside the published figures."""

from functools import lru_cache

import numpy as np
import pytest
import srsly

from spacy_hoseq.reporting import significance

from ...repository import ROOT, script

DRAWN_ANEW = significance._drawn_anew
pages = script("papers/pages")


def test_published_figures_have_a_place():
    figures = srsly.read_yaml(ROOT / "experiments" / "papers" / "published.yml")
    keys = [(one["paper"], one["table"], one["row"], one["column"]) for one in figures]
    assert len(set(keys)) == len(keys) > 20
    assert pages.published("tsuruoka-tsujii", "2", "easiest_first") == "97.13"
    assert pages.published("tsuruoka-tsujii", "2", "voting") == "-"


@pytest.mark.parametrize("page", ["easiest-first", "nonnegative", "sparse-crf", "multilayer"])
def test_every_paper_has_a_page_that_says_what_is_not_made(page):
    text = (ROOT / "docs" / "papers" / f"{page}.md").read_text(encoding="utf8")
    entry = (ROOT / "docs" / "papers.md").read_text(encoding="utf8")
    assert "## Not made here" in text and f"papers/{page}.md" in entry


@lru_cache(maxsize=4)
def drawn(n, resamples, seed):
    return [weights.astype(np.uint8) for weights in DRAWN_ANEW(n, resamples, seed)]


@pytest.mark.long
def test_pages_have_the_figures_of_their_metrics(tmp_path, monkeypatch):
    """Of the metrics that are kept beside the pages. Systems are compared in the same resamples: drawn once."""
    monkeypatch.setattr(significance, "_drawn_anew", lambda *some: (one.astype(float) for one in drawn(*some)))
    folder = ROOT / "docs" / "papers"
    assert "new_words.jsonl" in [path.name for path in (folder / "metrics").iterdir()]
    pages.main(tmp_path, pages=folder, metrics=folder / "metrics")
    for page in folder.glob("*.md"):
        assert (tmp_path / page.name).read_text(encoding="utf8") == page.read_text(encoding="utf8"), page.name
