"""The pages of the papers: tables of metrics between marks, beside the published figures."""

from functools import lru_cache

import numpy as np
import pytest
import srsly

from spacy_hoseq.reporting import significance

from ...repository import ROOT, script

DRAWN_ANEW = significance._drawn_anew
pages = script("papers/pages")
STRATEGIES = ("left_to_right", "easiest_first", "full_bidirectional")


def row(order, seed, right, width=0.5):
    """right: for each strategy, the words of two sentences that are right."""
    key = {"corpus": "x", "order": order, "width": width, "seed": seed, "sentences": 0}
    parts = {"dev": dict.fromkeys(STRATEGIES, [4, 5]), "test": dict(zip(STRATEGIES, right, strict=True))}
    return {**key, **parts, "words": [2, 3], "model_bytes": 1_000_000}


def test_published_figures_have_a_place():
    figures = srsly.read_yaml(ROOT / "experiments" / "papers" / "published.yml")
    keys = [(one["paper"], one["table"], one["row"], one["column"]) for one in figures]
    assert len(set(keys)) == len(keys) > 20
    assert pages.published("tsuruoka-tsujii", "2", "easiest_first") == "97.13"
    assert pages.published("tsuruoka-tsujii", "2", "voting") == "-"


def test_a_sentence_counts_once():
    runs = [row(2, 0, ([1, 0], [2, 3], [2, 3])), row(2, 1, ([0, 0], [2, 2], [2, 3]))]
    assert pages.sentence_counts(runs, "left_to_right").tolist() == [[1, 4], [0, 6]]
    header, lines = pages.tags_table([*runs, row(2, 0, ([2, 3],) * 3, width=1.0)])
    assert [line[:2] for line in lines] == [[name, "2"] for name in STRATEGIES]
    assert lines[0][3] == "4, 5" and lines[0][4] == "+80.00" and lines[0][6] == "96.92"
    assert lines[1][4:6] == ["", ""] and len(header) == len(lines[0])


def test_the_difference_to_itself_is_none():
    counts = np.array([[1.0, 2], [3, 3]])
    assert pages.two_sided(counts, counts) == (0, 1)
    gain, p = pages.two_sided(counts * [0, 1], counts)
    assert gain == pytest.approx(0.8) and p == 0


def test_gains_are_fold_by_fold():
    runs = [
        {"fold": fold, "order": order, "accuracy": value, "unseen_accuracy": value / 2}
        for fold, order, value in ((0, 1, 0.5), (1, 1, 0.6), (0, 7, 0.7), (1, 7, 0.9))
    ]
    _, lines = pages.letters_table({"runs": runs})
    assert lines[0] == ["perceptron, order 1", "55.00 ± 7.07", "", "2", "82.42"]
    assert lines[1][2] == "+25.00 ± 7.07" and lines[1][4] == "88.53"
    assert pages.words_table({"runs": runs})[1][1][4] == "+12.50 ± 3.54"


def test_tables_stand_between_their_marks(tmp_path):
    (tmp_path / "pages").mkdir()
    text = "# Title\n\n<!-- begin curve -->\nold\n<!-- end curve -->\n\n<!-- begin tags -->\nkept\n<!-- end tags -->\n"
    (tmp_path / "pages" / "one.md").write_text(text, encoding="utf8")
    (tmp_path / "metrics").mkdir()
    points = {"rows": [{"order": 1, "n": 1000, "queries": 2000, "seconds": 0.001}]}
    srsly.write_json(tmp_path / "metrics" / "curve.json", points)
    pages.main(tmp_path / "out", pages=tmp_path / "pages", metrics=tmp_path / "metrics")
    page = (tmp_path / "out" / "one.md").read_text(encoding="utf8")
    assert "| 1 | 1,000 | 2.00 | 1.0 |" in page and "old" not in page and "kept" in page
    assert (tmp_path / "pages" / "one.md").read_text(encoding="utf8") == text


@pytest.mark.parametrize("page", ["easiest-first", "nonnegative", "sparse-crf", "multilayer"])
def test_every_paper_has_a_page_that_says_what_is_not_made(page):
    text = (ROOT / "docs" / "papers" / f"{page}.md").read_text(encoding="utf8")
    entry = (ROOT / "docs" / "papers.md").read_text(encoding="utf8")
    assert "## Not made here" in text and f"papers/{page}.md" in entry


def layer_row(system, seed, sentences):
    right, found, gold, tags, words = map(sum, zip(*sentences, strict=True))
    of_corpus = {"corpus": "ptb", "limit": 0, "prior": "l2=0.1", "threshold": 0.0, "system": system, "seed": seed}
    return {
        **of_corpus,
        "f": 2 * right / (found + gold),
        "tags": tags / words,
        "sentences": sentences,
    }


def test_layers_are_compared_sentence_by_sentence():
    rows = [layer_row("marginals", seed, [[1, 2, 2, 4, 5], [0, 1, 1, 2, 2]]) for seed in (0, 1)]
    rows += [layer_row("joint", seed, [[2, 2, 2, 4, 5], [1, 1, 1, 2, 2]]) for seed in (0, 1)]
    _, lines = pages.layers_table(rows)
    assert lines[0] == [
        "ptb l2=0.1 0",
        "marginals",
        "33.33 ± 0.00",
        "92.7",
        "85.71 ± 0.00",
        "95.6",
        "2",
    ]
    assert lines[1][1:4] == ["joint", "100.00 ± 0.00", "93.1"]
    _, (line,) = pages.layer_differences(rows)
    assert line[1:4] == ["marginals → joint", "+66.67", "0.000"] and line[4:] == ["+0.00", "1.000"]
    assert pages.sum_of_counts([{"sentences": [[0, 2]]}, {"sentences": [[1, 4]]}]).tolist() == [
        [1, 6]
    ]


def test_shares_of_patterns_are_rows():
    key = {"fold": 0, "shares": [0.5, 1.0], "unseen_in_lexicon": 3}
    rows = [
        {**key, "system": "order 1", "seen": [0.25, 0.25], "unseen": [0.5, 0.5]},
        {**key, "system": "lexicon", "seen": [0.5, 0.75], "unseen": [0.25, 0]},
    ]
    _, lines = pages.new_words_table(rows)
    assert lines == [
        ["order 1", "1", "25.00", "50.00", "-", "1"],
        ["lexicon", "0.5", "50.00", "25.00", "3.0", "1"],
        ["lexicon", "1", "75.00", "0.00", "3.0", "1"],
    ]


def chunker(representation, order, dev, test):
    key = {"corpus": "x", "representation": representation, "order": order, "seed": 0, "sentences": 0}
    return {**key, **{part: dict(zip(STRATEGIES, some, strict=True)) for part, some in (("dev", dev), ("test", test))}}


def test_chunkers_are_chosen_on_the_development_part():
    good, bad = [[2, 2, 2], [1, 1, 1]], [[1, 2, 2], [0, 1, 1]]
    rows = [chunker("iob2", 1, (bad, bad, bad), (good,) * 3), chunker("iob2", 2, (bad, bad, good), (bad, good, bad))]
    _, lines = pages.chunks_table(rows)
    assert lines[0] == ["iob2, order 1", "left_to_right", "33.33", "93.11", "100.00", "1"] and len(lines) == 6
    _, (line,) = pages.best_chunkers_table(rows)
    assert line[:5] == ["iob2", "full_bidirectional, order 2", "33.33", "-", "-66.67"]


def test_rules_are_compared_on_the_same_amount():
    key = {"corpus": "ctb", "learner": "recipe", "words": 1000, "seed": 0}
    low, rules = [[1, 3], [1, 1]], [[2, 3], [1, 1]]
    rows = [{**key, "system": "low order", "tested": low}, {**key, "system": "rules", "tested": rules}]
    _, (line,) = pages.amounts_table([*rows, {**rows[0], "words": 2000}])
    assert line[:5] == ["ctb, recipe", "1,000", "2", "1", "-50.0 %"] and line[6] == "1"
    _, (line,) = pages.amounts_table([*rows, *({**row, "seed": 1, "tested": low} for row in rows)])
    assert line[2:5] == ["2 ± 0", "2 ± 1", "-25.0 %"] and line[6] == "2"


def test_learners_stand_beside_the_paper():
    run = {"learner": "CRF", "order": 7, "accuracy": 0.9, "iterations": 50, "fold": 0}
    assert pages.learners_table([run])[1] == [["CRF, order 7", "90.00", "50", "1", "88.52"]]


def test_names_are_compared_with_those_of_the_same_decision():
    found = {"low order": [0, 2, 2], "reranked": [1, 2, 2], "patterns": [2, 2, 2]}
    found["patterns, by probability"] = [1, 1, 2]
    rows = [{"corpus": "pfr", "system": name, "seed": 0, "sentences": [one]} for name, one in found.items()]
    header, lines = pages.organisations_table(rows)
    assert header == ("Corpus", "System", "F", "over low order", "p", "over reranked", "p", "Seeds")
    assert [[*line[:4], line[5]] for line in lines] == [
        ["pfr", "low order", "0.00", "", ""],
        ["pfr", "reranked", "50.00", "+50.00", ""],
        ["pfr", "patterns", "100.00", "+100.00", "+50.00"],
        ["pfr", "patterns, by probability", "66.67", "", ""],
    ]


def test_other_features_have_columns_if_they_were_measured():
    found = {"reranked": [1, 2, 2], "reranked, both": [0, 2, 2], "patterns": [2, 2, 2]}
    found |= {"reranked, literature's features": [1, 1, 2], "patterns, by probability": [1, 1, 2]}
    rows = [{"corpus": "pfr", "system": name, "seed": 0, "sentences": [one]} for name, one in found.items()]
    header, lines = pages.organisations_table(rows)
    assert header[3:] == ("over reranked", "p", "over reranked, literature's features", "p", "Seeds")
    assert [[line[1], line[3], line[5]] for line in lines] == [
        ["reranked", "", ""],
        ["reranked, both", "-50.00", "-66.67"],
        ["patterns", "+50.00", "+33.33"],
        ["reranked, literature's features", "+16.67", ""],
        ["patterns, by probability", "", ""],
    ]


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
