"""Perceptron and margin losses against enumeration, their gradients against naive counting; gold masks of all kinds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import NoPath, Paths, path_score
from spacy_hoseq.learning import objectives
from spacy_hoseq.learning.adagrad import Additive
from spacy_hoseq.learning.objectives import (
    OBJECTIVES,
    gold_labels,
    log_likelihood,
    max_margin,
    only_labels,
    perceptron,
)
from spacy_hoseq.learning.parameter import Parameter

from ..cases import Case
from ..decoders.answers.posteriors import enumerated_arcs, sequence_of
from ..oracle import central_differences, joint_table, score_of_one
from ..strategies import SEEDS, cases, cases_with_edge_scores
from .gold import KINDS, gold_mask, tables

SMALL = dict(max_labels=3, max_tokens=4, max_sequences=2)


@pytest.mark.long
@pytest.mark.parametrize("objective, margin", [(perceptron, 0.0), (max_margin, 1.0)])
@pytest.mark.parametrize("kind", KINDS)
@given(
    case=cases(masks=False, forbidden=False, configurations=3)
    | cases_with_edge_scores(masks=False, forbidden=False),
    seed=SEEDS,
)
def test_value_is_the_enumerated_one(objective, margin, kind, case, seed):
    gold = gold_mask(case, kind, seed)
    expected = sum(free.best - permitted.best for free, permitted in tables(case, gold, margin))
    got = objective(case.potentials(), gold).value
    assert got == pytest.approx(expected, abs=1e-5) and got >= 0  # float32 scores + margin


@given(case=cases(masks=False, forbidden=False), kind=st.sampled_from(KINDS), seed=SEEDS)
def test_costs_of_wrong_labels_are_those_of_the_right_one(case, kind, seed):
    """Where one label is right; elsewhere they are 1, as without costs."""
    gold = gold_mask(case, kind, seed)
    costs = np.random.default_rng(seed).random((case.n_labels, case.n_labels)).astype(np.float32)
    costs[np.diag_indices(case.n_labels)] = 0
    expected = 0.0
    parts = np.split(gold, case.starts[1:])
    for (free, permitted), part in zip(tables(case, gold), parts, strict=True):
        added = np.zeros(len(free.scores))
        for t, right in enumerate(part):
            one = np.flatnonzero(right)
            is_one = len(one) == 1
            added += [costs[one[0], y[t]] if is_one else 1.0 - right[y[t]] for y in free.labellings]
        expected += (free.scores + added).max(initial=-np.inf) - permitted.best
    got = max_margin(case.potentials(), gold, costs=costs)
    assert got.value == pytest.approx(expected, abs=1e-4)
    ones = 1 - np.eye(case.n_labels, dtype=np.float32)
    losses = [max_margin(case.potentials(), gold, **more) for more in ({}, {"costs": ones})]
    assert losses[0].value == losses[1].value


@pytest.mark.parametrize("objective, margin", [(perceptron, 0.0), (max_margin, 1.0)])
@given(
    case=cases(masks=False, forbidden=False, configurations=3)
    | cases_with_edge_scores(masks=False, forbidden=False),
    kind=st.sampled_from(KINDS),
    seed=SEEDS,
)
def test_gradient_counts_features_of_one_less_the_other(objective, margin, case, kind, seed):
    gold = gold_mask(case, kind, seed)
    pairs = list(tables(case, gold, margin))
    assume(all(free.is_unique and permitted.is_unique for free, permitted in pairs))
    plus = np.concatenate([free.best_labels for free, _ in pairs])
    minus = np.concatenate([permitted.best_labels for _, permitted in pairs])
    got = objective(case.potentials(), gold).gradient
    assert got.scores.dtype in (np.float32, case.scores.dtype) and got.trans.dtype == np.float64
    unit = np.eye(case.n_labels)
    assert got.scores.tolist() == (unit[plus] - unit[minus]).tolist()
    pairs_everywhere = [(a, b) for a in range(case.n_labels) for b in range(case.n_labels)]
    expected = [count(case, plus, pair) - count(case, minus, pair) for pair in pairs_everywhere]
    assert got.trans.reshape(-1).tolist() == expected
    if case.edge_scores is not None:
        assert got.edge_scores.tolist() == (arcs(case, plus) - arcs(case, minus)).tolist()
        return
    assert got.edge_scores is None
    assert got.configuration_weights.tolist() == [
        matched(plus, first, sets) - matched(minus, first, sets)
        for first, sets, _ in case.configurations
    ]
    if not case.patterns and not case.fired:
        assert got.node_weights.tolist() == [] and got.fired_weights.tolist() == []
        return
    trie = case.pattern_scores().trie
    for node in range(trie.n_labels, len(trie)):
        string = trie.string(node)
        assert got.node_weights[node] == count(case, plus, string) - count(case, minus, string)
    assert (got.node_weights[: trie.n_labels] == 0).all()
    at = [count(case, plus, p, token) - count(case, minus, p, token) for token, p, _ in case.fired]
    assert got.fired_weights.tolist() == at


def arcs(case, labels):
    """(N, L, L): 1 at each pair of labels of a sequence, at its later token."""
    found = np.zeros(case.edge_scores.shape)
    later = np.setdiff1d(np.arange(len(labels)), case.starts)
    found[later, labels[later - 1], labels[later]] = 1
    return found


def count(case, labels, string, token=None):
    """How often the string occurs in the sequences; with `token`, whether it ends there."""
    found = 0
    for start, length in zip(case.starts, case.lengths, strict=True):
        for first in range(start, start + length - len(string) + 1):
            last = first + len(string) - 1
            if tuple(labels[first : last + 1].tolist()) == string and token in (None, last):
                found += 1
    return found


def matched(labels, first, sets):
    """1 if all labels of the span lie in their sets."""
    return int(all(labels[first + i] in allowed for i, allowed in enumerate(sets)))


def decode_best_of_each(potentials):
    """A decoder that finds the best label of each token, whatever the others are."""
    labels = potentials.scores.argmax(axis=1).astype(np.int32)
    return Paths(labels, path_score(potentials, labels))


def decode_label_0(potentials):
    """A decoder that finds label 0 everywhere."""
    labels = np.zeros(len(potentials.scores), np.int32)
    return Paths(labels, path_score(potentials, labels))


@pytest.mark.parametrize("decode", [decode_best_of_each, decode_label_0])
@pytest.mark.parametrize("objective, margin", [(perceptron, 0.0), (max_margin, 1.0)])
@given(
    case=cases(masks=False, forbidden=False, signed=True)
    | cases_with_edge_scores(masks=False, forbidden=False),
    kind=st.sampled_from(KINDS),
    seed=SEEDS,
)
def test_guess_below_gold_teaches_nothing(decode, objective, margin, case, kind, seed):
    """With a decoder that is not exact. Every other sequence is what its guess makes it."""
    gold = gold_mask(case, kind, seed)
    got = objective(case.potentials(), gold, decode)
    wrong = (margin * ~gold).astype(np.float32)
    guess = decode(case.potentials()._replace(scores=case.scores + wrong)).labels
    reference = gold_labels(case.potentials(), gold)
    value, d_scores, d_trans = 0.0, np.zeros(case.scores.shape), np.zeros(case.trans.shape)
    d_fired = []
    eye = np.eye(case.n_labels)
    for i, single in enumerate(case.singles()):
        at = slice(case.starts[i], case.starts[i] + case.lengths[i])
        plus, minus = guess[at], reference[at]
        cost = wrong[at][np.arange(len(plus)), plus].sum()
        violation = score_of_one(single, plus) + cost - score_of_one(single, minus)
        taught = violation >= 0
        if taught:
            value += violation
            d_scores[at] = eye[plus] - eye[minus]
            np.add.at(d_trans, (plus[:-1], plus[1:]), 1)
            np.add.at(d_trans, (minus[:-1], minus[1:]), -1)
        each = [(one, t) for t, one, _ in single.fired]
        differ = [count(single, plus, *one) - count(single, minus, *one) for one in each]
        d_fired += differ if taught else []
    assume(abs(value) > 1e-4 or value == 0)
    assert got.value == pytest.approx(value, abs=1e-4)
    assert got.gradient.scores.tolist() == d_scores.tolist()
    assert got.gradient.trans.tolist() == d_trans.tolist()
    assert case.edge_scores is not None or got.gradient.fired_weights.sum() == sum(d_fired)


def test_inexact_decoder_worked_out_by_hand():
    """The guess is 0,0 with 1 in both sequences. Gold 1,1 has 3: the guess is below it, and that would teach to lower
    what is right. Gold 0,1 of the other has 0.5."""
    scores = np.array([[1.0, 0.0], [0.0, -0.5]] * 2, np.float32)
    case = Case(scores, np.zeros((2, 2)), np.array([2, 2]), fired=((1, (1, 1), 3.0),))
    gold = mask_of([1, 1, 0, 1], 2)
    loss = perceptron(case.potentials(), gold, decode_label_0)
    assert loss.value == pytest.approx(0.5)
    assert loss.gradient.scores.tolist() == [[0, 0], [0, 0], [0, 0], [1, -1]]
    assert loss.gradient.trans.tolist() == [[1, -1], [0, 0]]
    assert loss.gradient.fired_weights.tolist() == [0]
    assert perceptron(case.potentials(), gold).value == pytest.approx(0.5)  # exact: 1,1 is found


@pytest.mark.parametrize("objective", [perceptron, max_margin, log_likelihood])
@given(case=cases(masks=False, forbidden=False, rounded=True), kind=st.sampled_from(KINDS[:2]))
def test_sequences_without_annotation_contribute_nothing(objective, case, kind):
    """Ties included: the best labelling of such a sequence is also its best permitted one. Of a likelihood, two
    marginals are subtracted that two walks computed, so that a last bit may differ."""
    annotated = gold_mask(case, kind)
    annotated[case.starts[-1] :] = True  # nothing is known of the last sequence
    got = objective(case.potentials(), annotated)
    of_last = got.gradient.scores[case.starts[-1] :]
    assert_allclose(of_last, 0, rtol=0, atol=1e-14 if objective is log_likelihood else 0)
    others = list(range(len(case.lengths) - 1))
    alone = None
    if others:
        alone = objective(case.take(others).potentials(), annotated[: case.starts[-1]])
    assert got.value == pytest.approx(alone.value if others else 0.0, abs=1e-5)
    expected = alone.gradient.trans if others else np.zeros_like(case.trans)
    assert_allclose(got.gradient.trans, expected, atol=1e-9)


def four_token_case():
    """Best labelling 0, 1, 1, 2 with 2 + 2 + 2 + 2 + 0.5; 3 labels, the transition 1 -> 1 earns 0.5."""
    scores = np.array([[2.0, 0, 0], [0, 2.0, 1.25], [0, 2.0, 0], [0, 1.25, 2.0]], np.float32)
    trans = np.zeros((3, 3))
    trans[1, 1] = 0.5
    return Case(scores, trans, np.array([4]))


def mask_of(labels, n_labels=3):
    return np.eye(n_labels, dtype=bool)[labels]


def test_no_update_where_the_guess_is_right():
    case = replace(four_token_case(), patterns=(((1, 1, 2), 0.25),), fired=((2, (0, 1, 1), 0.25),))
    loss = perceptron(case.potentials(), mask_of([0, 1, 1, 2]))
    assert loss.value == 0
    assert not any(np.asarray(part).any() for part in loss.gradient)


def test_perceptron_loss_worked_out_by_hand():
    """Gold 0, 2, 1, 2 has 2 + 1.25 + 2 + 2 = 7.25 against 8.5."""
    loss = perceptron(four_token_case().potentials(), mask_of([0, 2, 1, 2]))
    assert loss.value == pytest.approx(1.25)
    assert loss.gradient.scores.tolist() == [[0, 0, 0], [0, 1, -1], [0, 0, 0], [0, 0, 0]]
    assert loss.gradient.trans.tolist() == [[0, 1, -1], [0, 1, 0], [0, -1, 0]]


def test_margin_worked_out_by_hand():
    """Gold 0, 1, 1, 2 is best with 8.5, but a wrong label earns 1: 0, 1, 1, 1 has 2 + 2 + 2 + 1.25 + 2 * 0.5 + 1."""
    loss = max_margin(four_token_case().potentials(), mask_of([0, 1, 1, 2]))
    assert objectives.MARGIN == 1 and loss.value == pytest.approx(9.25 - 8.5)
    assert loss.gradient.scores.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, -1]]
    assert loss.gradient.trans.tolist() == [[0, 0, 0], [0, 1, -1], [0, 0, 0]]


@pytest.mark.parametrize("objective", [perceptron, max_margin])
def test_annotation_that_rules_out_one_label(objective):
    """Token 1 is "not label 1": gold becomes the best of the others, 0, 2, 1, 2."""
    gold = np.ones((4, 3), bool)
    gold[1, 1] = False
    case = four_token_case()
    assert gold_labels(case.potentials(), gold).tolist() == [0, 2, 1, 2]
    loss = objective(case.potentials(), gold)
    assert loss.value == pytest.approx(1.25 + (objective is max_margin))
    assert loss.gradient.scores.tolist() == [[0, 0, 0], [0, 1, -1], [0, 0, 0], [0, 0, 0]]


def test_three_perceptron_steps_worked_out_by_hand():
    """Two words, labels A = 0 and B = 1: "w0 w1" with gold A B, then "w1 w0" with gold A A, then the first again.

    1. All weights are 0: the guess is A A (ties: lowest label). Update w1: A -1, B +1; A->A -1, A->B +1.
    2. "w1 w0": A A has -1 - 1, A B has -1 + 1, B A and B B have 1. The lower label at the end decides for B A. Gold is
       A A. Update w1: A +1, B -1; B->A -1, A->A +1.
    3. "w0 w1": w0 and w1 are 0 again; A B has 1 through A->B and is the guess: right, no update.
    """
    sentences = [([0, 1], [0, 1]), ([1, 0], [0, 0]), ([0, 1], [0, 1])]
    emit, trans = (Parameter(name, np.zeros((2, 2))) for name in ("emit", "trans"))
    guesses = []
    for words, gold in sentences:
        potentials = Case(emit.values[words], trans.values, np.array([2])).potentials()
        guesses.append(decode_exact(potentials).labels.tolist())
        gradient = perceptron(potentials, mask_of(gold, 2)).gradient
        emit.update(Additive(), [(np.array(words), gradient.scores)])
        trans.update(Additive(), [(np.arange(2), gradient.trans)])
    assert guesses == [[0, 0], [1, 0], [0, 1]]
    assert emit.values.tolist() == [[0, 0], [0, 0]] and trans.values.tolist() == [[0, 1], [-1, 0]]
    assert emit.average() == pytest.approx(np.array([[0, 0], [-1 / 3, 1 / 3]]))
    assert trans.average() == pytest.approx(np.array([[-1 / 3, 1], [-2 / 3, 0]]))


@pytest.mark.parametrize("name", ["perceptron", "max_margin", "log_likelihood"])
def test_objective_by_name(name):
    assert OBJECTIVES[name] is getattr(objectives, name)


@pytest.mark.parametrize("objective", [perceptron, max_margin, log_likelihood])
def test_token_at_which_no_label_is_right(objective):
    gold = mask_of([0, 1, 1, 2])
    gold[2] = False
    with pytest.raises(ValueError, match=r"\[HS022\] No label is allowed at token 2"):
        objective(four_token_case().potentials(), gold)


def possible(case, kind, seed):
    """Gold within `allowed`, with at least one labelling that uses no forbidden transition."""
    rng = np.random.default_rng(seed)
    gold = gold_mask(case, kind, seed) & (kind != "complete")
    if case.allowed is not None:
        gold &= case.allowed
    for start, single in zip(case.starts.tolist(), case.singles(), strict=True):
        table = joint_table(single)
        ways = table.labellings[np.isfinite(table.scores)]
        assume(len(ways))
        way = ways[rng.integers(len(ways))]
        gold[start + np.arange(len(way)), way] = True
    return gold


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective, margin", [(perceptron, 0.0), (max_margin, 1.0)])
@given(case=cases(configurations=1, **SMALL) | cases_with_edge_scores(**SMALL), seed=SEEDS)
def test_only_allowed_labellings_compete(objective, margin, kind, case, seed):
    """Value and gradient, with forbidden transitions too."""
    gold = possible(case, kind, seed)
    pairs = list(tables(case, gold, margin))
    got = objective(case.potentials(), gold)
    loss = sum(free.best - permitted.best for free, permitted in pairs)
    assert got.value == pytest.approx(loss, abs=1e-4)
    assert got.value >= 0
    assume(all(free.is_unique and permitted.is_unique for free, permitted in pairs))
    plus = np.concatenate([free.best_labels for free, _ in pairs])
    minus = np.concatenate([permitted.best_labels for _, permitted in pairs])
    unit = np.eye(case.n_labels)
    assert got.gradient.scores.tolist() == (unit[plus] - unit[minus]).tolist()
    every = [(a, b) for a in range(case.n_labels) for b in range(case.n_labels)]
    d_trans = [count(case, plus, pair) - count(case, minus, pair) for pair in every]
    assert got.gradient.trans.reshape(-1).tolist() == d_trans


@pytest.mark.parametrize("kind", KINDS)
@given(
    case=cases(configurations=2, strong=False, signed=True, **SMALL)
    | cases_with_edge_scores(**SMALL),
    seed=SEEDS,
)
def test_log_likelihood_is_of_all_allowed_labellings(kind, case, seed):
    case = case.doubles()
    gold = possible(case, kind, seed)
    pairs = list(tables(case, gold))
    got = log_likelihood(case.potentials(), gold)
    expected = sum(free.log_z - permitted.log_z for free, permitted in pairs)
    assert got.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    marginals = np.concatenate([free.marginals - permitted.marginals for free, permitted in pairs])
    assert_allclose(got.gradient.scores, marginals, atol=1e-8)
    transitions = sum(free.transitions - permitted.transitions for free, permitted in pairs)
    assert_allclose(got.gradient.trans, transitions, atol=1e-8)
    assert not got.gradient.trans[case.trans == -np.inf].any()
    if case.edge_scores is not None:
        expected = enumerated_arcs(case) - enumerated_arcs(replace(case, allowed=gold))
        assert_allclose(got.gradient.edge_scores, expected, atol=1e-8)
        return
    trie = case.pattern_scores().trie
    strings = [trie.string(node) for node in range(trie.n_labels, len(trie))]
    expected = [sum(a.expected_count(p) - b.expected_count(p) for a, b in pairs) for p in strings]
    assert_allclose(got.gradient.node_weights[trie.n_labels :], expected, atol=1e-8)
    assert not got.gradient.node_weights[: trie.n_labels].any()
    for (token, string, _), mine in zip(case.fired, got.gradient.fired_weights, strict=True):
        i = sequence_of(case, token)
        at = [token - case.starts[i]]
        free, permitted = (table.expected_count(string, at) for table in pairs[i])
        assert mine == pytest.approx(free - permitted, abs=1e-8)
    weights = zip(case.configurations, got.gradient.configuration_weights, strict=True)
    for (first, sets, _), mine in weights:
        i = sequence_of(case, first)
        free, permitted = (table.expected_match(first - case.starts[i], sets) for table in pairs[i])
        assert mine == pytest.approx(free - permitted, abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("name", objectives.OBJECTIVES)
@pytest.mark.parametrize("kind", ["complete", "mixed"])
@given(
    case=cases_with_edge_scores(
        max_tokens=3, max_labels=3, max_sequences=2, masks=False, forbidden=False
    ),
    seed=SEEDS,
)
def test_gradient_is_that_of_finite_differences(kind, name, case, seed):
    case, gold = case.doubles(), gold_mask(case, kind, seed)
    is_smooth = name in ("log_likelihood", "distillation")
    if not is_smooth:  # where two labellings are equally good
        pairs = tables(case, gold, float(name == "max_margin"))
        assume(all(table.is_unique for pair in pairs for table in pair))
    if name == "distillation":  # constant where a probability has no logarithm
        free = np.concatenate([table.marginals for table, _ in tables(case, gold)])
        assume((free[gold] > 1e-290).all())

    def value(**changed):
        return OBJECTIVES[name](replace(case, **changed).potentials(), gold).value

    got = OBJECTIVES[name](case.potentials(), gold).gradient
    step = 1e-5 if is_smooth else 1e-8
    for field in ("scores", "trans", "edge_scores"):
        numeric = central_differences(
            lambda moved, of=field: value(**{of: moved}), getattr(case, field), step
        )
        assert_allclose(getattr(got, field), numeric, atol=1e-5)


def test_allowed_labels_worked_out_by_hand():
    """Gold 0, 2, 1, 2 has 7.25. Without label 1 at token 1 nothing is better; with the margin 0, 2, 1, 1 has 8."""
    allowed = np.ones((4, 3), bool)
    allowed[1, 1] = False
    potentials, gold = four_token_case().potentials(), mask_of([0, 2, 1, 2])
    some = potentials._replace(allowed=allowed)
    assert perceptron(potentials, gold).value == pytest.approx(1.25)
    assert perceptron(some, gold).value == 0
    # 0, 1, 1, 1: 7.75 + 0.5 + 2
    assert max_margin(potentials, gold).value == pytest.approx(9.5 + 0.75 - 7.25)
    assert max_margin(some, gold).value == pytest.approx(0.75)  # 0, 2, 1, 1: 6.5 + 0.5 + 1


@pytest.mark.parametrize("objective", [perceptron, max_margin, log_likelihood])
def test_gold_that_uses_a_forbidden_transition(objective):
    """In the second sequence; complete, or with a choice that does not help."""
    trans = np.zeros((3, 3))
    trans[1, 2] = trans[0, 2] = -np.inf
    potentials = Case(np.zeros((5, 3)), trans, np.array([2, 3])).potentials()
    gold = mask_of([1, 1, 2, 1, 2])
    for choice in (1, 0):
        gold[3, choice] = True
        with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1 has no permitted label sequence"):
            objective(potentials, gold)
    gold[3, 2] = True
    assert np.isfinite(objective(potentials, gold).value)


@pytest.mark.parametrize("objective", [perceptron, max_margin, log_likelihood])
def test_forbidden_transition_between_sequences_is_none(objective):
    """Gold 1 | 2, where 1 -> 2 is forbidden."""
    trans = np.zeros((3, 3))
    trans[1, 2] = -np.inf
    potentials = Case(np.zeros((2, 3)), trans, np.array([1, 1])).potentials()
    loss = objective(potentials, mask_of([1, 2]))
    expected = {perceptron: 0.0, max_margin: 2.0, log_likelihood: 2 * np.log(3)}
    assert loss.value == pytest.approx(expected[objective]) and not loss.gradient.trans.any()


def test_masks_of_one_label_a_token():
    one = np.eye(3, dtype=bool)[[2, 0, 0]]
    assert only_labels(one).tolist() == [2, 0, 0] and only_labels(one).dtype == np.int32
    partly, nothing = one.copy(), one.copy()
    partly[1, 1] = True
    # as many labels as tokens, but two at one and none at another
    nothing[1, 0], nothing[2, 1] = (False, True)
    assert only_labels(partly) is None and only_labels(nothing) is None
    assert only_labels(np.zeros((0, 3), bool)).tolist() == []
