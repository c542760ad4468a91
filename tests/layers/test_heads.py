"""What every head of potentials must do, whatever its features: its gradient is that of the loss, and saved, copied and
trained ones say the same."""

import copy
import pickle

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.learning.gradients import summed
from spacy_hoseq.learning.objectives import OBJECTIVES
from spacy_hoseq.learning.parameter import Parameter

from . import taggers, test_configurations, test_label_parts, test_transitions
from .helpers import VOCAB, zeros

STEP = 1e-6
SPARE = 500  # bytes of names of classes
HEADS = {
    **{name: lambda seed=0, name=name: taggers.tagger(name, seed) for name in taggers.SOURCES},
    **{
        f"{name}, any sign": lambda seed=0, name=name: test_configurations.signed(
            test_configurations.tagger(name, seed, nonnegative=False), seed
        )
        for name in test_configurations.SOURCES
    },
    "transitions": test_transitions.tagger,
    "parts": lambda seed=0: test_label_parts.made(True, seed),
}
COPIES = {
    "saved": lambda model, other: other.from_bytes(model.to_bytes()),
    "copy": lambda model, other: model.copy(),
    "deepcopy": lambda model, other: copy.deepcopy(model),
    "pickle": lambda model, other: pickle.loads(pickle.dumps(model)),
}


def gold_of(n_labels):
    """A mask with a token that is not annotated and one that is annotated in part."""
    mask = np.eye(n_labels, dtype=bool)[np.arange(11) * 2 % n_labels]
    mask[3] = True
    mask[5, 0] = True
    return mask


def in_doubles(model):
    for shim in weights_in(model):
        for name, parameter in list(shim.parameters.items()):
            values = parameter.values.astype(np.float64)
            shim.set(Parameter(name, values, nonnegative=parameter.nonnegative))
    return model


def collected(model):
    """Gradients that wait for `finish_update`, by layer and weights."""
    found = {}
    for i, shim in enumerate(weights_in(model)):
        for name, parameter in shim.parameters.items():
            found[i, name] = np.zeros(parameter.values.shape)
            rows, gradient = summed(shim._pending.get(name, []), parameter.values, by_cells=False)
            found[i, name][rows] = gradient
    return found


def weights(model):
    """Arrays, and which of their cells are weights: not the row of no feature, nor pairs of parts of other kinds."""
    for i, shim in enumerate(weights_in(model)):
        for name, parameter in shim.parameters.items():
            cells = np.ones(parameter.values.shape, bool)
            if name == "table":
                cells[-1] = False
            if name == "pairs":
                cells = test_label_parts.have_pairs(model)
            yield (i, name), parameter.values, cells


@pytest.mark.parametrize("objective", ["perceptron", "max_margin", "log_likelihood"])
@pytest.mark.parametrize("head", HEADS)
def test_gradient_of_every_weight_is_that_of_the_loss(head, objective):
    model, docs = in_doubles(HEADS[head](seed=1)), taggers.docs_of()

    def loss():
        potentials, backprop = model.begin_update(docs)
        found = OBJECTIVES[objective](potentials, gold_of(potentials.trans.shape[0]))
        return found.value, lambda: backprop(found.gradient)

    value, backprop = loss()
    backprop()
    found, rng = collected(model), np.random.default_rng(0)
    assert value > 0.1
    assert objective != "log_likelihood" or all(gradient.any() for gradient in found.values())
    for key, values, cells in weights(model):
        assert not found[key][~cells].any(), key
        for i in map(tuple, rng.permutation(np.argwhere(cells))[:15].tolist()):
            kept = values[i]
            values[i] = kept + STEP
            above, _ = loss()
            values[i] = kept - STEP
            expected = (above - loss()[0]) / (2 * STEP)
            values[i] = kept
            assert found[key][i] == pytest.approx(expected, abs=1e-6), (key, i)


def arrays(potentials):
    parts = [potentials.scores, potentials.trans, potentials.edge_scores]
    parts += [potentials.weights.node_weights] if potentials.weights.has_patterns else []
    parts += [*(potentials.fired or ()), *(potentials.configurations or ())[:5]]
    return [np.asarray(part) for part in parts if part is not None]


def assert_same(found, expected, tolerance=0.0):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and np.allclose(one, other, rtol=0, atol=tolerance)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("head", HEADS)
def test_copies_say_the_same(head, copied):
    """Of weights that were learnt, and of loaded ones."""
    make, docs = HEADS[head], taggers.docs_of()
    learnt, loaded = make(), make(seed=1).from_bytes(make().to_bytes())
    for model in (learnt, loaded):
        again = copied(model, make(seed=1))
        assert_same(arrays(again.predict(docs)), arrays(model.predict(docs)))
        assert again.to_bytes() == model.to_bytes()
        for one, other in zip(weights_in(again), weights_in(model), strict=True):
            for name, p in other.parameters.items():
                assert one.parameters[name].nonnegative == p.nonnegative


@pytest.mark.parametrize("head", HEADS)
def test_use_adds_nothing_to_a_pickle(head):
    model = HEADS[head](seed=1).from_bytes(HEADS[head]().to_bytes())
    before = len(pickle.dumps(model))
    for _ in range(2):
        model.predict(taggers.docs_of())
        model.begin_update(taggers.docs_of())
    assert len(pickle.dumps(model)) <= before + SPARE


@pytest.mark.parametrize("head", HEADS)
def test_what_learns_predicts(head):
    """Potentials of training, before an update, and of each sentence alone."""
    model, docs = HEADS[head](), taggers.docs_of()
    whole = model.predict(docs)
    trained = model.begin_update(docs)[0]
    assert_same([trained.scores, trained.trans], [whole.scores, whole.trans], 1e-6)
    assert trained.lengths.tolist() == whole.lengths.tolist() == [4, 2, 3, 2]
    apart = [docs[0], docs[1], docs[3][:3].as_doc(), docs[3][3:].as_doc()]
    singles = [model.predict([doc]) for doc in apart]
    assert np.array_equal(whole.scores, np.concatenate([single.scores for single in singles]))
    paths, parts = decode_exact(whole), [*map(decode_exact, singles)]
    assert paths.labels.tolist() == [label for part in parts for label in part.labels.tolist()]
    assert paths.scores == pytest.approx([part.scores[0] for part in parts])


@pytest.mark.parametrize("docs", [[], [Doc(VOCAB)], [Doc(VOCAB), Doc(VOCAB)]])
@pytest.mark.parametrize("head", HEADS)
def test_no_tokens(head, docs):
    model = HEADS[head]()
    n_labels = len(model.predict(taggers.docs_of()).trans)
    for potentials in (model.predict(docs), model.begin_update(docs)[0]):
        assert potentials.scores.shape == (0, n_labels) and potentials.lengths.tolist() == []
        edges = potentials.edge_scores
        assert edges is None or edges.shape == (0, n_labels, n_labels)


@pytest.mark.parametrize("head", HEADS)
def test_initializing_again_starts_from_zero(head):
    model, docs = HEADS[head](), taggers.docs_of()
    model.initialize(X=docs, Y=zeros(docs, len(model.predict(docs).trans)))
    assert not any(array.any() for _, array, _ in weights(model))
    assert not model.predict(docs).scores.any()
