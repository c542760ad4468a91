"""General configurations: label sets, gaps and skip-chains, against enumeration; the number of states; refusals."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.patterns.configurations import decode_any_sign, lattice_of
from spacy_hoseq.decoders.problem import TUNING, path_score
from spacy_hoseq.decoders.problem.fired import Configurations, check_configurations

from ... import oracle
from ...cases import Case, zero_case
from ...contract import DecoderContract
from ...strategies import cases, random_configurations
from ..answers.posteriors import posterior_of


def n_states(single):
    """Of each token."""
    lattice = lattice_of(single.potentials().check())
    return [len(lattice.step(t).label) for t in range(len(single.scores))]


class TestConfigurations(DecoderContract):
    """Adds configurations with integer weights to every random case."""

    takes_negative = True

    def fit(self, case):
        rng = np.random.default_rng(int(case.lengths.sum()) + case.n_labels)
        spans = random_configurations(rng, case.n_labels, case.lengths, 4)
        spans = tuple((first, sets, float(round(weight))) for first, sets, weight in spans)
        return super().fit(replace(case, configurations=spans))

    def decode(self, case, tuning=TUNING):
        return decode_any_sign(case.potentials(), tuning=tuning)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31, 32, 33])
@pytest.mark.parametrize("label", [0, 1])
def test_as_many_open_configurations_as_a_word_has_bits(n, label):
    """The last of them tells the two states of the first token apart, and pays more than the other label is ahead."""
    any_label = frozenset({0, 1})
    spans = [(0, (any_label,) * 3, 1.0)] * (n - 1)
    spans.append((0, (frozenset({label}), any_label, any_label), 5.0))
    scores = np.zeros((3, 2))
    scores[0, 1 - label] = 1.0
    case = Case(scores, np.zeros((2, 2)), np.array([3]), configurations=tuple(spans))
    paths = decode_any_sign(case.potentials())
    assert (paths.labels[0], paths.scores.tolist()) == (label, [n + 4])
    assert n_states(case)[0] == 2


@given(case=cases(signed=True, max_sequences=1, configurations=6, max_tokens=5, forbidden=False))
def test_states_are_the_classes_that_labellings_fall_into(case):
    """(longest match, configurations that go on and are matched so far), over all permitted labellings."""
    single = case.singles()[0]
    assume(single.configurations)  # else states are all nodes of the trie
    strings = [p for p, _ in single.patterns] + [p for _, p, _ in single.fired]
    known = {pattern[:n] for pattern in strings for n in range(1, len(pattern) + 1)}
    known |= {(y,) for y in range(case.n_labels)}
    every = [labels for labels in product(range(case.n_labels), repeat=len(case.scores))
             if case.allowed is None or case.allowed[np.arange(len(labels)), labels].all()]  # fmt: skip
    for t, n in enumerate(n_states(single)):
        classes = set()
        for labels in every:
            past = labels[: t + 1]
            longest = next(past[i:] for i in range(t + 1) if past[i:] in known)
            live = set()
            for i, (first, sets, _) in enumerate(single.configurations):
                pairs = zip(past[first:], sets, strict=False)
                if first <= t < first + len(sets) - 1 and all(y in some for y, some in pairs):
                    live.add(i)
            classes.add((longest, frozenset(live)))
        assert n == len(classes)


def skip_chain(weight, n_gap=2):
    """Labels B = 0, I = 1, O = 2: {B, I} x any* x {B, I} over all tokens."""
    mention, anything = frozenset([0, 1]), frozenset([0, 1, 2])
    scores = np.zeros((n_gap + 2, 3))
    scores[0, 1], scores[-1, 2] = 1.0, 1.0  # the first mention is seen, the second is not
    span = (0, (mention, *[anything] * n_gap, mention), weight)
    return Case(scores, np.zeros((3, 3)), np.array([n_gap + 2]), configurations=(span,))


@pytest.mark.parametrize("n_spans", [0, 3, 4, 17, 33])
def test_many_spans_that_overlap(n_spans):
    """More than fit into 16 bits: label 1 at the first token opens them, each needs one more 1 in its own place."""
    n_tokens = n_spans + 2
    one, anything = frozenset([1]), frozenset([0, 1])
    spans = tuple((0, (one, *[anything] * i, one), (-1.0) ** i) for i in range(n_spans))
    case = zero_case(n_tokens, configurations=spans)
    paths = decode_exact(case.potentials())
    assert paths.scores.tolist() == [(n_spans + 1) // 2]
    if n_spans:
        assert n_states(case)[1:-2] == [4] * (n_spans - 1)
        expected = [(i + 1) % 2 for i in range(n_spans)]
        assert paths.labels[1 : n_spans + 1].tolist() == expected
        got = posterior_of(case.potentials())
        # given 1 at the beginning, the others are free
        alone = [1.0 + np.exp(weight) for _, _, weight in spans]
        total = np.prod(alone) + 2.0**n_spans
        assert got.log_z == pytest.approx([np.log(2 * total)])
        pairs = zip(spans, alone, strict=True)
        shares = [np.exp(w) / a * np.prod(alone) / total for (_, _, w), a in pairs]
        assert_allclose(got.expected.configuration_weights, shares)


def many_states(n):
    """Spans that remember every label since token 0: 2^(t + 1) states."""
    one, anything = frozenset([1]), frozenset([0, 1])
    spans = tuple((t, (one, *[anything] * (n - t - 2), one), 1.0) for t in range(n - 1))
    return Case(np.zeros((n, 2)), np.zeros((2, 2)), np.array([n]), configurations=spans)


def test_limit_on_the_states():
    case = many_states(6)
    configurations = case.label_sets()
    assert n_states(case) == [2, 4, 8, 16, 32, 2]
    potentials = case.potentials()._replace(configurations=configurations._replace(max_states=32))
    assert decode_exact(potentials).scores.tolist() == [5.0]
    potentials = case.potentials()._replace(configurations=configurations._replace(max_states=31))
    message = (
        r"\[HS038\] 32 states are needed at token 4 for the 5 configurations that overlap there, more than the limit "
        r"of 31 \(MAX_STATES\)\. Let fewer features overlap"
    )
    for function in (decode_exact, posterior_of):
        with pytest.raises(ValueError, match=message):
            function(potentials)


@pytest.mark.parametrize("first, size", [(-1, 2), (0, 0), (2, 2), (1, 3), (3, 3), (5, 1), (9, 1)])
def test_spans_that_cannot_be(first, size):
    """Two sequences, of 3 and 2 tokens."""
    sizes, slots = np.array([1, size]), np.zeros(1 + size, np.intp)
    spans = Configurations(np.array([0, first]), sizes, slots, np.ones((1, 2), bool), np.ones(2))
    potentials = zero_case(3, 2).potentials()._replace(configurations=spans)
    message = rf"\[HS037\] The configuration number 1, tokens {first} to {first + size - 1} does not lie within one"
    for function in (decode_exact, posterior_of):
        with pytest.raises(ValueError, match=message):
            function(potentials)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_weights_that_are_refused(weight):
    case = skip_chain(1.0)
    one = (1, (frozenset([0]),), weight)
    case = replace(case, configurations=(*case.configurations, one))
    message = r"\[HS020\] .*weight of configuration number 1, tokens 1 to 1"
    for function in (decode_exact, posterior_of):
        with pytest.raises(ValueError, match=message):
            function(case.potentials())


@pytest.mark.parametrize("change", [
    {"sets": np.ones((2, 4), bool)},
    {"sets": np.ones(3, bool)},
    {"slots": np.zeros(3, np.intp)},
])  # fmt: skip
def test_sets_of_the_wrong_shape(change):
    wrong = skip_chain(1.0).label_sets()._replace(**change)
    message = r"\[HS024\] Wrong shape of sets: got .*, expected \('any', 3\)"
    with pytest.raises(ValueError, match=message):
        check_configurations(wrong, np.array([4]), 3)


@given(case=cases(configurations=6, max_sequences=5), data=st.data())
def test_matched_and_chosen_are_their_definitions(case, data):
    assume(case.configurations)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    labels = rng.integers(0, case.n_labels, len(case.scores))
    spans = case.label_sets()
    pairs = [(labels[first:], sets) for first, sets, _ in case.configurations]
    expected = [all(y in s for y, s in zip(ys, sets, strict=False)) for ys, sets in pairs]
    assert spans.matched(labels).tolist() == expected
    assert spans.last.tolist() == [first + len(sets) - 1 for first, sets, _ in case.configurations]
    which = np.flatnonzero(rng.random(len(expected)) < 0.5)
    chosen = spans.chosen(which, np.full(len(which), 7))
    moved = np.concatenate([np.zeros(7, int), labels])
    assert chosen.matched(moved).tolist() == [expected[i] for i in which]
    assert chosen.weights.tolist() == [case.configurations[i][2] for i in which]
    got = path_score(case.potentials(), labels)
    parts = zip(replace(case, allowed=None).singles(), case.parts(labels), strict=True)
    assert_allclose(got, [oracle.score_of_one(*part) for part in parts], atol=1e-9)
