"""One long sequence: in bounded time, in blocks, and with the values that short ones have."""

import numpy as np
import pytest

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import TUNING, Tuning

from ...cases import Case
from ..patterns import test_nonnegative
from ..pruning import test_pruned as test_pruning
from . import test_best_path

PERIOD = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.75], [0.25, 0.0]])
STAY, CHANGE = 0.0, -0.5


def long_case(n_tokens, patterns=()):
    """A period of four tokens, over and over; to change the label costs 0.5. Best is 0,1,1,0, which gains
    1 + 0.5 + 0.75 + 0.25 and changes twice; only in the last period 1 at the end saves a change."""
    trans = np.array([[STAY, CHANGE], [CHANGE, STAY]])
    return Case(np.tile(PERIOD, (n_tokens // 4, 1)), trans, np.array([n_tokens]), patterns)


@pytest.fixture
def n_slow(request):
    """For the decoders that take 100 microseconds a step."""
    return 100_000 if request.config.getoption("--slow") else 10_000


@pytest.mark.long
@pytest.mark.parametrize("decoder", [test_best_path.decode_viterbi, test_pruning.decode_chain])
def test_chain(decoder):
    paths = decoder(long_case(100_000))
    assert paths.labels.tolist() == [0, 1, 1, 0] * 24_999 + [0, 1, 1, 1]
    assert paths.scores.tolist() == [(2.5 - 1) * 25_000 + 0.25]


def test_parts_of_windows():
    """However many windows are decoded together, and candidates compared, the labels are the same."""
    rng = np.random.default_rng(0)
    scores, trans = rng.normal(0, 8, (3000, 10)).astype("f4"), rng.normal(0, 1, (10, 10))
    case = Case(scores, trans, np.array([3000]), (((0, 1, 2), 1.0), ((3, 3), 2.0)))
    expected = decode_exact(case.potentials()).labels
    labels = decode_exact(case.potentials(), tuning=Tuning(pair_cells=70)).labels
    assert labels.tolist() == expected.tolist()


@pytest.mark.long
def test_patterns(n_slow):
    check_patterns(test_nonnegative.decode_with_patterns, n_slow)


@pytest.mark.long
def test_pruned_patterns(n_slow):
    check_patterns(test_pruning.decode, n_slow)


def check_patterns(decoder, n_tokens, tuning=TUNING):
    """The pattern 0,0,0,0 is worth 1 at every token but the first three: label 0 everywhere is best, with 1.25 + 4 a
    period. Blocks of 1,000 steps."""
    case = long_case(n_tokens, (((0, 0, 0, 0), 1.0), ((1, 0, 1), 0.125)))
    paths = decoder(case, tuning._replace(history_cells=1000 * len(case.weights().trie)))
    assert paths.labels.tolist() == [0] * n_tokens
    assert paths.scores.tolist() == [1.25 * n_tokens / 4 + n_tokens - 3]
