"""Decoding that leaves out hopeless nodes: enumeration, the plain walk beyond it, and what the bounds rest on."""

import itertools
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import kernels
from spacy_hoseq.decoders.patterns import dominance
from spacy_hoseq.decoders.patterns.dominance import decode_columns, future_gain, paying_nodes
from spacy_hoseq.decoders.problem.trie import PatternTrie
from spacy_hoseq.decoders.problem.tuning import TUNING, Tuning
from spacy_hoseq.decoders.pruning import Remaining

from ... import oracle
from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases, random_mask, random_patterns
from ..chain.test_long_sequences import check_patterns
from .test_nonnegative import decode_with_patterns


def decode(case, tuning=TUNING):
    """As the table has large tries decoded."""
    potentials = case.potentials()._replace(configurations=None, edge_scores=None)
    return paying_nodes(potentials.check(), tuning)


def columns_of(case, tuning=TUNING):
    """As `decode`, all sequences together, without its checks."""
    return decode_columns(case.potentials(), tuning)


def plain_walk(case):
    return decode_with_patterns(case)


class TestDominance(DecoderContract):
    def decode(self, case, tuning=TUNING):
        return decode(case, tuning)


class TestOneSequenceAtATime(DecoderContract):
    def decode(self, case, tuning=TUNING):
        return decode(case, tuning._replace(dominance_cells=1))


def random_single(rng):
    """One sequence of at most 4 labels and 6 tokens. Patterns nest, overlap and repeat; some weigh nothing, some the
    same; in a third of the cases everything is a whole number, so that labellings tie."""
    n_labels, n_tokens = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    patterns = random_patterns(rng, n_labels, int(rng.integers(0, 12)), int(rng.integers(2, 7)))
    at_positions = random_patterns(rng, n_labels, int(rng.choice([0, 0, 2, 5])), 5, others=patterns)
    strength = rng.choice([0.3, 1.0, 4.0])
    weights = strength * rng.gamma(1.0, 1.0, len(patterns) + len(at_positions))
    weights[rng.random(len(weights)) < rng.choice([0.0, 0.3])] = 0.0
    if rng.random() < 0.3:
        weights[weights > 0] = strength
    scores = rng.normal(0, rng.choice([0.3, 1.0, 4.0]), (n_tokens, n_labels))
    trans = rng.normal(0, rng.choice([0.0, 1.0, 3.0]), (n_labels, n_labels))
    if rng.random() < 0.33:
        scores, trans, weights = np.round(scores), np.round(trans), np.round(weights)
    if rng.random() < 0.3:
        trans[rng.random(trans.shape) < 0.3] = -np.inf
    tokens = rng.integers(0, n_tokens, len(at_positions)).tolist()
    return Case(
        scores,
        trans,
        np.array([n_tokens]),
        tuple(zip(patterns, weights.tolist(), strict=False)),
        tuple(zip(tokens, at_positions, weights[len(patterns) :].tolist(), strict=True)),
        random_mask(rng, n_tokens, n_labels) if rng.random() < 0.3 else None,
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_best_labelling_of_many_random_cases(seed):
    rng = np.random.default_rng(seed)
    for _ in range(400):
        case = random_single(rng)
        table = oracle.joint_table(case)
        labels, scores = columns_of(case)
        if table.best == -np.inf:
            assert scores.tolist() == [-np.inf]
            continue
        assert scores[0] == pytest.approx(table.best, abs=1e-9), case
        assert oracle.score_of_one(case, labels) == pytest.approx(table.best, abs=1e-9), case
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist(), case


@given(case=cases(max_sequences=6, rounded=True))
def test_sequences_walked_together_are_those_walked_alone(case):
    got, alone = columns_of(case), [columns_of(single) for single in case.singles()]
    assert got.scores.tolist() == [paths.scores[0] for paths in alone]
    feasible = np.repeat(got.scores > -np.inf, case.lengths)
    assert got.labels[feasible].tolist() == np.concatenate([paths.labels for paths in alone])[feasible].tolist()


def large_case(seed, n_patterns, *, strength, fired=0, masked=False, rounded=False):
    """Eight sentences of up to 20 tokens, 20 labels. Patterns are pieces of a text, so that many begin or end alike."""
    rng = np.random.default_rng(seed)
    n_labels, lengths = 20, np.array([20, 13, 20, 1, 18, 2, 20, 7])
    n_tokens = int(lengths.sum())
    share = rng.dirichlet(np.full(n_labels, 0.5))
    text = rng.choice(n_labels, 2 * n_patterns, p=share)
    at, sizes = rng.integers(0, len(text) - 6, n_patterns + fired), rng.integers(2, 7, n_patterns + fired)
    strings = [tuple(text[i : i + n].tolist()) for i, n in zip(at, sizes, strict=True)]
    weights = strength * rng.gamma(0.5, 1.0, len(strings))
    scores, trans = rng.normal(0, 1, (n_tokens, n_labels)), rng.normal(0, 1, (n_labels, n_labels))
    if rounded:
        scores, trans, weights = np.round(scores), np.round(trans), np.round(weights)
    tokens = rng.integers(0, n_tokens, fired).tolist()
    return Case(
        scores.astype(np.float32),
        trans,
        lengths,
        tuple(zip(strings, weights.tolist(), strict=False)),
        tuple(zip(tokens, strings[n_patterns:], weights[n_patterns:].tolist(), strict=True)),
        random_mask(rng, n_tokens, n_labels) if masked else None,
    )


LARGE = [
    (500, {"strength": 0.3}),
    (500, {"strength": 4.0, "fired": 200, "masked": True}),
    (2000, {"strength": 0.1, "fired": 300}),
    (2000, {"strength": 1.5}),
    (5000, {"strength": 0.3, "masked": True}),
    (5000, {"strength": 3.0}),
]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_patterns, options", LARGE)
def test_large_tries_as_the_plain_walk(seed, n_patterns, options):
    case = large_case(seed, n_patterns, **options)
    got, expected = decode(case), plain_walk(case)
    assert got.labels.tolist() == expected.labels.tolist()
    assert got.scores == pytest.approx(expected.scores)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_large_tries_with_ties_as_the_plain_walk(seed):
    """Scores exactly; of labellings that tie another may be chosen."""
    case = large_case(seed, 1000, strength=1.5, fired=200, rounded=True)
    got = decode(case)
    assert got.scores.tolist() == plain_walk(case).scores.tolist()
    assert plain_walk(replace(case, patterns=(), fired=())).labels.tolist() != got.labels.tolist()
    labels = np.split(got.labels, case.starts[1:])
    assert got.scores.tolist() == [oracle.score_of_one(one, y) for one, y in zip(case.singles(), labels, strict=True)]


@contextmanager
def recorded():
    """Records of all steps that are walked."""
    records, step = [], dominance._Walk.step

    def recording(self, t, before):
        records.append(step(self, t, before))
        return records[-1]

    with mock.patch.object(dominance._Walk, "step", recording):
        yield records


@pytest.mark.parametrize("fired, most_seen, most_kept", [(0, 0.009, 0.0076), (30, 0.0137, 0.0115)])
def test_weak_patterns_leave_few_nodes(fired, most_seen, most_kept):
    """4,000 patterns everywhere, 20 labels: of the inner nodes of two or more labels hardly any is looked at."""
    case = large_case(0, 4000, strength=0.1, fired=fired)
    trie = case.pattern_scores().trie
    n_inner = len(set(trie.parent[trie.n_labels :].tolist()) - set(range(trie.n_labels)))
    with recorded() as records:
        got = decode(case)
    assert got.scores == pytest.approx(plain_walk(case).scores)
    assert all(len(np.unique(r.keys)) == len(r.keys) for r in records), "each of them once"
    seen, kept = sum(len(r.keys) for r in records), sum(len(nodes) for r in records for nodes in r.kept)
    n_tokens = len(case.scores) - len(case.lengths)  # nothing but single labels at the first token
    assert 0 < seen < most_seen * n_inner * n_tokens
    assert 0 < kept < most_kept * n_inner * n_tokens


@pytest.mark.parametrize("cells", [0, 1, 10, 100])
@given(data=st.data())
def test_history_in_stretches_changes_nothing(cells, data):
    case = data.draw(cases(max_sequences=6, rounded=data.draw(st.booleans())))
    whole = columns_of(case)
    in_stretches = columns_of(case, Tuning(dominance_history=cells))
    assert in_stretches.labels.tolist() == whole.labels.tolist()
    assert in_stretches.scores.tolist() == whole.scores.tolist()


@pytest.mark.parametrize("cells", [100, 1000, 5000])
def test_history_of_a_large_trie_in_stretches(cells):
    case = large_case(3, 1000, strength=1.0, fired=100)
    whole = decode(case)
    with recorded() as records:
        in_stretches = decode(case, Tuning(dominance_history=cells))
    assert len(records) > 20, "some steps are walked twice"
    assert in_stretches.labels.tolist() == whole.labels.tolist()
    assert in_stretches.scores.tolist() == whole.scores.tolist()


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_sequences_of_a_large_trie_in_parts(columns):
    case = large_case(4, 1000, strength=1.0, fired=100)
    whole = decode(case)
    in_parts = decode(case, Tuning(dominance_cells=columns * len(case.weights().trie)))
    assert in_parts.labels.tolist() == whole.labels.tolist()
    assert in_parts.scores.tolist() == whole.scores.tolist()


def test_no_step_has_more_levels_than_the_trie():
    case = Case(np.zeros((12, 2)), np.zeros((2, 2)), np.array([12]), (((0, 1, 0), 1.0), ((1, 1, 0, 1), 1.0)))
    with recorded() as records:
        assert decode(case).scores.tolist() == [5.0]
    assert max(len(record.kept) for record in records) == case.pattern_scores().trie.max_length - 1


@pytest.mark.long
@pytest.mark.parametrize("n_tokens", [100, 4000])
def test_long_sequence(n_tokens):
    check_patterns(decode, n_tokens, Tuning(dominance_history=n_tokens // 2))


class Poisoned:
    """NumPy whose fresh memory is as bad as it may be."""

    def __init__(self, bits):
        self.bits = bits

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype=float):
        result = np.full(shape, 2**60 if dtype == np.intp else 0, dtype)
        if result.dtype == float:
            result.view(np.uint64)[...] = self.bits
        return result


@pytest.mark.parametrize("bits", [
    0x7FF8000000000000,  # NaN
    0x7FEFFFFFFFFFFFFF,  # the largest number
    0x7FF0000000000001,  # NaN that is not to be computed with
])  # fmt: skip
@given(data=st.data())
def test_memory_that_was_not_written_is_not_read(bits, data):
    """It does not come into the result, nor into a warning."""
    case = data.draw(cases(max_sequences=6, rounded=True))
    expected = columns_of(case)
    with mock.patch.object(dominance, "np", Poisoned(bits)):
        got = columns_of(case)
    feasible = np.repeat(got.scores > -np.inf, case.lengths)
    assert got.labels[feasible].tolist() == expected.labels[feasible].tolist()
    assert got.scores.tolist() == expected.scores.tolist()


def test_only_large_tries_are_decoded_so():
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), (((0, 1, 1), 1.0),))
    n_nodes = len(case.pattern_scores().trie)
    for limit, n_calls in ((n_nodes, 0), (n_nodes - 1, 1)):
        remaining = Remaining(case.potentials(), None, True, Tuning(many_nodes=limit, plain_cells=0))
        with mock.patch.object(kernels, "paying_nodes", wraps=paying_nodes) as used:
            assert kernels.remaining_labels(remaining).tolist() == [0, 1, 1]
        assert used.call_count == n_calls


def paid(weight_of, history, continuation):
    """What patterns pay for each label of the continuation: the weights of all that end there."""
    string = history + continuation
    ends = range(len(history) + 1, len(string) + 1)
    return [sum(weight_of.get(string[start:end], 0.0) for start in range(end)) for end in ends]


@pytest.mark.parametrize("seed", range(40))
def test_future_gain_is_its_definition(seed):
    """The most that patterns pay for any continuation of node u, over what they pay for the same one of fail(u); for a
    single label, which has no failure link, of nothing. All-gain bounds the same over the last label of u."""
    rng = np.random.default_rng(seed)
    n_labels = 2 + seed % 2
    patterns = random_patterns(rng, n_labels, int(rng.integers(1, 9)), 5 - n_labels % 2)
    trie = PatternTrie(patterns, n_labels)
    weights = np.zeros(len(trie))
    np.add.at(weights, trie.node_of, rng.choice([0.0, 0.5, 1.0, *rng.gamma(1.0, 1.0, 5)], len(patterns)))
    strings = [trie.string(u) for u in range(len(trie))]
    weight_of = dict(zip(strings, weights.tolist(), strict=True))
    continuations = list(itertools.product(range(n_labels), repeat=trie.max_length - 1))
    gain, all_gain = future_gain(trie, trie.suffix_sums(weights))

    def most_extra(history, over):
        extra = [np.cumsum(np.subtract(paid(weight_of, history, z), paid(weight_of, over, z))) for z in continuations]
        return max((sums.max(initial=0.0) for sums in extra), default=0.0)

    for u, string in enumerate(strings):
        over = strings[trie.fail[u]] if u >= n_labels else ()
        assert gain[u] == pytest.approx(most_extra(string, over), abs=1e-9)
        if u < n_labels:
            assert all_gain[u] == 0.0
        else:
            assert all_gain[u] == pytest.approx(gain[u] + all_gain[trie.fail[u]], abs=1e-9)
            assert all_gain[u] >= most_extra(string, string[-1:]) - 1e-9


def test_future_gain_worked_out_by_hand():
    """Patterns 0,1,0 of weight 2, 1,0 of weight 1 and 0,1,0,0 of weight 4. From 0,1 the label 0 pays 3, from 1 only 1,
    and another 0 pays 4 more: 6. The same from 0, over 1,0,0 from nothing, which pays 1."""
    patterns = [(0, 1, 0), (1, 0), (0, 1, 0, 0)]
    trie = PatternTrie(patterns, 2)
    weights = np.zeros(len(trie))
    weights[trie.node_of] = [2.0, 1.0, 4.0]
    gain, all_gain = future_gain(trie, trie.suffix_sums(weights))
    found = {trie.string(u): (gain[u], all_gain[u]) for u in range(len(trie))}
    assert found == {
        (0,): (6.0, 0.0),
        (1,): (1.0, 0.0),
        (0, 1): (6.0, 6.0),
        (1, 0): (0.0, 0.0),
        (0, 1, 0): (4.0, 4.0),
        (0, 1, 0, 0): (0.0, 0.0),
    }


def test_dominated_history_is_kept_while_it_may_still_pay():
    """0,0 costs 3 over 1,0 at the second token; 0,0,0,0 then pays 2.75 at the fourth. The same at a position."""
    scores = np.array([[0.0, 3.0], [0.0, -9.0], [0.0, -9.0], [0.0, -9.0]])
    for weight, labels in ((2.75, [1, 0, 0, 0]), (3.25, [0, 0, 0, 0])):
        for features in ({"patterns": (((0,) * 4, weight),)}, {"fired": ((3, (0,) * 4, weight),)}):
            case = Case(scores, np.zeros((2, 2)), np.array([4]), **features)
            assert decode(case).labels.tolist() == labels and decode(case).scores.tolist() == [max(3.0, weight)]
