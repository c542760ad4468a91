"""Marginals of potentials: which class computes them, and the gradient with respect to every field."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from spacy_hoseq.decoders.chain.chain_marginals import ChainMarginals
from spacy_hoseq.decoders.higher_order.pattern_marginals import PatternMarginals
from spacy_hoseq.decoders.posterior import marginals as module
from spacy_hoseq.decoders.posterior.marginals import backpropagated, marginals_of
from spacy_hoseq.decoders.problem.potentials import PotentialsGradient

from ... import oracle
from ...cases import Case
from .posteriors import assert_close, enumerated_arcs, enumerated_gradient, random_arcs

PATTERNS, FIRED = (((0, 1), 0.8), ((1, 2, 0), 1.5)), ((3, (1, 2), 1.1), (5, (0, 1), -0.4))


def random_case(patterns=(), fired=(), **fields):
    rng, allowed = np.random.default_rng(0), np.ones((6, 3), bool)
    allowed[[1, 4], [2, 0]] = False
    return Case(rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), np.array([4, 2]), patterns, fired, allowed, **fields)


@pytest.mark.parametrize("patterns, fired", [((), ()), (PATTERNS, ()), ((), FIRED), (PATTERNS, FIRED)])
def test_potentials_have_the_enumerated_marginals_and_gradient(patterns, fired):
    case, rng = random_case(patterns, fired), np.random.default_rng(1)
    found = marginals_of(case.potentials())
    assert type(found) is (PatternMarginals if patterns or fired else ChainMarginals)
    arcs, tables = random_arcs(case, rng), [oracle.joint_table(single) for single in case.singles()]
    assert_close([found.log_z], [np.array([table.log_z for table in tables])])
    assert_close([found.nodes], [np.concatenate([table.marginals for table in tables])])
    assert_close([found.arcs(arcs)], [enumerated_arcs(case)[arcs]])
    d_nodes, d_arcs = rng.normal(size=(6, 3)), rng.normal(size=len(arcs.tokens))
    got = backpropagated(found, d_nodes, arcs, d_arcs)
    scores, trans, nodes, at = enumerated_gradient(case, d_nodes, arcs, d_arcs)
    assert type(got) is PotentialsGradient
    assert_close(got[:5], (scores, trans, nodes if patterns or fired else np.zeros(0), at, np.zeros(0)))
    sizes = [len(nodes) if patterns or fired else 0, len(fired), 0]
    assert got.edge_scores is None and [part.shape for part in got[2:5]] == [(size,) for size in sizes]


@pytest.mark.parametrize("dtype, patterns", [
    (np.float32, ()), (np.float64, ()), (np.float32, PATTERNS), (np.float64, PATTERNS),
])  # fmt: skip
def test_gradient_of_scores_has_the_type_of_what_it_is_computed_from(dtype, patterns):
    """Layers want float32, weights float64."""
    case, rng = random_case(patterns), np.random.default_rng(1)
    arcs, d_nodes = random_arcs(case, rng), rng.normal(size=(6, 3)).astype(dtype)
    d_arcs = rng.normal(size=len(arcs.tokens)).astype(dtype)
    got = backpropagated(marginals_of(case.potentials()), d_nodes, arcs, d_arcs)
    assert got.scores.dtype == dtype
    assert {part.dtype for part in got[1:5]} == {np.dtype(np.float64)}
    assert_close(got[:2], enumerated_gradient(case, d_nodes, arcs, d_arcs)[:2], 1e-6)


@pytest.mark.parametrize("patterns", [(), PATTERNS])
def test_mask_is_left_out(patterns):
    case = random_case(patterns)
    found = marginals_of(case.potentials())
    free = Case(case.scores, case.trans, case.lengths, patterns)
    assert_close([found.nodes], [np.concatenate([oracle.joint_table(single).marginals for single in free.singles()])])


@pytest.mark.parametrize("patterns", [(), PATTERNS])
def test_general_configurations_are_refused(patterns):
    """Before anything is computed; none that fire are no obstacle."""
    spans = ((0, (frozenset([0, 1]), frozenset([2])), 1.0),)
    case = random_case(patterns, configurations=spans)
    with mock.patch.multiple(module, ChainMarginals=mock.DEFAULT, PatternMarginals=mock.DEFAULT) as classes:
        with pytest.raises(ValueError, match=r"\[HS039\] The decoder marginals cannot use general configurations"):
            marginals_of(case.potentials())
        assert not any(one.called for one in classes.values())
    none = case.label_sets().chosen(np.zeros(0, np.intp), 0)
    found = marginals_of(case.potentials()._replace(configurations=none))
    assert_close([found.nodes], [marginals_of(random_case(patterns).potentials()).nodes], 0)


@pytest.mark.parametrize("patterns, code", [((), "HS097"), (PATTERNS, "HS028")])
def test_large_weights_have_marginals_but_no_way_back(patterns, code):
    case = replace(random_case(patterns), trans=np.diag([0.0, 400, 0]))
    found = marginals_of(case.potentials())
    tables = [oracle.joint_table(single) for single in case.singles()]
    assert_close([found.log_z, found.nodes], [[t.log_z for t in tables], np.concatenate([t.marginals for t in tables])])
    arcs = random_arcs(case, np.random.default_rng(1))
    assert_close([found.arcs(arcs)], [enumerated_arcs(case)[arcs]])
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        backpropagated(found, np.ones((6, 3)), arcs, np.ones(len(arcs.tokens)))
