"""Exclusive states: decoding and sums with weights of any sign and size, against enumeration."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers.pattern_posterior import exclusive
from spacy_hoseq.decoders.patterns.configurations import decode_any_sign
from spacy_hoseq.decoders.patterns.longest_match import MatchArcs
from spacy_hoseq.decoders.problem import TUNING, PatternTrie, Tuning, Weights

from ... import oracle
from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases
from ..answers.posteriors import assert_enumerated, assert_finite_differences, posterior_of
from ..chain.test_best_path import decode_viterbi
from .test_inclusive_sums import potentials_of


def decode(case, tuning=TUNING):
    return decode_any_sign(case.potentials(), tuning=tuning)


def summed(potentials, tuning=TUNING):
    """What tests of all walks look at."""
    log_z, counts = exclusive(potentials, tuning)
    return SimpleNamespace(log_z=log_z, nodes=counts.scores, expected=counts)


def posterior(case, tuning=TUNING):
    return summed(potentials_of(case), tuning)


class TestAnySign(DecoderContract):
    takes_negative = True

    def decode(self, case, tuning=TUNING):
        return decode(case, tuning)


@pytest.mark.parametrize("factor", [1.0, -50.0, 1000.0])
@given(data=st.data())
def test_best_labelling_is_the_enumerated_one_for_all_weights(factor, data):
    case = data.draw(cases(signed=True)).scaled(factor)
    assume(oracle.is_feasible(case))
    got = decode(case)
    for single, labels, score in zip(case.singles(), np.split(got.labels, case.starts[1:]), got.scores, strict=True):
        table = oracle.joint_table(single)
        assert score == pytest.approx(table.best) == pytest.approx(oracle.score_of_one(single, labels))
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


@given(case=cases(signed=True))
def test_posterior_is_the_enumerated_one(case):
    assume(oracle.is_feasible(case))
    got = posterior(case)
    assert_enumerated(got, case)
    assert (got.expected.trans[case.trans == -np.inf] == 0).all()
    assert case.allowed is None or (got.nodes[~case.allowed] == 0).all()


@pytest.mark.parametrize("factor", [30.0, -1000.0])
@given(data=st.data())
def test_posterior_neither_cancels_nor_underflows(factor, data):
    case = data.draw(cases(signed=True)).scaled(factor)
    assume(oracle.is_feasible(case))
    assert_enumerated(posterior(case), case)


@pytest.mark.parametrize("weight", [-1000.0, 1000.0])
def test_pattern_of_large_weight_in_every_labelling(weight):
    """Only label 0 is allowed in the middle three of five tokens: 0,0 is there twice, whatever it costs."""
    allowed = np.array([[True, True], [True, False], [True, False], [True, False], [True, True]])
    case = Case(np.zeros((5, 2)), np.zeros((2, 2)), np.array([5]), (((0, 0, 0), weight),), allowed=allowed)
    got = posterior(case)
    ends = {-1000.0: -1000.0, 1000.0: 3000.0}  # one labelling has the least or the most of it: 1 or 3 times
    assert got.log_z == pytest.approx([ends[weight]])
    np.testing.assert_allclose(got.nodes[[0, 4], 0], float(weight > 0))
    assert got.expected.node_weights[case.pattern_scores().trie.node_of[0]] == pytest.approx(3.0 if weight > 0 else 1.0)


@pytest.mark.long
@given(case=cases(signed=True, forbidden=False, max_labels=3, max_tokens=3, max_sequences=2))
def test_results_are_finite_differences_of_log_z(case):
    assert_finite_differences(summed, potentials_of(case.doubles()))


@given(case=cases(rounded=True, forbidden=False))
def test_no_patterns_is_the_chain(case):
    """Ties included: without patterns the states are the labels."""
    case = case.without_patterns()
    got, expected = decode(case), decode_viterbi(case)
    assert got.labels.tolist() == expected.labels.tolist() and got.scores.tolist() == expected.scores.tolist()
    assert decode_any_sign(case.potentials()).labels.tolist() == expected.labels.tolist()
    sums, of_chain = posterior(case), posterior_of(case.potentials())
    np.testing.assert_allclose(sums.log_z, of_chain.log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums.expected.trans, of_chain.expected.trans, atol=1e-12)


@pytest.mark.long
@given(case=cases(signed=True, max_sequences=7), data=st.data(), cells=st.sampled_from([1, 60, 200]))
def test_posterior_of_a_batch_is_that_of_its_sequences(case, data, cells):
    """In any order, and walked in parts."""
    assume(oracle.is_feasible(case))
    batch = case.take(data.draw(st.permutations(range(len(case.lengths)))))
    tuning = Tuning(arc_cells=3 * cells, sum_cells=cells)
    got, labels = posterior(batch, tuning), decode(batch, tuning).labels
    parts = [posterior(single) for single in batch.singles()]
    np.testing.assert_allclose(got.log_z, [part.log_z[0] for part in parts], rtol=1e-12)
    np.testing.assert_allclose(got.nodes, np.concatenate([part.nodes for part in parts]), atol=1e-12)
    np.testing.assert_allclose(got.expected.trans, sum(part.expected.trans for part in parts), atol=1e-11)
    np.testing.assert_allclose(got.expected.node_weights, sum(part.expected.node_weights for part in parts), atol=1e-11)
    assert labels.tolist() == decode(batch).labels.tolist()
    in_order = [posterior(single).expected.fired_weights[single.fired.index(entry)]
                for i, single in enumerate(batch.singles())
                for entry in single.fired]  # fmt: skip
    np.testing.assert_allclose(got.expected.fired_weights, in_order, atol=1e-12)


@pytest.mark.parametrize("patterns", [[], [(0, 1), (0, 0), (1, 0), (1, 1)], [(0, 1, 0), (1, 1), (0, 1, 1, 1)]])
def test_edge_scores_are_the_automaton_sorted_by_target(patterns):
    """With all pairs known nothing leads to a single label: such a state gets one move that is none."""
    trie = PatternTrie(patterns, 2)
    strings = [trie.string(u) for u in range(len(trie))]
    made = MatchArcs(Weights(np.zeros((2, 2)), trie, np.zeros(len(trie))))
    source, first, forced = made.arcs.source, made.arcs.first, np.flatnonzero(made.scores == -np.inf)
    got = {
        (strings[u], strings[v])
        for v in range(len(trie))
        for e, u in zip(range(first[v], first[v + 1]), source[first[v] : first[v + 1]], strict=True)
        if e not in forced
    }
    known = set(strings)
    assert got == {
        (string, next((*string, y)[i:] for i in range(len(string) + 1) if (*string, y)[i:] in known))
        for string in strings
        for y in range(2)
    }
    assert len(source) == len(got) + len(forced) and (np.diff(first) >= 1).all()
    unreached = [v for v in range(len(trie)) if all(strings[v] != target for _, target in got)]
    assert forced.tolist() == first[unreached].tolist()


def test_single_labels_that_only_begin_a_sequence():
    """All pairs are patterns, so that the states of one label are left after the first token for good."""
    pairs = (((0, 1), 1.0), ((0, 0), -1.0), ((1, 0), 0.5), ((1, 1), 0.25))
    case = Case(np.zeros((4, 2)), np.zeros((2, 2)), np.array([3, 1]), pairs)
    paths = decode(case)
    assert paths.labels.tolist() == [0, 1, 0, 0] and paths.scores.tolist() == [1.5, 0.0]
    assert_enumerated(posterior(case), case)


def test_no_permitted_labelling():
    """Sequences of several lengths: the message names the one by its number in the batch."""
    allowed = np.array([[True, True], [True, False], [False, True], [True, True], [True, True]])
    case = Case(np.zeros((5, 2)), np.array([[0, -np.inf], [0, 0]]), np.array([1, 2, 2]), allowed=allowed)
    with pytest.raises(ValueError, match=r"\[HS023\] Sequence 1 has no permitted label sequence"):
        decode(case)
    assert posterior(case).log_z.tolist()[:2] == [pytest.approx(np.log(2)), -np.inf]


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_weights_that_are_refused(weight):
    scores, trans, lengths = np.zeros((3, 2)), np.zeros((2, 2)), np.array([3])
    for case in (
        Case(scores, trans, lengths, (((0, 1), 1.0), ((1, 0, 1), weight))),
        Case(scores, trans, lengths, fired=((2, (1, 0, 1), weight),)),
    ):
        with pytest.raises(ValueError, match=r"\[HS020\] .*weight of pattern \(1, 0, 1\)"):
            decode(case)
