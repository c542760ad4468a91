"""No kind of text takes many steps: lines of the package that run, counted by `sys.settrace` on any machine."""

import random
import sys
from itertools import islice
from pathlib import Path

import pytest

import spacy_hoseq

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks import slow_texts  # noqa: E402

PACKAGE = Path(spacy_hoseq.__file__).parent
N_TEXTS = 6  # of each kind
FEW_TOKENS = 50  # a text of fewer counts as so many
MOST = 900  # lines a token: the most are 670, and were 1,080 where candidates were compared without a bound


def own_files(pattern, chance):
    """Files of the package, so that texts do not depend on what is installed."""
    files = sorted(PACKAGE.rglob(pattern))
    chance.shuffle(files)
    yield from (path.read_text("utf8") for path in files)


def lines_of(function):
    """How many lines of the package run."""
    n_lines = 0

    def count(frame, event, _):
        nonlocal n_lines
        n_lines += event == "line"
        return count

    def enter(frame, event, _):
        return count if frame.f_code.co_filename.startswith(str(PACKAGE)) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        function()
    finally:
        sys.settrace(before)
    return n_lines


@pytest.fixture(scope="module")
def nlp():
    return spacy_hoseq.load("en")


@pytest.mark.long
@pytest.mark.parametrize("kind", slow_texts.KINDS)
def test_no_kind_of_text_takes_many_steps(nlp, monkeypatch, kind):
    monkeypatch.setattr(slow_texts, "installed", own_files)
    texts = [text for text in islice(slow_texts.KINDS[kind](random.Random(0)), N_TEXTS) if text.strip()]
    assert texts
    assert steps_a_token(nlp, texts) < MOST


def steps_a_token(nlp, texts):
    """The most of them, once words are known."""
    most = 0.0
    for text in texts:
        n_tokens = len(nlp(text))
        n_lines = lines_of(lambda text=text: nlp(text))
        assert n_lines, "nothing is counted"
        most = max(most, n_lines / max(n_tokens, FEW_TOKENS))
    return most
