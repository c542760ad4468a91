"""One entry for all that is exact: every kind of potentials against enumeration, and which algorithm they go to."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import (
    best_beside,
    best_with,
    choose,
    pattern_posterior,
    posterior,
)
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import PatternTrie, Weights

from .. import oracle
from ..cases import Case, zero_case
from ..strategies import cases
from .answers.posteriors import assert_enumerated, posterior_of

DECODERS = ["_best_of_each", "pruned_labels", "decode_any_sign"]
WALKS = ["inclusive_sums", "exclusive"]
VANISHING = np.array([[0.0, 0], [-600.0, 0], [0, 0], [0, 0], [0, 0]])  # the share of label 0
SPAN = (3, (frozenset([1]), frozenset([0, 1])), 1.0)  # in the second of two sequences


@given(case=cases(signed=True, configurations=3, max_sequences=5))
def test_best_labelling_is_the_enumerated_one(case):
    assume(oracle.is_feasible(case))
    paths = decode_exact(case.potentials())
    parts = np.split(paths.labels, case.starts[1:])
    for single, labels, score in zip(case.singles(), parts, paths.scores, strict=True):
        table = oracle.joint_table(single)
        assert score == pytest.approx(table.best)
        assert score == pytest.approx(oracle.score_of_one(single, labels))
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


@pytest.mark.parametrize("is_chain", [False, True])
@given(case=cases(signed=True, configurations=3, max_sequences=5), factor=st.sampled_from([1, 8]))
def test_best_labelling_beside_a_known_posterior(is_chain, case, factor):
    """Of flat distributions, which are decoded, and of sharp ones, where p(y | x) is above one half."""
    if is_chain:
        case = replace(case.without_patterns(), edge_scores=None)
    assume(oracle.is_feasible(case))
    potentials = case.potentials().scaled(factor)
    parts = np.split(best_beside(potentials, posterior(potentials)), case.starts[1:])
    for single, part in zip(case.singles(), parts, strict=True):
        table = oracle.joint_table(single)
        assert oracle.score_of_one(single, part) == pytest.approx(table.best)
        assert not table.is_unique or part.tolist() == table.best_labels.tolist()


@given(
    case=cases(signed=True, configurations=3, max_sequences=5, rounded=True),
    data=st.data(),
    positive=st.booleans(),
)
def test_batch_is_the_singles_in_any_order(case, data, positive):
    """Ties included: the algorithm of a sequence is chosen by its own features."""
    if positive:
        patterns = tuple((pattern, abs(weight)) for pattern, weight in case.patterns)
        case = replace(case, patterns=patterns)
    assume(oracle.is_feasible(case))
    batch = case.take(data.draw(st.permutations(range(len(case.lengths)))))
    got = decode_exact(batch.potentials())
    alone = [decode_exact(single.potentials()) for single in batch.singles()]
    assert got.labels.tolist() == np.concatenate([paths.labels for paths in alone]).tolist()
    assert got.scores.tolist() == [paths.scores[0] for paths in alone]


def test_ties_do_not_depend_on_negative_weights_of_another_sequence():
    """0,0 and 1,0 of the first sequence both have score 0. In the second one a pattern fires that costs 1."""
    scores = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])
    fired = ((3, (1, 0), -1.0), (1, (0, 0, 0), 1.0))
    case = Case(scores, np.array([[-1.0, 0.0], [-2.0, 0.0]]), np.array([2, 3]), fired=fired)
    got = decode_exact(case.potentials())
    alone = [decode_exact(single.potentials()) for single in case.singles()]
    assert got.labels.tolist() == np.concatenate([paths.labels for paths in alone]).tolist()
    assert got.scores.tolist() == [oracle.joint_table(single).best for single in case.singles()]


@pytest.mark.parametrize("pattern", [None, ((0, 1), 1.0), ((0, 1), -1.0)])
@pytest.mark.parametrize("n_labels", [0, 2])
def test_a_batch_without_tokens(n_labels, pattern):
    """With patterns that are worth something, or cost it; also before there are labels."""
    patterns = (pattern,) if pattern and n_labels else ()
    zeros = np.zeros((0, n_labels)), np.zeros((n_labels, n_labels))
    potentials = Case(*zeros, np.zeros(0, int), patterns=patterns).potentials()
    sums = posterior(potentials)
    assert sums.expected.scores.shape == sums.nodes.shape == (0, n_labels)
    assert not sums.expected.trans.any() and not sums.expected.node_weights.any()
    assert decode_exact(potentials).labels.shape == best_beside(potentials, sums).shape == (0,)
    assert best_with(potentials).shape == (0, n_labels)


def test_a_trie_of_no_patterns_is_a_chain():
    rng = np.random.default_rng(0)
    case = Case(rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), np.array([6]))
    weights = Weights(case.trans, PatternTrie([], 3), np.zeros(3))
    labels = decode_exact(case.potentials()._replace(weights=weights)).labels
    assert labels.tolist() == oracle.joint_table(case).best_labels.tolist()


@pytest.mark.parametrize("first", range(3))
def test_a_configuration_at_the_first_token_of_a_sequence(first):
    """Sequences of one token each, in which label 0 is ahead by 1; the configuration of label 1 is worth 2."""
    case = Case(np.tile([1.0, 0.0], (3, 1)), np.zeros((2, 2)), np.array([1, 1, 1]))
    case = replace(case, configurations=((first, (frozenset([1]),), 2.0),))
    assert decode_exact(case.potentials()).labels.tolist() == [int(t == first) for t in range(3)]


@pytest.mark.parametrize("closed", range(4))
def test_message_names_the_sequence_where_some_have_negative_weights(closed):
    """Patterns fire in all four sequences of 2 tokens, in the second and the last at a cost."""
    allowed = np.ones((8, 2), bool)
    allowed[2 * closed : 2 * closed + 2] = np.eye(2)
    fired = tuple((2 * i + 1, (1, 1), (-1.0) ** i) for i in range(4))
    settings = {"fired": fired, "allowed": allowed}
    case = zero_case(2, 2, 2, 2, trans=np.array([[0, -np.inf], [0, 0]]), **settings)
    for function in (decode_exact, posterior_of):
        with pytest.raises(ValueError, match=rf"\[HS023\] Sequence {closed} has no permitted"):
            function(case.potentials())


def called(function, case, module, names):
    """Which of the names are used."""
    mocks = {name: mock.Mock(wraps=getattr(module, name)) for name in names}
    with mock.patch.multiple(module, **mocks):
        function(case.potentials())
        return [name for name in names if getattr(module, name).called]


@pytest.mark.parametrize("change, decoder, walks", [
    ({"trans": np.zeros((2, 2))}, ["_best_of_each"], []),
    ({}, ["pruned_labels"], []),
    ({"patterns": (((0, 1), 1.0),)}, ["pruned_labels"], ["inclusive_sums"]),
    ({"patterns": (((0, 1), 1.0), ((1, 1), -1.0))}, ["decode_any_sign"], ["inclusive_sums"]),
    ({"patterns": (((0, 1), 1.0),), "fired": ((1, (0, 1), -0.5),)},
     ["pruned_labels", "decode_any_sign"], ["inclusive_sums"]),
    ({"fired": ((1, (0, 1), -0.5), (4, (0, 1), -0.5))}, ["decode_any_sign"], ["inclusive_sums"]),
    ({"fired": ((1, (0, 1), 0.5), (4, (0, 1), 0.0))}, ["pruned_labels"], ["inclusive_sums"]),
    ({"patterns": (((0, 1), -16.0),)}, ["decode_any_sign"], ["exclusive"]),
    ({"patterns": (((0, 1), 300.0),)}, ["pruned_labels"], ["exclusive"]),
    ({"patterns": (((0, 1), 1.0),), "trans": np.array([[0, -np.inf], [0, 0]])},
     ["pruned_labels"], ["inclusive_sums"]),
    ({"patterns": (((0, 1), 1.0),), "trans": np.array([[0, -np.inf], [0, 0]]), "scores": VANISHING},
     ["pruned_labels"], ["inclusive_sums", "exclusive"]),
    ({"configurations": (SPAN,)},
     ["pruned_labels", "decode_any_sign"], ["inclusive_sums", "exclusive"]),
    ({"configurations": ((*SPAN[:2], 0.0),)}, ["pruned_labels"], ["inclusive_sums", "exclusive"]),
    ({"lengths": np.array([5]), "patterns": (((0, 1), 1.0),), "configurations": (SPAN,)},
     ["decode_any_sign"], ["exclusive"]),
])  # fmt: skip
def test_each_case_goes_to_its_algorithm(change, decoder, walks):
    case = replace(Case(np.zeros((5, 2)), np.ones((2, 2)), np.array([3, 2])), **change)
    assert called(decode_exact, case, choose, DECODERS) == decoder
    assert called(posterior_of, case, pattern_posterior, WALKS) == walks
    assert_enumerated(posterior_of(case.potentials()), case)


@pytest.mark.parametrize("spans", [(), (0,), (2,), (4,), (0, 2, 4, 5)])
@pytest.mark.parametrize("closed", [0, 1, 2, 3])
def test_message_names_the_sequence_of_the_whole_batch(spans, closed):
    """Whether it has configurations itself, or only others have. Four sequences of 2 tokens."""
    lengths = np.array([2, 2, 2, 2])
    allowed = np.ones((8, 2), bool)
    allowed[2 * closed : 2 * closed + 2] = np.eye(2)
    case = Case(np.zeros((8, 2)), np.array([[0, -np.inf], [0, 0]]), lengths, allowed=allowed)
    case = replace(case, configurations=tuple((first, (frozenset([1]),), 1.0) for first in spans))
    for function in (decode_exact, posterior_of):
        with pytest.raises(ValueError, match=rf"\[HS023\] Sequence {closed} has no permitted"):
            function(case.potentials())


@pytest.mark.parametrize("n_spans", [0, 1])
def test_counts_of_weights_that_are_zero(n_spans):
    """Learning starts from 0: expected counts must be there all the same."""
    case = zero_case(3, patterns=(((0, 1), 0.0),), fired=((2, (1, 1), 0.0),))
    span = (0, (frozenset([0]), frozenset([0, 1]), frozenset([1])), 0.0)
    case = replace(case, configurations=(span,) * n_spans)
    got = posterior_of(case.potentials())
    trie = case.pattern_scores().trie
    assert got.expected.node_weights[trie.node_of].tolist() == pytest.approx([0.5, 0.5])
    assert got.expected.fired_weights.tolist() == pytest.approx([0.25])
    assert got.expected.configuration_weights.tolist() == pytest.approx([0.25] * n_spans)


WRONG = [
    ("HS027", {"lengths": np.array([4])}),
    ("HS027", {"lengths": np.array([2])}),
    ("HS027", {"lengths": np.array([3, 3])}),
    ("HS027", {"lengths": np.array([6, -1])}),
    (
        "HS020.*first at token 4, label 1",
        {"scores": np.array([[0, 0], [0, 0], [0, 0], [0, 0], [0, np.nan]])},
    ),
    ("HS022.*at token 4", {"allowed": np.array([[1, 1], [1, 1], [1, 1], [1, 1], [0, 0]], bool)}),
    (r"HS024.*got \(6, 2\), expected \(5, 2\)", {"allowed": np.ones((6, 2), bool)}),
]


@pytest.mark.parametrize("function", [decode_exact, posterior_of])
@pytest.mark.parametrize("message, change", WRONG)
@pytest.mark.parametrize("span", [None, 0, 3])
def test_input_that_is_refused(function, message, change, span):
    """Tokens are counted in the whole batch, also where only one sequence has configurations."""
    case = replace(Case(np.zeros((5, 2)), np.zeros((2, 2)), np.array([3, 2])), **change)
    if span is not None:
        case = replace(case, configurations=((span, (frozenset([1]),), 1.0),))
    with pytest.raises(ValueError, match=rf"\[{message}"):
        function(case.potentials())


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_weights_that_are_refused(weight):
    scores, trans, lengths = np.zeros((3, 2)), np.zeros((2, 2)), np.array([3])
    for case in (
        Case(scores, trans, lengths, (((0, 1), 1.0), ((1, 0, 1), weight))),
        Case(scores, trans, lengths, fired=((2, (1, 0, 1), weight),)),
    ):
        for function in (posterior_of, decode_exact):
            with pytest.raises(ValueError, match=r"\[HS020\] .*weight of pattern \(1, 0, 1\)"):
                function(case.potentials())
