"""Decoding with non-negative patterns: the contract, reductions to simpler decoders, parts of a batch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns.nonnegative import decode_nonnegative
from spacy_hoseq.decoders.problem import TUNING, NoPath, Tuning

from ... import oracle
from ...cases import Case, same_paths
from ...contract import DecoderContract
from ...strategies import cases


def decode_with_patterns(case, tuning=TUNING):
    potentials = case.potentials()._replace(configurations=None, edge_scores=None)
    return decode_nonnegative(potentials.check(), tuning=tuning)


class TestNonnegative(DecoderContract):
    def decode(self, case, tuning=TUNING):
        return decode_with_patterns(case, tuning)


def test_pattern_does_not_reach_over_a_sequence_boundary():
    case = Case(np.tile([[0.0, 1.0]], (4, 1)), np.zeros((2, 2)), np.array([2, 2]))
    case = replace(case, patterns=(((0, 0, 0), 9.0),))
    assert decode_with_patterns(case).labels.tolist() == [1, 1, 1, 1]
    whole = replace(case, lengths=np.array([4]))
    assert decode_with_patterns(whole).labels.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("last, labels, score", [(0.0, None, 3.0), (1.5, [1, 0, 1, 0, 0], 3.5)])
def test_example_on_which_the_printed_algorithm_fails(last, labels, score):
    """Qian & Liu, Algorithm 1, counts 0,1,0 twice here: 4 as the best score, and wrong labels with 1.5 for label 0 at
    the end. Patterns of weight 1 each: 1,0,1,0 at tokens 0-3; 0,1,0,1 at 1-4; 0,1,0 at 1-3."""
    scores = np.zeros((5, 2))
    scores[4, 0] = last
    fired = ((3, (1, 0, 1, 0), 1.0), (4, (0, 1, 0, 1), 1.0), (3, (0, 1, 0), 1.0))
    case = Case(scores, np.zeros((2, 2)), np.array([5]), fired=fired)
    paths = decode_with_patterns(case)
    assert paths.scores.tolist() == [score] == [oracle.joint_table(case).best]
    assert paths.labels.tolist() == (labels or [1, 0, 1, 0, 1])


def columns(cells, least):
    """At most `cells` cells of a step, but at least so many sequences."""
    return Tuning(column_cells=cells, min_columns=least)


@pytest.mark.long
@pytest.mark.parametrize("cells, least", [(0, 1), (0, 2), (40, 1), (200, 3)])
@given(data=st.data())
def test_parts_of_a_batch_change_nothing(cells, least, data):
    """Ties included, and the number of the sequence in a message."""
    case = data.draw(cases(max_sequences=8, rounded=True))
    try:
        whole = decode_with_patterns(case)
    except NoPath as no_path:
        with pytest.raises(NoPath) as info:
            decode_with_patterns(case, columns(cells, least))
        assert info.value.sequence == no_path.sequence
        return
    assert same_paths(decode_with_patterns(case, columns(cells, least)), whole)


@given(case=cases(max_sequences=6, max_tokens=30, rounded=True, forbidden=False), data=st.data())
def test_ties_of_long_sequences_do_not_depend_on_the_batch(case, data):
    order = data.draw(st.permutations(range(len(case.lengths))))
    batch, again = decode_with_patterns(case.take(order)), decode_with_patterns(case.take(order))
    alone = [decode_with_patterns(case.take([i])) for i in order]
    assert batch.labels.tolist() == again.labels.tolist()
    assert batch.labels.tolist() == np.concatenate([paths.labels for paths in alone]).tolist()
    assert batch.scores.tolist() == [paths.scores[0] for paths in alone]
