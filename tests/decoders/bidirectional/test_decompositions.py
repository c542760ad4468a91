"""The best of the decompositions, against enumeration of labels and of directions without cycles."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.bidirectional import decompositions as module
from spacy_hoseq.decoders.bidirectional.decompositions import classifiers_of, decode_decompositions
from spacy_hoseq.decoders.bidirectional.easiest_first import decode_easiest_first
from spacy_hoseq.decoders.problem import Tuning

from .local_cases import (
    DECOMPOSITIONS,
    EXACT,
    OFFSETS,
    REALS,
    UNSEEN,
    Local,
    LocalCase,
    RandomLocal,
    enumerated,
    local_cases,
    random_case,
    random_rows,
)

strategies = pytest.mark.parametrize("strategy", DECOMPOSITIONS)
any_order = pytest.mark.parametrize("order", [1, 2])


def decode(case, strategy, prune=0.0, **limits):
    more = {"prune": prune, "allowed": case.allowed, **limits}
    return decode_decompositions(case.local, case.lengths, case.order, strategy, **more)


def assert_enumerated(case, strategy, prune):
    paths = decode(case, strategy, prune)
    assert paths.labels.dtype == np.int32 and paths.scores.dtype == np.float64
    for single, labels, score in case.results(paths):
        best = max(enumerated(single, strategy, prune), key=lambda one: one.score)
        assert labels == best.labels
        assert score == pytest.approx(best.score, rel=1e-11, abs=1e-12)


@strategies
@given(case=local_cases())
def test_best_of_all_labels_and_decompositions(strategy, case):
    assert_enumerated(case, strategy, 0.0)


@strategies
@given(case=local_cases(), prune=st.sampled_from([1e-3, 0.1, 0.5, 1.0]))
def test_best_of_the_labels_that_pruning_leaves(strategy, case, prune):
    """Probabilities stay those among all allowed labels."""
    assert_enumerated(case, strategy, prune)


def tie_key(labels, sees, order, left):
    """Least at the labelling that is found: the mode after the last token, the `left` last labels from the left, then
    going back the label that leaves the window and the mode before. A mode is the directions of the pairs that reach
    beyond its token, by their ends from left to right; 0 if the right one sees the left one."""
    n = len(labels)

    def mode(i):
        pairs = [(i, i + 1)] if order == 1 else [(i - 1, i + 1), (i, i + 1), (i, i + 2)]
        return [0 if i < 0 else int(a >= 0 and (b >= n or b in sees[a])) for a, b in pairs]

    if left is None:
        return labels[::-1]
    key = [mode(n - 1), labels[-left:]]
    for i in range(n - 1, -1, -1):
        key += [labels[i - left : i - left + 1] if i >= left else [], mode(i - 1)]
    return key


@pytest.mark.long
@strategies
@any_order
def test_ties(strategy, order):
    rng = np.random.default_rng(order)
    for _ in range(100):
        case = random_case(rng, [int(rng.integers(1, 6)), 5], 2, order, EXACT)
        paths = decode(case, strategy)
        for single, labels, score in case.results(paths):
            found = enumerated(single, strategy)
            best = max(one.score for one in found)
            left = None if strategy == "right_to_left" else order
            ties = [one for one in found if one.score == best]
            first = min(tie_key(one.labels, one.sees, order, left) + [one.labels] for one in ties)
            assert (labels, score) == (first[-1], best)


@pytest.mark.long
@pytest.mark.parametrize("prune", [0.0, 0.3])
@strategies
@given(case=local_cases(max_tokens=7, max_sequences=6), data=st.data())
def test_batch_is_the_singles_in_any_order(strategy, prune, case, data):
    sequences = data.draw(st.permutations(range(len(case.lengths))))
    paths = decode(case.take(sequences), strategy, prune)
    parts = [decode(case.take([s]), strategy, prune) for s in sequences]
    assert paths.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
    scores = [part.scores[0] for part in parts]
    assert_allclose(paths.scores, scores, rtol=1e-12, atol=1e-14)


@pytest.mark.long
@strategies
@given(
    case=local_cases(max_tokens=7, max_sequences=6),
    prune=st.sampled_from([0.0, 0.3]),
    block=st.sampled_from([0, 1, 7, 40]),
    cells=st.sampled_from([0, 1, 30, 200]),
)
def test_blocks_change_nothing(strategy, case, prune, block, cells):
    whole = decode(case, strategy, prune)
    case.local.calls.clear()
    parts = decode(case, strategy, prune, tuning=Tuning(block_scores=block, search_cells=cells))
    for call in case.local.calls:
        assert len(call) * case.local.n_labels <= block or len({token for token, _ in call}) == 1
    assert parts.labels.tolist() == whole.labels.tolist()
    assert_allclose(parts.scores, whole.scores, rtol=1e-12, atol=1e-14)


@pytest.mark.long
@strategies
@given(case=local_cases(), add=st.sampled_from([-900.0, -3.0, 2.5, 700.0]), data=st.data())
def test_constant_added_to_a_token(strategy, case, add, data):
    changed = case.raised(data.draw(st.integers(0, case.local.n_tokens - 1)), add)
    for prune in (0.0, 0.3):
        before, after = decode(case, strategy, prune), decode(changed, strategy, prune)
        assert after.labels.tolist() == before.labels.tolist()
        assert_allclose(after.scores, before.scores, rtol=1e-9, atol=1e-11)


@strategies
@any_order
@pytest.mark.parametrize("prune", [0.0, 0.5])
def test_empty_batch_and_one_label(strategy, order, prune):
    empty = LocalCase(RandomLocal([[0.0, 1.0]], [], order), np.zeros(0, np.int64))
    paths = decode(empty, strategy, prune)
    assert paths.labels.tolist() == paths.scores.tolist() == []
    case = LocalCase(RandomLocal([[-7.0], [3.0]], range(6), order), np.array([1, 3, 2]))
    paths = decode(case, strategy, prune)
    assert paths.labels.tolist() == [0] * 6 and paths.scores.tolist() == [0, 0, 0]


@pytest.mark.parametrize("strategy", ["left_to_right", "right_to_left"])
@any_order
def test_one_way_of_a_long_sequence_is_viterbi(strategy, order):
    case = random_case(np.random.default_rng(order), [60], 2, order)
    expected = pytest.approx(one_way(case.local, strategy == "right_to_left"), rel=1e-11)
    assert decode(case, strategy).scores[0] == expected


def one_way(local, backwards):
    """The best sum of log p(y_i | the k labels before), forwards or backwards."""
    k, tokens = local.order, range(local.n_tokens)
    scores = {(local.n_labels + backwards,) * k: 0.0}  # best so far by the last k labels
    for i in reversed(tokens) if backwards else tokens:
        reached = {}
        for last, score in scores.items():
            row = local.row(i, (UNSEEN,) * k + last[::-1] if backwards else last + (UNSEEN,) * k)
            for y, value in enumerate(row):
                state, total = (*last[1:], y), score + value - np.logaddexp.reduce(row)
                reached[state] = max(reached.get(state, -np.inf), total)
        scores = reached
    return max(scores.values())


@pytest.mark.parametrize("hardest", [False, True])
@given(case=local_cases(max_tokens=30))
def test_easiest_first_is_one_of_the_decompositions(hardest, case):
    settings = {"allowed": case.allowed, "hardest": hardest}
    path = decode_easiest_first(case.local, case.lengths, case.order, **settings)
    best = decode(case, "full_bidirectional").scores
    assert (best >= [sum(part) - 1e-9 for part in case.parts(path.log_probabilities)]).all()


@strategies
@any_order
@pytest.mark.parametrize("prune", [0.0, 0.2])
def test_classifiers_of_is_what_is_asked(strategy, order, prune):
    masks = {
        ("left_to_right", 1): {0b01},
        ("left_to_right", 2): {0b0011},
        ("right_to_left", 1): {0b10},
        ("right_to_left", 2): {0b1100},
        ("dependency_network", 1): {0b11},
        ("dependency_network", 2): {0b1111},
        ("full_bidirectional", 1): set(range(4)),
        ("full_bidirectional", 2): set(range(16)),
    }[strategy, order] | ({0} if prune else set())
    assert classifiers_of(strategy, order, prune) == tuple(sorted(masks))
    case = random_case(np.random.default_rng(0), [5, 1, 2], 2, order)
    decode(case, strategy, prune)
    assert case.local.masks == masks


@any_order
@strategies
@pytest.mark.parametrize("prune", [0.0, 0.2])
def test_ends_of_the_sequence_are_known(strategy, order, prune):
    """A slot beyond the ends holds the label of that end or is not seen; with directions to choose it is always seen.
    p(y | o), for pruning, sees nothing."""
    case = random_case(np.random.default_rng(0), [1, 4, 2], 2, order)
    decode(case, strategy, prune)
    place = [(0, 1), *((i, 4) for i in range(4)), *((i, 2) for i in range(2))]
    asked = case.local.asked
    if prune:
        assert asked[:7] == [(token, (UNSEEN,) * 2 * order) for token in range(7)]
        asked = asked[7:]
    seen_beyond = Counter()
    for token, seen in asked:
        i, n = place[token]
        for offset, y in zip(OFFSETS[order], seen, strict=True):
            if 0 <= i + offset < n:
                assert y < 2
            else:
                seen_beyond[y != UNSEEN] += 1
                assert y in (UNSEEN, 2 if offset < 0 else 3)
    two_sided = strategy in ("full_bidirectional", "dependency_network")
    assert seen_beyond[True] and (seen_beyond[False] == 0) == two_sided


WRONG = [
    (dict(order=0), r"\[HS027\] Wrong order: 0\."),
    (dict(order=3), r"\[HS027\] Wrong order: 3\."),
    (dict(lengths=np.array([3])), r"\[HS027\] Wrong lengths: \[3\].*add up to 4"),
    (dict(lengths=np.array([0, 4])), r"\[HS027\] Wrong lengths: \[0, 4\].*add up to 4"),
    (
        dict(allowed=np.ones((4, 2), bool)),
        r"\[HS024\] .*allowed: got \(4, 2\), expected \(4, 3\)\.",
    ),
    (dict(allowed=np.arange(4)[:, None] % 3 != [2, 2, 2]), r"\[HS022\] .* allowed at token 2\."),
    (
        dict(strategy="up"),
        r'\[HS161\] .*"up" here\. Known: easiest_first, .*, full_bidirectional\.',
    ),
]
for p in (-0.1, 1.1, np.nan):
    WRONG.append((dict(prune=p), rf"\[HS027\] Wrong prune: {p}\. Expected 0 to 1\."))


@pytest.mark.parametrize("wrong, match", WRONG)
def test_errors(wrong, match):
    arguments = {"lengths": np.array([1, 3]), "order": 1, "strategy": "full_bidirectional", **wrong}
    local = RandomLocal(random_rows(np.random.default_rng(0), 3, REALS), range(4), 1)
    with pytest.raises(ValueError, match=match):
        decode_decompositions(local, **arguments)
    assert local.calls == []


def test_unknown_strategy_has_no_classifiers():
    with pytest.raises(ValueError, match=r'\[HS161\] .*"down"'):
        classifiers_of("down", 1, 0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("prune, size", [(0.0, 8), (0.5, 2)])
def test_scores_must_be_finite(value, prune, size):
    """Order 1, two labels, one token of three: 4 contexts; 1 for pruning."""

    class Broken(Local):
        def row(self, token, seen):
            likely = (0, 0) if prune == 0 else (UNSEEN, UNSEEN)
            return [0.0, value] if seen == likely else [0.0, 1.0]

    case = LocalCase(Broken(3, 2, 1), np.array([3]))
    with pytest.raises(ValueError, match=rf"\[HS020\] 1 of {size} .* label 1"):
        decode(case, "dependency_network", prune, tuning=Tuning(block_scores=1))


@pytest.mark.parametrize("strategy, order, n_cells", [
    ("left_to_right", 1, 3**2),
    ("right_to_left", 1, 3**2),
    ("left_to_right", 2, 3**3),
    ("right_to_left", 2, 3**3),
    ("dependency_network", 1, 3**3),
    ("dependency_network", 2, 3**5),
    ("full_bidirectional", 1, 2 * 3**3),
    ("full_bidirectional", 2, 8 * 3**5),
])  # fmt: skip
def test_too_many_cells(strategy, order, n_cells):
    """Sequences of 1 and 7 tokens: in the middle of the second one all neighbours have labels."""
    case = random_case(np.random.default_rng(0), [1, 7], 3, order)
    assert decode(case, strategy, max_cells=n_cells).labels.shape == (8,)
    asked = len(case.local.calls)
    token = 1 + (0 if strategy == "right_to_left" else order)
    match = rf"\[HS091\] Without pruning the strategy {strategy} .* {n_cells} combinations of labels at token {token}; "
    with pytest.raises(ValueError, match=match + rf"the limit is {n_cells - 1}\."):
        decode(case, strategy, max_cells=n_cells - 1)
    assert len(case.local.calls) == asked
    assert decode(case, strategy, prune=1.0, max_cells=n_cells - 1).labels.shape == (8,)


class Flat(Local):
    def row(self, token, seen):
        return [0.0] * self.n_labels

    def take(self, tokens):
        return Flat(len(tokens), self.n_labels, self.order)


UNCERTAIN = [("left_to_right", 2), ("dependency_network", 1), ("full_bidirectional", 2)]


@pytest.mark.parametrize("strategy, order", UNCERTAIN)
@pytest.mark.parametrize("flat", [False, True])
def test_uncertain_passages_are_pruned_harder(strategy, order, flat):
    """Where there would be too many cells, the least probable candidates go, in that sequence only; also if all labels
    are equally probable. What is found is best among those that stay, so no better than with more of them."""
    lengths = [6, 1, 5]
    case = LocalCase(Flat(sum(lengths), 4, order), np.array(lengths))
    if not flat:
        case = random_case(np.random.default_rng(3), lengths, 4, order)
    free = decode(case, strategy, prune=1e-9)
    modes = module.make_plan(strategy, order).n_modes
    for limit in (4 ** (order + 1) * modes - 1, 8 * modes, modes):
        found = decode(case, strategy, prune=1e-9, max_cells=limit)
        assert (found.scores <= free.scores + 1e-12).all()
        limits = {"prune": 1e-9, "max_cells": limit}
        singles = [decode(single, strategy, **limits) for single in case.singles()]
        expected = np.concatenate([single.labels for single in singles])
        assert found.labels.tolist() == expected.tolist()
    assert decode(case, strategy, prune=1.0).labels.tolist() == found.labels.tolist() or flat
