"""The printed algorithm: exact where its patterns do not share subsequences, wrong as known where they do."""

from dataclasses import replace

import numpy as np
import pytest
from baselines.algorithm_1 import algorithm_1, search
from hypothesis import assume, given

from ... import oracle
from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases


def decode(case):
    return algorithm_1(case.potentials())


def assert_exact(case):
    """Best labels, true scores, and the algorithm's own scores."""
    got = decode(case)
    for i, single in enumerate(case.singles()):
        table, labels = oracle.joint_table(single), np.split(got.labels, case.starts[1:])[i]
        assert (
            got.scores[i]
            == pytest.approx(table.best)
            == pytest.approx(oracle.score_of_one(single, labels))
        )
        assert search(single.potentials()).score == pytest.approx(table.best)
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


@pytest.mark.long
class TestAlgorithm1OfAChain(DecoderContract):
    """Without patterns it is Viterbi's."""

    takes_patterns = False
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        return decode(case)


@given(case=cases())
def test_patterns_of_two_labels_are_exact(case):
    """They can share no more than one label."""
    pairs = tuple((pattern[:2], weight) for pattern, weight in case.patterns)
    case = replace(
        case, patterns=pairs, fired=tuple((token, p[:2], weight) for token, p, weight in case.fired)
    )
    assume(oracle.is_feasible(case))
    assert_exact(case)


@given(case=cases(max_sequences=5))
def test_scores_are_true_and_never_above_the_best(case):
    assume(oracle.is_feasible(case))
    got = decode(case)
    for single, labels, score in zip(
        case.singles(), np.split(got.labels, case.starts[1:]), got.scores, strict=True
    ):
        assert score == pytest.approx(oracle.score_of_one(single, labels))
        assert -np.inf < score <= oracle.joint_table(single).best + 1e-9


def example(last=0.0, fired=((3, (1, 0, 1, 0), 1.0), (4, (0, 1, 0, 1), 1.0), (3, (0, 1, 0), 1.0))):
    scores = np.zeros((5, 2))
    scores[4, 0] = last
    return Case(scores, np.zeros((2, 2)), np.array([5]), fired=fired)


def test_pattern_counted_twice():
    """1,0,1,0 at tokens 0-3, 0,1,0,1 at 1-4 and 0,1,0 at 1-3, weight 1 each. The best score is 3; step 8 adds the third
    to both of the others, and 4 is what the algorithm computes. Labels and true score are right by chance."""
    case = example()
    assert oracle.joint_table(case).best == 3
    assert search(case.potentials()).score == 4
    paths = algorithm_1(case.potentials())
    assert paths.labels.tolist() == [1, 0, 1, 0, 1] and paths.scores.tolist() == [3]


def test_labels_come_out_wrong():
    """Label 0 at the last token is given 1.5: 1,0,1,0,0 has 2 + 1.5, but 1,0,1,0,1 seems to have 4."""
    case = example(last=1.5)
    table = oracle.joint_table(case)
    assert table.best == 3.5 and table.best_labels.tolist() == [1, 0, 1, 0, 0] and table.is_unique
    assert search(case.potentials()).score == 4
    paths = algorithm_1(case.potentials())
    assert paths.labels.tolist() == [1, 0, 1, 0, 1] and paths.scores.tolist() == [3]


@pytest.mark.parametrize("change", [
    {"patterns": (((0, 1), 1.0), ((1, 0, 1), -1e-9))},
    {"fired": ((2, (1, 0, 1), -1e-9),)},
])  # fmt: skip
def test_negative_weights_are_refused(change):
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), **change)
    with pytest.raises(ValueError, match="Algorithm 1 needs pattern weights that are not negative"):
        decode(case)


def test_configurations_are_refused():
    case = replace(example(), configurations=((0, (frozenset([1]),), 1.0),))
    with pytest.raises(ValueError, match=r"The decoder algorithm_1_decoder cannot use general"):
        decode(case)
