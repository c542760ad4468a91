"""The log-likelihood against enumeration, its gradient against finite differences, with and without label patterns."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.learning.objectives import log_likelihood

from .. import oracle
from ..strategies import cases
from .gold import KINDS, gold_mask, tables


def assert_log_likelihood_is_the_enumerated_one(case, gold):
    pairs = list(tables(case, gold))
    assume(all(permitted.best > -np.inf for _, permitted in pairs))
    got = log_likelihood(case.potentials(), gold)
    expected = sum(free.log_z - permitted.log_z for free, permitted in pairs)
    assert got.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    marginals = np.concatenate([free.marginals - permitted.marginals for free, permitted in pairs])
    np.testing.assert_allclose(got.gradient.scores, marginals, atol=1e-6)
    transitions = sum(free.transitions - permitted.transitions for free, permitted in pairs)
    np.testing.assert_allclose(got.gradient.trans, transitions, atol=1e-8)
    for (first, sets, _), mine in zip(case.configurations, got.gradient.configuration_weights, strict=True):
        i = int(np.searchsorted(case.starts, first, side="right")) - 1
        free, permitted = (table.expected_match(first - case.starts[i], sets) for table in pairs[i])
        assert mine == pytest.approx(free - permitted, abs=1e-8)
    return got.gradient, pairs


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases(masks=False), seed=st.integers(0, 10**6))
def test_log_likelihood_of_a_chain_is_the_enumerated_one(kind, case, seed):
    gradient, _ = assert_log_likelihood_is_the_enumerated_one(case.without_patterns(), gold_mask(case, kind, seed))
    assert gradient.node_weights.tolist() == [] == gradient.fired_weights.tolist()


@given(
    case=cases(masks=False, forbidden=False, signed=True, configurations=3),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10**6),
)
def test_log_likelihood_with_patterns_is_the_enumerated_one(case, kind, seed):
    gradient, pairs = assert_log_likelihood_is_the_enumerated_one(case, gold_mask(case, kind, seed))
    if not case.patterns and not case.fired:
        return
    trie = case.pattern_scores().trie
    for node in range(len(trie)):
        expected = sum(a.expected_count(trie.string(node)) - b.expected_count(trie.string(node)) for a, b in pairs)
        assert gradient.node_weights[node] == pytest.approx(expected if node >= trie.n_labels else 0.0, abs=1e-8)
    for (token, string, _), got in zip(case.fired, gradient.fired_weights, strict=True):
        sequence = int(np.searchsorted(case.starts, token, side="right")) - 1
        free, permitted = pairs[sequence]
        at = [token - case.starts[sequence]]
        assert got == pytest.approx(free.expected_count(string, at) - permitted.expected_count(string, at), abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["complete", "mixed"])
@given(
    case=cases(
        masks=False, forbidden=False, signed=True, configurations=2, max_labels=3, max_tokens=3, max_sequences=2
    ),
    seed=st.integers(0, 10**6),
)
def test_gradient_of_the_log_likelihood_is_its_finite_differences(kind, case, seed):
    case = case.doubles()
    gold = gold_mask(case, kind, seed)
    got = log_likelihood(case.potentials(), gold).gradient

    def value(**changed):
        return log_likelihood(replace(case, **changed).potentials(), gold).value

    def value_of_weights(weights):
        return value(patterns=tuple((pattern, w) for (pattern, _), w in zip(case.patterns, weights, strict=True)))

    def value_of_configurations(weights):
        spans = zip(case.configurations, weights, strict=True)
        return value(configurations=tuple((first, sets, w) for (first, sets, _), w in spans))

    d_scores = oracle.central_differences(lambda scores: value(scores=scores), case.scores)
    d_trans = oracle.central_differences(lambda trans: value(trans=trans), case.trans)
    d_weights = oracle.central_differences(value_of_weights, np.array([weight for _, weight in case.patterns]))
    np.testing.assert_allclose(got.scores, d_scores, atol=1e-6)  # given in float32
    assert oracle.relative_error(got.trans, d_trans) < 1e-5
    d_spans = oracle.central_differences(value_of_configurations, np.array([w for _, _, w in case.configurations]))
    assert oracle.relative_error(got.configuration_weights, d_spans) < 1e-5
    nodes = case.pattern_scores().trie.node_of[: len(case.patterns)]
    assert not len(nodes) or oracle.relative_error(got.node_weights[nodes], d_weights) < 1e-5
