"""Patterns of a lexicon, and patterns that give way."""

import gzip

import numpy as np
import pytest

from ... import oracle
from ...cases import Case
from ...repository import script

new_words = script("papers/new_words")


@pytest.fixture
def source(tmp_path):
    from handwriting import LexiconTransitions

    (tmp_path / "words.txt").write_text("abab\nabc\nabx", encoding="utf8")
    return lambda **settings: LexiconTransitions(tmp_path / "words.txt", **settings)


def test_patterns_of_one_length_share_a_weight(source):
    found = source().define(["a", "b", "c"], [])  # no label is x
    weights = dict(zip(found.patterns, found.weight_of.tolist(), strict=True))
    assert weights == {(0, 1, 0): 0, (1, 0, 1): 0, (0, 1, 2): 0, (0, 1, 0, 1): 1}
    assert set(found.rule_of.tolist()) == {-1} and len(source().fire([]).tokens) == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_shrunk_patterns_weigh_that_share(seed, share):
    rng = np.random.default_rng(seed)
    scores, trans = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    case = Case(scores, trans, np.array([4]), (((0, 1, 2), 2.0), ((1, 2, 0), 3.0)))
    less = Case(scores, trans, np.array([4]), (((0, 1, 2), 2.0 * share), ((1, 2, 0), 3.0 * share)))
    labels = new_words.decode_exact(new_words.shrunk(case.potentials(), share)).labels
    assert labels.tolist() == oracle.joint_table(less).best_labels.tolist()


def test_frequent_words_lose_their_first_letter(tmp_path):
    rows = [
        "1\tThere\t_",
        "2\twhere\t_",
        "3\tThat\t_",
        "4\tit's\t_",
        "5\tof\t_",
        "1-2\tword\t_",
        "# text",
        "",
    ]
    (tmp_path / "x.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    assert new_words.frequent_words(tmp_path / "x.gz") == ["here", "hat"]
