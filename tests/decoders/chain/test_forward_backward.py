"""log Z, marginals and expected transitions of a chain: enumeration, finite differences, invariances.

Four ways lead there: the walk that is scaled every few steps (test_small_scores.py, too) or at every step, the
logarithmic one, and the walk for patterns, given none.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.chunks import grammar, tag_names
from spacy_hoseq.decoders.answers.pattern_posterior import PatternPosterior
from spacy_hoseq.decoders.chain import forward_backward as module
from spacy_hoseq.decoders.chain.chain_posterior import ChainPosterior, chain_posterior
from spacy_hoseq.decoders.problem.potentials import Weights
from spacy_hoseq.decoders.problem.trie import PatternTrie

from ... import oracle
from ...cases import Case, is_well_formed
from ...strategies import cases, random_mask
from ..answers.posteriors import forward_backward, logarithmic, pattern_posterior

WALKS = ["scaled", "every_step", "logarithmic", "patterns"]
NEVER = -np.inf


def posterior(case, walk=None):
    """The posterior by the walk that the decoder chooses, or by the one that is asked for."""
    if walk is None:
        return forward_backward(case.scores, case.trans, case.lengths, allowed=case.allowed)
    potentials = case.potentials().check()
    if walk == "logarithmic":
        return logarithmic(potentials)
    if walk == "patterns":
        trie = PatternTrie([], case.n_labels)
        return pattern_posterior(potentials._replace(weights=Weights(case.trans, trie, np.zeros(len(trie)))))
    most = 2 * module.SMALL if walk == "every_step" else None  # scores need no shift if they are smaller
    found = chain_posterior(potentials, most=most)
    assert isinstance(found, ChainPosterior)
    return found


def fit(case):
    case = case.without_patterns()
    assume(all(oracle.joint_table(single).best > -np.inf for single in case.singles()))
    return case


def assert_enumerated(got, case):
    assert got.log_z.dtype == got.nodes.dtype == got.expected.trans.dtype == np.float64
    tables = [oracle.joint_table(single) for single in case.singles()]
    assert got.log_z == pytest.approx([table.log_z for table in tables], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(got.nodes, np.concatenate([table.marginals for table in tables]), atol=1e-9)
    np.testing.assert_allclose(got.expected.trans, sum(table.transitions for table in tables), atol=1e-9)


@pytest.mark.parametrize("walk", WALKS)
@given(case=cases(forbidden=False))
def test_posterior_is_the_enumerated_one(walk, case):
    case = fit(case)
    assert_enumerated(posterior(case, walk), case)


@given(case=cases())
def test_posterior_is_the_enumerated_one_with_forbidden_transitions(case):
    case = fit(case)
    got = posterior(case)
    assert_enumerated(got, case)
    assert (got.expected.trans[case.trans == -np.inf] == 0).all()
    if case.allowed is not None:
        assert (got.nodes[~case.allowed] == 0).all()


@given(case=cases(), spread=st.sampled_from([30.0, 200.0, 2000.0]))
def test_posterior_is_the_enumerated_one_with_wide_transitions(case, spread):
    case = fit(case.doubles())
    wide = replace(case, trans=case.trans * spread, scores=case.scores * spread)
    assert_enumerated(posterior(wide), wide)


@given(case=cases(forbidden=False, max_tokens=40), data=st.data())
def test_walks_agree_up_to_the_range_of_the_scaled_one(case, data):
    """The hardest inputs: transitions at both ends of the range, emissions that just make up for two of them."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    trans = rng.choice([0.0, 1.0, 299.0], case.trans.shape)
    scores = rng.choice([0.0, -1.0, -299.0, -598.0, -610.0], case.scores.shape)
    case = replace(case.without_patterns(), trans=trans, scores=scores)
    assert np.ptp(trans) < module.MAX_RANGE
    expected = posterior(case, "logarithmic")
    for got in (posterior(case), posterior(case, "patterns")):
        np.testing.assert_allclose(got.log_z, expected.log_z, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(got.nodes, expected.nodes, atol=1e-9)
        np.testing.assert_allclose(got.expected.trans, expected.expected.trans, atol=1e-9 * len(case.scores))


def assert_walks(case, wanted):
    """The result is right, and the walk that is wanted found it."""
    found = posterior(case)
    assert_enumerated(found, case)
    assert isinstance(found, wanted)


@pytest.mark.parametrize("wanted, trans", [
    (ChainPosterior, [[0, 299.0], [0, 0]]),
    (PatternPosterior, [[0, 301.0], [0, 0]]),
    (ChainPosterior, [[0, NEVER], [0, 0]]),
    (ChainPosterior, [[0, NEVER], [-299, 0]]),
    (PatternPosterior, [[0, NEVER], [-301, 0]]),
])  # fmt: skip
def test_walk_is_chosen_by_the_range(wanted, trans):
    """That of the transitions which are not forbidden."""
    assert_walks(Case(np.zeros((3, 2)), np.array(trans), np.array([3])), wanted)


@pytest.mark.parametrize("walk", ["scaled", "every_step", "logarithmic"])
@given(case=cases(max_sequences=5, min_labels=2), share=st.sampled_from([0.2, 0.5]), masked=st.booleans())
def test_both_walks_permit_forbidden_transitions_and_masks(walk, case, share, masked):
    rng = np.random.default_rng(len(case.scores))
    trans = np.where(rng.random(case.trans.shape) < share, NEVER, case.trans)
    allowed = random_mask(rng, *case.scores.shape) if masked else case.allowed
    case = fit(replace(case, trans=trans, allowed=allowed))
    got = posterior(case, walk)
    assert_enumerated(got, case)
    assert (got.expected.trans[trans == NEVER] == 0).all()


def only_way_on(score):
    """From label 1 no transition leads to label 2, the only one that is allowed at the end: 0 or 2 come before it,
    `score` below label 1."""
    trans = np.array([[0.5, 0, 1], [0, 1, NEVER], [0.5, 0, 0]])
    scores = np.array([[0.0, 1, 2], [score, 0, score - 1], [0, 0, 0]])
    allowed = np.array([[True] * 3, [True] * 3, [False, False, True]])
    return Case(scores, trans, np.array([3]), allowed=allowed)


@pytest.mark.parametrize("score, wanted", [
    (-300.0, ChainPosterior), (-330.0, ChainPosterior), (-600.0, PatternPosterior), (-800.0, PatternPosterior),
])  # fmt: skip
def test_share_that_vanishes_where_it_is_the_only_way_on(score, wanted):
    case = only_way_on(score)
    assert_walks(case, wanted)
    assert posterior(case).nodes[1, 1] == 0


def test_share_that_vanishes_in_one_sequence_of_several():
    """The hard one in any place of the batch, among shorter and longer ones."""
    hard, rng = only_way_on(-600.0), np.random.default_rng(0)
    for place in range(3):
        lengths = np.insert([2, 5], place, 3)
        scores, allowed = rng.normal(size=(10, 3)), np.ones((10, 3), bool)
        own = slice(lengths[:place].sum(), lengths[:place].sum() + 3)
        scores[own], allowed[own] = hard.scores, hard.allowed
        assert_walks(Case(scores, hard.trans, lengths, allowed=allowed), PatternPosterior)


def test_label_that_cannot_be_reached_may_be_0():
    """A share of 0 is no loss of digits where no prefix can end with the label."""
    trans = np.array([[0.0, NEVER], [0.3, NEVER]])
    assert_walks(Case(np.array([[0.0, 1], [0, 0.5], [0.2, 0]]), trans, np.array([3])), ChainPosterior)


@pytest.mark.parametrize("walk", [None, "patterns"])
@pytest.mark.parametrize("n_tokens, score", [(4, 400.0), (800, 1.0)])
def test_label_that_cannot_be_reached_and_has_high_scores(n_tokens, score, walk):
    """Label 1 can only follow itself and not begin: what comes after it may not overflow."""
    scores, allowed = np.tile([0.0, score], (n_tokens, 1)), np.ones((n_tokens, 2), bool)
    allowed[0, 1] = False
    case = Case(scores, np.array([[0.0, NEVER], [0, 0]]), np.array([n_tokens]), allowed=allowed)
    got = posterior(case, walk)
    assert got.log_z == pytest.approx([0], abs=1e-12)
    np.testing.assert_allclose(got.nodes, np.tile([1.0, 0], (n_tokens, 1)))
    np.testing.assert_allclose(got.expected.trans, [[n_tokens - 1, 0], [0, 0]])


@pytest.mark.parametrize("low", [
    -300.0, -500.0, -735.0, -741.0, -2000.0,
])  # fmt: skip
def test_label_that_cannot_be_reached_far_above_all_others(low):
    """Labels 0 and 1 are all there is, and keep their digits beside label 2."""
    case = Case(np.array([[0.0, 0, 0], [low, low - 1, 0]]), np.zeros((3, 3)), np.array([2]))
    case.trans[:, 2] = NEVER
    assert_enumerated(posterior(case), case)


def test_low_share_and_low_transition_one_after_the_other():
    """Label 0 has a share of e^-440, and the only way on is from there, by a transition of -295."""
    trans = np.array([[-295.0, -296, 0], [NEVER, NEVER, 0], [NEVER, NEVER, 0]])
    case = Case(np.array([[-440.0, 0, 0], [0, 0, 0]]), trans, np.array([2]))
    case = replace(case, allowed=np.array([[True, True, True], [True, True, False]]))
    assert_enumerated(posterior(case), case)


@pytest.mark.long
@pytest.mark.parametrize("walk", ["scaled", "every_step", "logarithmic"])
@pytest.mark.parametrize("representation", ["iob2", "bilou"])
@given(seed=st.integers(0, 99), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_grammar_of_chunks_leaves_the_well_formed_sequences(walk, representation, seed, lengths):
    """The sum over all sequences of tags that are well formed, by their own definition."""
    tags = tag_names(["A", "C"] if representation == "iob2" else ["A"], representation)
    rng = np.random.default_rng(seed)
    n_tokens, n_tags = sum(lengths), len(tags)
    case = Case(rng.normal(0, 2, (n_tokens, n_tags)), rng.normal(size=(n_tags, n_tags)), np.array(lengths))
    rules, allowed = grammar(tags, representation), np.ones(case.scores.shape, bool)
    allowed[case.starts] &= rules.first
    allowed[case.starts + lengths - 1] &= rules.last
    got = posterior(replace(case, trans=np.where(rules.pairs, case.trans, NEVER), allowed=allowed), walk)
    marginals, transitions, log_z = np.zeros(case.scores.shape), np.zeros(case.trans.shape), []
    for start, single in zip(case.starts, case.singles(), strict=True):
        table = oracle.joint_table(single)
        formed = [is_well_formed([tags[y] for y in labels], representation) for labels in table.labellings]
        table = table._replace(scores=np.where(formed, table.scores, NEVER))
        log_z.append(table.log_z)
        marginals[start : start + len(single.scores)] = table.marginals
        transitions += table.transitions
    np.testing.assert_allclose(got.log_z, log_z)
    np.testing.assert_allclose(got.nodes, marginals, atol=1e-12)
    np.testing.assert_allclose(got.expected.trans, transitions, atol=1e-12)


@pytest.mark.parametrize("walk", WALKS)
@given(case=cases(forbidden=False, max_labels=3, max_tokens=3, max_sequences=2))
def test_marginals_are_finite_differences_of_log_z(walk, case):
    case = fit(case.doubles())
    got = posterior(case, walk)

    def log_z_of_scores(scores):
        return posterior(replace(case, scores=scores), walk).log_z.sum()

    def log_z_of_trans(trans):
        return posterior(replace(case, trans=trans), walk).log_z.sum()

    assert oracle.relative_error(got.nodes, oracle.central_differences(log_z_of_scores, case.scores)) < 1e-6
    assert oracle.relative_error(got.expected.trans, oracle.central_differences(log_z_of_trans, case.trans)) < 1e-6


@pytest.mark.parametrize("walk", WALKS)
def test_symmetric_scores_are_uniform(walk):
    n_labels, lengths = 5, np.array([1, 7, 4])
    case = Case(np.full((12, n_labels), 2.5), np.full((n_labels, n_labels), -0.5), lengths)
    got = posterior(case, walk)
    assert got.log_z == pytest.approx(lengths * np.log(n_labels) + 2.5 * lengths - 0.5 * (lengths - 1))
    np.testing.assert_allclose(got.nodes, 1 / n_labels)
    np.testing.assert_allclose(got.expected.trans, (6 + 3) / n_labels**2)


@pytest.mark.parametrize("walk", WALKS)
@given(case=cases(max_sequences=8), data=st.data())
def test_batch_is_the_singles_in_any_order(walk, case, data):
    case = fit(replace(case, trans=np.nan_to_num(case.trans, neginf=-3.0)))
    order = data.draw(st.permutations(range(len(case.lengths))))
    got, parts = posterior(case.take(order), walk), [posterior(case.take([i]), walk) for i in order]
    np.testing.assert_allclose(got.log_z, [part.log_z[0] for part in parts], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got.nodes, np.concatenate([part.nodes for part in parts]), atol=1e-13)
    np.testing.assert_allclose(got.expected.trans, sum(part.expected.trans for part in parts), atol=1e-12)


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("add", [-3000.0, -700.0, 2.0, 700.0, 3000.0])
def test_constants_only_shift_log_z(walk, add):
    rng = np.random.default_rng(1)
    case = Case(rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), np.array([4, 2]))
    before = posterior(case, walk)
    to_row = case.scores.copy()
    to_row[1] += add
    for changed, shift in (
        (replace(case, scores=to_row), np.array([add, 0])),
        (replace(case, trans=case.trans + add), np.array([3 * add, add])),
    ):
        after = posterior(changed, walk)
        assert after.log_z - before.log_z == pytest.approx(shift, abs=1e-9)
        np.testing.assert_allclose(after.nodes, before.nodes, atol=1e-9)
        np.testing.assert_allclose(after.expected.trans, before.expected.trans, atol=1e-9)


@given(case=cases(), data=st.data())
def test_relabelling_commutes(case, data):
    case = fit(case)
    new = np.array(data.draw(st.permutations(range(case.n_labels))))
    before, after = posterior(case), posterior(case.relabelled(new))
    assert after.log_z == pytest.approx(before.log_z)
    np.testing.assert_allclose(after.nodes[:, new], before.nodes, atol=1e-12)
    np.testing.assert_allclose(after.expected.trans[np.ix_(new, new)], before.expected.trans, atol=1e-12)


@pytest.mark.parametrize("walk", WALKS)
def test_labels_that_are_not_allowed_are_summed_out(walk):
    """Two tokens, no transitions: log Z is the sum over what is left, p = 1 where one label is left."""
    case = Case(np.log([[1.0, 3.0, 4.0], [5.0, 2.0, 3.0]]), np.zeros((3, 3)), np.array([2]))
    case = replace(case, allowed=np.array([[True, True, False], [False, True, False]]))
    got = posterior(case, walk)
    assert got.log_z == pytest.approx([np.log((1 + 3) * 2)])
    np.testing.assert_allclose(got.nodes, [[0.25, 0.75, 0], [0, 1, 0]])
    np.testing.assert_allclose(got.expected.trans, [[0, 0.25, 0], [0, 0.75, 0], [0, 0, 0]])


def test_no_permitted_labelling():
    allowed = np.array([[True, True], [True, False], [False, True]])
    case = Case(np.zeros((3, 2)), np.array([[0, -np.inf], [0, 0]]), np.array([1, 2]), allowed=allowed)
    with pytest.raises(ValueError, match=r"\[HS023\] Sequence 1 has no permitted label sequence"):
        posterior(case)


@pytest.mark.parametrize("walk", WALKS)
def test_empty_batch(walk):
    got = posterior(Case(np.zeros((0, 2)), np.zeros((2, 2)), np.zeros(0, np.int64)), walk)
    assert got.log_z.tolist() == [] and got.nodes.shape == (0, 2) and got.expected.trans.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("walk", [None, "patterns"])
@pytest.mark.parametrize("code, change", [
    ("HS020", {"scores": np.array([[0, np.nan], [0, 0]])}),
    ("HS020", {"trans": np.array([[0, np.inf], [0, 0]])}),
    ("HS022", {"allowed": np.array([[True, True], [False, False]])}),
    ("HS024", {"trans": np.zeros((2, 3))}),
    ("HS027", {"lengths": np.array([1])}),
])  # fmt: skip
def test_input_that_is_refused(walk, code, change):
    case = Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2]))
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        posterior(replace(case, **change), walk)


@pytest.mark.parametrize("n", [1, 100, 101, 1000])
def test_products_in_blocks_are_products(n):
    rng = np.random.default_rng(n)
    left = rng.normal(size=(n, 50))
    right = rng.normal(size=(50, 50))
    product = np.empty((n, 50))
    assert module.multiply(left, right, product) is product
    np.testing.assert_allclose(product, np.einsum("nk,kl->nl", left, right), atol=1e-12)
