"""The shim that holds weights: updates, storage, and what it does with damaged bytes."""

import numpy as np
import pytest

from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.weights import WeightsShim, weights_of
from spacy_hoseq.learning.adagrad import Additive
from spacy_hoseq.learning.parameter import Parameter

from .helpers import doc_of, randomize, raw, zeros

RNG = np.random.default_rng(11)


def shim_of(**arrays):
    shim = WeightsShim("test")
    for name, values in arrays.items():
        shim.set(Parameter(name, values, nonnegative=name == "positive"))
    return shim


def half(*shape):
    return RNG.normal(size=shape).astype(np.float16).astype(np.float32)


def loaded(data):
    return WeightsShim("test").from_bytes(data)


def layer():
    docs = [doc_of("the cat saw the dog")]
    model = SparseLinear(["bias", "lower[0]", "lower[-1]"])
    model.initialize(X=docs, Y=zeros(docs, 3))
    return randomize(model)


def test_storage_of_several_arrays_and_extras():
    shim = shim_of(table=half(3, 2), positive=np.array([0.5, 0.0, 2.0]))
    shim.extra = {"keys": np.arange(5, dtype=np.uint64), "number": 3}
    back = loaded(shim.to_bytes())
    signs = {name: p.nonnegative for name, p in back.parameters.items()}
    assert signs == {"table": False, "positive": True}
    assert back.extra["keys"].tolist() == [0, 1, 2, 3, 4] and back.extra["keys"].dtype == np.uint64
    assert back.extra["number"] == 3


def test_what_is_saved_is_what_predicts():
    shim = shim_of(table=np.array([[0.1, 1e-9, 1 / 3, 123.456]]))
    finished = shim.values("table", is_train=False)
    assert finished.tolist() == [[float(np.float16(x)) for x in (0.1, 1e-9, 1 / 3, 123.456)]]
    assert np.array_equal(loaded(shim.to_bytes()).values("table", is_train=False), finished)
    assert shim.values("table", is_train=True).tolist() == [[0.1, 1e-9, 1 / 3, 123.456]]


@pytest.mark.parametrize("averaged", [True, False, "late"])
def test_training_reads_raw_weights_and_prediction_finished_ones(averaged):
    shim = shim_of(table=np.zeros((2, 2)))
    shim.configure(Additive(1.0, average=averaged), seed=0)
    for _ in range(4):
        shim.add_gradient("table", (np.array([1]), np.array([[-1.0, 2.0]])))
        shim.finish_update(None)
    assert shim.values("table", is_train=True).tolist() == [[0, 0], [4, -8]]
    # of 1, 2, 3, 4
    mean = {True: 2.5, False: 4, "late": (6 * 1 + 24 * 2 + 60 * 3 + 120 * 4) / 210}[averaged]
    expected = [[0, 0], np.float16([mean, -2 * mean]).tolist()]
    assert shim.values("table", is_train=False).tolist() == expected
    assert loaded(shim.to_bytes()).values("table", is_train=True).tolist() == expected


def test_gradients_of_one_update_add_up():
    shim = shim_of(table=np.zeros((3, 1)), positive=np.array([1.0, 1.0]))
    shim.configure(Additive(1.0, average=False), seed=0)
    shim.add_gradient("table", (np.array([0, 2]), np.array([[1.0], [2.0]])))
    shim.add_gradient("table", (np.array([2, 1]), np.array([[3.0], [5.0]])))
    shim.add_gradient("positive", (np.array([0, 1]), np.array([5.0, 0.25])))
    shim.finish_update(None)
    shim.finish_update(None)  # nothing new
    assert raw_of(shim, "table") == [[-1], [-5], [-5]]
    assert raw_of(shim, "positive") == [0, 0.75], "projected"


def raw_of(shim, name):
    return shim.parameters[name].values.tolist()


def test_update_without_rows_counts_for_the_average():
    shim = shim_of(table=np.zeros((1, 1)))
    shim.configure(Additive(1.0), seed=0)
    shim.add_gradient("table", (np.array([0]), np.array([[-6.0]])))
    shim.finish_update(None)
    for _ in range(2):
        shim.add_gradient("table", (np.zeros(0, int), np.zeros((0, 1))))
        shim.finish_update(None)
    assert shim.values("table", is_train=False).tolist() == [[6]]
    shim.add_gradient("table", (np.array([0]), np.array([[6.0]])))
    shim.finish_update(None)
    assert shim.values("table", is_train=False).tolist() == [[4.5]], "6, 6, 6, 0"


def test_no_weights_yet():
    with pytest.raises(ValueError, match=r"\[HS052\].*\"test\" holds no weights"):
        shim_of().values("table", is_train=False)


def test_no_update_rule():
    shim = shim_of(table=np.zeros((1, 1)))
    shim.finish_update(None)  # nothing to do
    shim.add_gradient("table", (np.array([0]), np.array([[1.0]])))
    with pytest.raises(ValueError, match=r"\[HS055\].*\"test\" has no update rule"):
        shim.finish_update(None)


def test_model_without_these_weights():
    model = layer()
    model.shims.clear()
    model.shims.append("other")
    with pytest.raises(ValueError, match=r"\[HS051\].*sparse_linear.*str"):
        weights_of(model)


def test_truncated_at_any_place():
    data = weights_of(layer()).to_bytes()
    for end in [*range(0, len(data), 7), len(data) - 1]:
        with pytest.raises(ValueError, match=r"\[HS050\].*sparse_linear"):
            WeightsShim("sparse_linear").from_bytes(data[:end])


def test_weights_of_another_layer():
    message = r"\[HS051\].*\"sparse_linear\".*made for layer test.*has sparse_linear"
    with pytest.raises(ValueError, match=message):
        WeightsShim("sparse_linear").from_bytes(shim_of(table=half(2, 2)).to_bytes())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_damaged_weights(value):
    table = half(3, 3)
    table[1, 1] = value
    with pytest.raises(ValueError, match=r"\[HS050\].*\"test\".*NaN"):
        loaded(shim_of(table=table).to_bytes())


def test_random_damage_is_found_or_harmless():
    """Flipped bytes give an error with a code, or other numbers (which nobody can know): never another exception."""
    data = weights_of(layer()).to_bytes()
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(400):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        try:
            shim = WeightsShim("sparse_linear").from_bytes(bytes(damaged))
        except ValueError as error:
            assert any(code in str(error) for code in ("HS050", "HS051", "HS050"))
            n_found += 1
        else:
            assert all(np.isfinite(p.values).all() for p in shim.parameters.values())
    assert n_found > 20


def test_weights_are_unchanged_when_loading_fails():
    model = layer()
    before = raw(model, "table").copy()
    with pytest.raises(ValueError, match="HS050"):
        weights_of(model).from_bytes(b"damaged")
    assert np.array_equal(raw(model, "table"), before)


def test_loaded_weights_go_on_with_care():
    """Their first step is that of weights which were learnt before."""
    shim = WeightsShim("layer")
    shim.set(Parameter("w", np.array([[2.0]])))
    assert not shim.parameters["w"].resumed
    assert WeightsShim("layer").from_bytes(shim.to_bytes()).parameters["w"].resumed
