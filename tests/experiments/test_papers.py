"""The papers: decoders that they compare against enumeration, steps on small corpora, figures of the pages."""

import re
from functools import lru_cache

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import assume, given
from hypothesis import strategies as st
from spacy.cli._util import import_code
from spacy.tokens import Doc, DocBin

from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.reporting import significance

from .. import oracle
from ..cases import Case
from ..repository import ROOT, script
from ..strategies import cases

FOLDER = ROOT / "experiments" / "papers"
import_code(FOLDER / "register.py")  # decoders, as by `--code`
from baselines import BeamSearch, DualDecomposition, algorithm_1  # noqa: E402

NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
SENTENCE = "Ann NNP B-NP\nsaw VBD B-VP\nthe DT B-NP\nferry NN I-NP\n. . O"
DECODERS = {"algorithm 1": algorithm_1, "beam": BeamSearch(2)}
DECODERS["dual decomposition"] = DualDecomposition(10)
pages = script("papers/pages")


# Decoders


@pytest.mark.parametrize("name", DECODERS)
@given(data=st.data())
def test_scores_are_true_and_never_above_the_best(name, data):
    case = data.draw(cases(signed=name != "algorithm 1"))
    assume(oracle.is_feasible(case))
    got = DECODERS[name](case.potentials())
    parts = np.split(got.labels, case.starts[1:])
    for single, labels, score in zip(case.singles(), parts, got.scores, strict=True):
        assert score == pytest.approx(oracle.score_of_one(single, labels))
        assert -np.inf < score <= oracle.joint_table(single).best + 1e-7


@given(case=cases(signed=True))
def test_a_beam_as_wide_as_there_are_nodes_is_exact(case):
    assume(oracle.is_feasible(case))
    got = BeamSearch(len(case.pattern_scores().trie))(case.potentials())
    assert got.scores == pytest.approx([oracle.joint_table(one).best for one in case.singles()])


@given(case=cases(signed=True))
def test_certificates_are_never_wrong(case):
    assume(oracle.is_feasible(case))
    got = DualDecomposition(60).solve(case.potentials())
    best = np.array([oracle.joint_table(one).best for one in case.singles()])
    assert (best <= got.bounds + 1e-7).all()
    assert got.scores[got.certified] == pytest.approx(best[got.certified])


# Sums


def random_case(seed, n_tokens, **more):
    rng = np.random.default_rng(seed)
    scores, trans = rng.normal(size=(n_tokens, 3)), rng.normal(size=(3, 3))
    return Case(scores, trans, np.array([n_tokens]), **more)


@pytest.mark.parametrize("n_tokens", [1, 5])
def test_sums_over_groups_of_states_are_ours(n_tokens):
    grouped = script("papers/grouped")
    patterns = (((0, 1), 0.7), ((0, 1, 2), 1.5), ((1, 2, 1, 2), -0.5), ((2, 2, 2), 0.0))
    case = random_case(0, n_tokens, patterns=patterns)
    potentials = case.potentials()
    both = grouped.local_configurations(potentials) + grouped.higher_configurations(potentials)
    found = grouped.forward(n_tokens, 3, both).log_z
    assert found == pytest.approx(oracle.joint_table(case).log_z, abs=1e-12)
    assert found == pytest.approx(float(posterior(potentials).log_z[0]), abs=1e-12)


def test_approximate_marginals():
    """Belief propagation is exact for chains, Gibbs sampling comes near."""
    approximate = script("papers/approximate")
    chain = random_case(1, 5, patterns=(((0, 1), 0.7), ((2, 2), -0.4)))
    expected = oracle.joint_table(chain).marginals
    found = approximate.belief_propagation(chain.potentials(), 5)
    assert found == pytest.approx(expected, abs=1e-9)
    assert np.abs(approximate.gibbs(chain.potentials(), 2000, 100) - expected).max() < 0.03


# Steps


@pytest.mark.long
@pytest.mark.parametrize("representation", ["", "start_end"])
def test_every_strategy_is_measured_once(tmp_path, monkeypatch, representation):
    (tmp_path / "conll2000").mkdir()
    text = "\n\n".join([SENTENCE] * 20)
    (tmp_path / "conll2000" / "train.txt").write_text(text, "utf8")
    script("papers/conll").main(tmp_path / "corpus", environment=str(tmp_path))
    strategies = script("papers/strategies")
    settings = {"orders": "1", "seeds": "0", "representations": representation, "sentences": 10}
    strategies.main(tmp_path / "x.jsonl", tmp_path / "corpus", **settings)
    (row,) = srsly.read_jsonl(tmp_path / "x.jsonl")
    right = [[3, 3, 3]] * 2 if representation else [[5, 5]] * 2
    assert row["test"] == dict.fromkeys(row["test"], right)
    assert {*strategies.STRATEGIES} <= {*row["test"]}
    monkeypatch.setattr(strategies, "measured", None)  # nothing is measured again
    strategies.main(tmp_path / "x.jsonl", tmp_path / "corpus", **settings)


@pytest.mark.long
def test_systems_learn_from_the_same_sentences(tmp_path, monkeypatch):
    amounts = script("papers/amounts")
    vocab = spacy.blank("zh").vocab
    words, tags = ["我", "看", "书"], ["PN", "VV", "NN"]
    docs = [Doc(vocab, words[: 2 + i % 2], tags=tags[: 2 + i % 2]) for i in range(8)]
    for part in ("train", "test"):
        DocBin(docs=docs).to_disk(tmp_path / f"{part}.spacy")
    for settings in amounts.LEARNERS.values():
        monkeypatch.setitem(settings, "training.max_epochs", 1)
    amounts.main(tmp_path / "x.jsonl", [f"ctb={tmp_path}"], sentences="4,0", learners="recipe")
    rows = list(srsly.read_jsonl(tmp_path / "x.jsonl"))
    assert len(rows) == 4 and [row["words"] for row in rows] == [10, 10, 20, 20]


def test_classifications_grow_with_the_words(tmp_path):
    script("papers/curve").main(tmp_path / "x.json", lengths="1000,2000", labels=3, turns=1)
    for row in srsly.read_json(tmp_path / "x.json")["rows"]:
        assert row["n"] <= row["queries"] <= (2 * row["order"] + 1) * row["n"]


def test_every_step_has_a_script_and_files_of_its_own():
    steps = srsly.read_yaml(FOLDER / "steps.yml")
    sizes = set(script("papers/sized").SIZES)
    files = []
    for step in steps.values():
        assert (FOLDER / step["run"].split()[0]).is_file() and sizes < set(step)
        files += re.findall(r"metrics/\S+\.json\S*", step["run"])
    assert len(set(files)) == len(files) > 10


# Pages


def test_published_figures_have_a_place():
    figures = srsly.read_yaml(FOLDER / "published.yml")
    keys = [(one["paper"], one["table"], one["row"], one["column"]) for one in figures]
    assert len(set(keys)) == len(keys) > 20
    assert pages.published("tsuruoka-tsujii", "2", "easiest_first") == "97.13"
    assert pages.published("tsuruoka-tsujii", "2", "voting") == "-"


def test_the_list_of_tables_has_figures_of_the_papers_and_of_our_pages():
    """docs/papers.md: rows of four tables, each below the link to its page."""
    published = {str(one["value"]) for one in srsly.read_yaml(FOLDER / "published.yml")}
    steps = srsly.read_yaml(FOLDER / "steps.yml")
    sections = (ROOT / "docs" / "papers.md").read_text("utf8").split("\n## [")[1:]
    assert len(sections) == 4
    for section in sections:
        page = (ROOT / "docs" / re.search(r"\]\((.*?)\)", section)[1]).read_text("utf8")
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        for line in lines[1:]:
            _, theirs, ours, state = (cell.strip() for cell in line.split("|")[1:-1])
            assert {*re.findall(NUMBER, theirs)} <= published, theirs
            assert {*re.findall(NUMBER, ours)} <= {*re.findall(NUMBER, page)}, ours
            for step, size in re.findall(r"`(\w+)`, (hour|full)", state):
                is_largest = size == "hour" or steps[step]["hour"] is None
                assert steps[step][size] is not None and is_largest, state


@pytest.mark.long
def test_pages_have_the_figures_of_their_metrics(tmp_path, monkeypatch):
    """Systems are compared in the same resamples: drawn once."""
    drawn_anew = significance._drawn_anew
    drawn = lru_cache(maxsize=4)(lambda *some: [one.astype(np.uint8) for one in drawn_anew(*some)])
    monkeypatch.setattr(
        significance, "_drawn_anew", lambda *some: (one.astype(float) for one in drawn(*some))
    )
    folder = ROOT / "docs" / "papers"
    pages.main(tmp_path, pages=folder, metrics=folder / "metrics")
    for page in folder.glob("*.md"):
        made = (tmp_path / page.name).read_text("utf8")
        assert made == page.read_text("utf8"), page.name
