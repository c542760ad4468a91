"""The gradient of every weight against finite differences of the loss."""

import numpy as np
import pytest

from spacy_hoseq.learning.objectives import objective_named

from .helpers import applied_gradients, raw
from .taggers import SOURCES, docs_of, gold_mask, tagger

STEPS = {"trans": 1e-4, "patterns": 1e-4, "table": 2**-7}  # the table is single precision


def loss_of(model, objective):
    potentials, backprop = model.begin_update(docs_of())
    loss = objective_named(objective)(potentials, gold_mask())
    return loss.value, lambda: backprop(loss.gradient)


def slopes(model, objective, values, step):
    """Slopes of the loss below and above each weight: equal but at kinks, since these losses are linear in pieces."""
    middle, _ = loss_of(model, objective)
    below, above = np.zeros(values.shape), np.zeros(values.shape)
    for i in np.ndindex(values.shape):
        kept = values[i]
        values[i] = kept + step
        above[i] = (loss_of(model, objective)[0] - middle) / step
        values[i] = kept - step
        below[i] = (middle - loss_of(model, objective)[0]) / step
        values[i] = kept
    return below, above


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("objective", ["max_margin", "perceptron", "log_likelihood"])
@pytest.mark.parametrize("source", SOURCES)
def test_gradient_is_that_of_finite_differences(source, objective, seed):
    model = tagger(source, seed)
    expected = {}
    for node in model.walk():
        for name, parameter in node.shims[0].parameters.items():
            values = parameter.values[:-1] if name == "table" else parameter.values  # the last row is no weight
            expected[node.shims[0].name, name] = slopes(model, objective, values, STEPS[name])
    value, backprop = loss_of(model, objective)
    assert value > 0.1
    backprop()
    found = applied_gradients(model)
    assert found.keys() == expected.keys()
    for key, (below, above) in expected.items():
        gradient = found[key][:-1] if key[1] == "table" else found[key]
        if objective == "log_likelihood":
            assert gradient == pytest.approx((below + above) / 2, abs=1e-3), key
            continue
        smooth = np.abs(above - below) < 1e-3
        assert smooth.mean() > 0.7, "few kinks at random weights"
        assert gradient[smooth] == pytest.approx(above[smooth], abs=1e-3), key
        low, high = np.minimum(below, above), np.maximum(below, above)
        assert ((low - 1e-3 <= gradient) & (gradient <= high + 1e-3)).all(), key


@pytest.mark.parametrize("source", ["frequent", "tied", "untied", "all"])
def test_pattern_gradients_are_not_all_zero(source):
    largest = []
    for seed in range(4):
        model = tagger(source, seed)
        _, backprop = loss_of(model, "max_margin")
        backprop()
        largest.append(np.abs(applied_gradients(model)["higher_order_tagger", "patterns"]).max())
    assert max(largest) > 0.5


def test_weights_of_patterns_stay_nonnegative():
    model = tagger("all")
    raw(model, "patterns")[:] = 1e-4
    _, backprop = loss_of(model, "max_margin")
    backprop()
    applied_gradients(model)
    assert raw(model, "patterns").min() == 0 and raw(model, "patterns").max() > 1e-4
    assert raw(model, "trans").min() < 0
