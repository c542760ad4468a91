"""Easiest-first, against the algorithm of the paper: one sentence and one decision at a time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.bidirectional.easiest_first import decision_order, decode_easiest_first
from spacy_hoseq.decoders.bidirectional.local import EasiestPath
from spacy_hoseq.decoders.problem import TUNING

from .local_cases import (
    REALS,
    SHARP,
    TIES,
    UNSEEN,
    Local,
    LocalCase,
    RandomLocal,
    local_cases,
    plain_easiest_first,
    random_case,
    random_rows,
)

either = pytest.mark.parametrize("hardest", [False, True])
any_order = pytest.mark.parametrize("order", [1, 2])


IN_ROUNDS, AS_SHORT = TUNING._replace(short_queries=0), TUNING._replace(short_queries=1 << 30)


def decode(case, hardest=False, tuning=IN_ROUNDS):
    kwargs = {"allowed": case.allowed, "hardest": hardest, "tuning": tuning}
    return decode_easiest_first(case.local, case.lengths, case.order, **kwargs)


def order_of(case, hardest=False):
    return decision_order(decode(case, hardest), hardest=hardest).tolist()


def assert_same(one, other):
    """All decisions; their probabilities but for rounding."""
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        if a.dtype.kind == "f":
            assert_allclose(a, b, rtol=1e-11, atol=0)
        else:
            assert a.tolist() == b.tolist()


def assert_plain(case, hardest):
    path = decode(case, hardest)
    assert_same(decode(case, hardest, AS_SHORT), path)
    order = decision_order(path, hardest=hardest)
    assert path.labels.dtype == order.dtype == np.int32
    assert path.log_probabilities.dtype == np.float64
    plain = [plain_easiest_first(single, hardest) for single in case.singles()]
    assert case.parts(path.labels) == [one.labels for one in plain]
    assert case.parts(order) == [one.order for one in plain]
    first = np.repeat(case.starts, case.lengths)
    earlier = np.where(path.earlier < 0, -1, path.earlier - first)
    assert case.parts(earlier) == [one.earlier for one in plain]
    expected = [value for one in plain for value in one.log_probabilities]
    assert_allclose(path.log_probabilities, expected, rtol=1e-11, atol=0)


@pytest.mark.parametrize("kind", [REALS, SHARP, TIES])
@either
@any_order
def test_a_few_random_cases_are_the_plain_algorithm(order, hardest, kind):
    rng = np.random.default_rng(order)
    for n_tokens in (1, 2, 5, 9, 14):
        lengths = [n_tokens, int(rng.integers(1, 5))]
        n_labels, masks = int(rng.integers(2, 6)), bool(rng.random() < 0.4)
        assert_plain(random_case(rng, lengths, n_labels, order, kind, masks), hardest)


@pytest.mark.long
@pytest.mark.parametrize("kind", [REALS, SHARP, TIES])
@either
@any_order
def test_random_cases_are_the_plain_algorithm(order, hardest, kind):
    rng = np.random.default_rng(order)
    for _ in range(400):
        masks, n_labels = rng.random() < 0.4, int(rng.integers(1, 6))
        longest = int(rng.choice([3, 8, 20, 40], p=[0.4, 0.3, 0.2, 0.1]))
        lengths = rng.integers(1, longest + 1, rng.integers(1, 5)).tolist()
        assert_plain(random_case(rng, lengths, n_labels, order, kind, masks), hardest)


@either
@any_order
@pytest.mark.parametrize("n_labels", [1, 3])
def test_all_equal_goes_from_left_to_right_with_label_zero(order, hardest, n_labels):
    case = LocalCase(RandomLocal([[0.5] * n_labels], range(9), order), np.array([1, 6, 2]))
    path = decode(case, hardest)
    assert path.labels.tolist() == [0] * 9
    assert order_of(case, hardest) == [1, 1, 2, 3, 4, 5, 6, 1, 2]
    assert path.earlier.tolist() == [-1, -1, 1, 2, 3, 4, 5, -1, 7]
    assert_allclose(path.log_probabilities, -np.log(n_labels), atol=1e-15)


class Shuffled(Local):
    """The same scores at every token, whatever is known, for other labels."""

    def __init__(self, n_tokens, n_labels, order, seed):
        super().__init__(n_tokens, n_labels, order)
        rng = np.random.default_rng(seed)
        scores = rng.normal(0, 3, n_labels)
        self.rows = [rng.permutation(scores).tolist() for _ in range(n_tokens)]

    def row(self, token, seen):
        return self.rows[token]


@either
@any_order
@pytest.mark.parametrize("n_labels", [3, 23])
def test_equal_sums_in_another_order_are_ties(order, hardest, n_labels):
    """Which label has which score changes the order in which probabilities are added up, and so their last digits."""
    orders = set()
    for seed in range(10):
        local = Shuffled(30, n_labels, order, seed)
        case = LocalCase(local, np.array([30]))
        path = decode(case, hardest)
        assert_same(decode(case, hardest, AS_SHORT), path)
        assert path.labels.tolist() == [row.index(max(row)) for row in local.rows]
        assert decision_order(path, hardest=hardest).tolist() == list(range(1, 31))
        assert path.earlier.tolist() == list(range(-1, 29))
        orders.add(tuple(np.argsort(-path.log_probabilities, kind="stable").tolist()))
    assert len(orders) > 1 or n_labels == 3


@any_order
def test_equal_sums_on_both_sides_of_a_decision(order):
    """The sure token in the middle is first, which leaves two texts of ties: they go on from left to right."""
    for seed in range(5):
        local = Shuffled(30, 23, order, seed)
        local.rows[15] = [30.0, *[0.0] * 22]
        assert order_of(LocalCase(local, np.array([30]))) == [*range(2, 17), 1, *range(17, 31)]


@pytest.mark.parametrize("hardest, sign", [(False, -1), (True, 1)])
@pytest.mark.parametrize("apart, order", [(4e-16, [2, 1, 3]), (1e-9, [3, 1, 2])])
def test_order_of_probabilities_that_are_equal_but_for_rounding(hardest, sign, apart, order):
    values = np.array([-1.0, -0.5, -1.0 - sign * apart])
    path = EasiestPath(np.zeros(3, np.int32), values, np.array([1, -1, 1]))
    assert decision_order(path, hardest=hardest).tolist() == order


def test_probabilities_near_one_are_kept_apart():
    """1 - e^-50 and 1 - e^-60 are both 1.0 in floating point."""

    class Sure(Local):
        def row(self, token, seen):
            return [0.0, [50.0, 60.0, 55.0][token]]

    case = LocalCase(Sure(3, 2, 1), np.array([3]))
    assert order_of(case) == [3, 1, 2] and order_of(case, hardest=True) == [1, 3, 2]
    p = decode(case).log_probabilities
    assert_allclose(p, -np.exp([-50.0, -60.0, -55.0]), rtol=1e-12)


@either
@given(case=local_cases(max_tokens=12, max_sequences=6), data=st.data())
def test_batch_is_the_singles_in_any_order(hardest, case, data):
    sequences = data.draw(st.permutations(range(len(case.lengths))))
    batch, parts = case.take(sequences), [case.take([s]) for s in sequences]
    path, single = decode(batch, hardest), [decode(part, hardest) for part in parts]
    assert path.labels.tolist() == np.concatenate([one.labels for one in single]).tolist()
    expected = np.concatenate([one.log_probabilities for one in single])
    assert_allclose(path.log_probabilities, expected, rtol=1e-12, atol=0)
    assert order_of(batch, hardest) == sum([order_of(part, hardest) for part in parts], [])


@either
@given(case=local_cases(max_tokens=12), add=st.sampled_from([-900, -3, 2.5, 700]), data=st.data())
def test_constant_added_to_a_token(hardest, case, add, data):
    changed = case.raised(data.draw(st.integers(0, case.local.n_tokens - 1)), add)
    before, after = decode(case, hardest), decode(changed, hardest)
    assert after.labels.tolist() == before.labels.tolist()
    assert order_of(changed, hardest) == order_of(case, hardest)
    assert_allclose(after.log_probabilities, before.log_probabilities, rtol=1e-9, atol=0)


@any_order
@either
def test_empty_batch(order, hardest):
    case = LocalCase(RandomLocal([[0.0, 1.0]], [], order), np.zeros(0, np.int64))
    path = decode(case, hardest)
    assert path.labels.tolist() == path.log_probabilities.tolist() == path.earlier.tolist() == []
    assert order_of(case, hardest) == []


@any_order
def test_arguments_are_not_changed(order):
    case = random_case(np.random.default_rng(2), [4, 5], 3, order, masks=True)
    case.allowed.flags.writeable = case.lengths.flags.writeable = False  # writing would raise
    path, again = decode(case), decode(case)
    assert path.labels.tolist() == again.labels.tolist()
    assert case.allowed[np.arange(9), path.labels].all()
    path.log_probabilities.flags.writeable = path.earlier.flags.writeable = False
    assert sorted(decision_order(path).tolist()) == [1, 1, 2, 2, 3, 3, 4, 4, 5]


def broken(case, value, mask):
    """A value at the first token of the last label, in the classifier `mask`."""

    class Broken(Local):
        def row(self, token, seen):
            here = token == 0 and sum(1 << j for j, y in enumerate(seen) if y != UNSEEN) == mask
            return [0.0, value] if here else [0.0, 1.0]

    return replace(case, local=Broken(case.local.n_tokens, 2, case.order))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("mask", [1, 3])
def test_scores_must_be_finite(value, mask):
    """When nothing but the end is known (2 tokens: 4 scores), and when the neighbour is (1 token)."""
    case = broken(LocalCase(Local(2, 2, 1), np.array([2])), value, mask)
    case = replace(case, allowed=np.array([[True, True], [False, True]]))  # so token 1 is the first
    match = rf"\[HS020\] 1 of {4 if mask == 1 else 2} .* first at token 0, label 1"
    with pytest.raises(ValueError, match=match):
        decode(case)


WRONG = [
    (dict(order=0), r"\[HS027\] Wrong order: 0\."),
    (dict(order=3), r"\[HS027\] Wrong order: 3\."),
    (dict(lengths=np.array([3])), r"\[HS027\] Wrong lengths: \[3\].*add up to 4"),
    (dict(lengths=np.array([0, 4])), r"\[HS027\] Wrong lengths: \[0, 4\].*add up to 4"),
    (dict(lengths=np.array([5, -1])), r"\[HS027\] Wrong lengths: \[5, -1\]"),
    (
        dict(allowed=np.ones((4, 2), bool)),
        r"\[HS024\] Wrong shape of allowed: got \(4, 2\), expected \(4, 3\)\.",
    ),
    (
        dict(allowed=np.ones((3, 3), bool)),
        r"\[HS024\] Wrong shape of allowed: got \(3, 3\), expected \(4, 3\)\.",
    ),
    (
        dict(allowed=np.arange(4)[:, None] % 3 != [2, 2, 2]),
        r"\[HS022\] No label is allowed at token 2\.",
    ),
]


@pytest.mark.parametrize("wrong, match", WRONG)
def test_errors(wrong, match):
    arguments = {"lengths": np.array([1, 3]), "order": 1, "allowed": None, **wrong}
    local = RandomLocal(random_rows(np.random.default_rng(0), 3, REALS), range(4), 1)
    with pytest.raises(ValueError, match=match):
        decode_easiest_first(local, **arguments)
    assert local.calls == []
