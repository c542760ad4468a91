"""The convolutional network over letter images: layers against plain loops, gradients by finite differences.

Inputs of the single layers are whole numbers, so that single precision holds all sums and differences exactly.
"""

import itertools
import pickle

import numpy as np
import pytest
import spacy
from handwriting.convolutions import PixelConvolutions, largest_of_four, patches
from handwriting.pixels import image_to_word
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import set_dropout_rate

from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.learning.objectives import objective_named

from ...layers.helpers import VOCAB, zeros
from .toy import WORDS, image_of

L = 3
SHAPES = [(4, 2, 1), (2, 6, 3), (6, 4, 2)]


def doc_of(text, seed=0, noise=0.1, vocab=VOCAB):
    words = [image_to_word(image_of(letter, 100 * seed + i, noise)) for i, letter in enumerate(text)]
    return Doc(vocab, words=words)


DOCS = [doc_of("bad"), Doc(VOCAB), doc_of("e", 1), doc_of("cade", 2)]


def network(seed=0, n_labels=L, **settings):
    """A small one, initialized, of random weights everywhere."""
    fix_random_seed(seed)
    model = PixelConvolutions(**{"maps": 2, "deeper_maps": 3, "width": 5, **settings})
    model.initialize(X=DOCS, Y=zeros(DOCS, n_labels))
    rng = np.random.default_rng(seed)
    for node, name in parameters_of(model):
        node.set_param(name, rng.normal(size=node.get_param(name).shape).astype(np.float32))
    return model


def nodes_of(model):
    return list(model.walk(order="dfs_pre"))


def parameters_of(model):
    return [(node, name) for node in nodes_of(model) for name in node.param_names if node.has_param(name)]


def plain_patches(image):
    """(height, width, channels) -> for each place, for each channel, the nine values around it."""
    height, width, channels = len(image), len(image[0]), len(image[0][0])
    rows = []
    for r, c in itertools.product(range(height), range(width)):
        row = []
        for channel in range(channels):
            for down, right in itertools.product((-1, 0, 1), (-1, 0, 1)):
                inside = 0 <= r + down < height and 0 <= c + right < width
                row.append(image[r + down][c + right][channel] if inside else 0)
        rows.append(row)
    return rows


def plain_largest(image):
    """(height, width, channels) -> (height / 2, width / 2, channels)."""
    height, width, channels = len(image), len(image[0]), len(image[0][0])
    return [
        [
            [max(image[2 * r + i][2 * c + j][m] for i in (0, 1) for j in (0, 1)) for m in range(channels)]
            for c in range(width // 2)
        ]
        for r in range(height // 2)
    ]


def whole_numbers(rng, *shape):
    return rng.integers(-9, 10, size=shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("shape", [*SHAPES, (16, 8, 1)])
def test_patches(shape, n):
    images = whole_numbers(np.random.default_rng(n), n, *shape)
    found = patches(*shape).predict(images.reshape(n, -1))
    expected = [row for image in images.tolist() for row in plain_patches(image)]
    assert found.tolist() == expected and found.dtype == np.float32
    assert found.shape == (n * shape[0] * shape[1], 9 * shape[2])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("shape", [*SHAPES, (16, 8, 2)])
def test_largest_of_four(shape, n):
    images = whole_numbers(np.random.default_rng(n), n, *shape)
    found = largest_of_four(*shape).predict(images.reshape(-1, shape[2]))
    assert found.tolist() == [np.ravel(plain_largest(image)).tolist() for image in images.tolist()]
    assert found.shape == (n, shape[0] * shape[1] * shape[2] // 4) and found.dtype == np.float32


def differences(model, X, dY, step):
    """d (dY . model(X)) / dX by finite differences, entry by entry."""
    result = np.zeros(X.shape)
    for place in np.ndindex(*X.shape):
        sides = []
        for sign in (1, -1):
            moved = X.copy()
            moved[place] += sign * step
            sides.append(float((model.predict(moved) * dY).sum()))
        result[place] = (sides[0] - sides[1]) / (2 * step)
    return result


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_of_patches(shape):
    rng = np.random.default_rng(5)
    model, X = patches(*shape), whole_numbers(rng, 2, int(np.prod(shape)))
    Y, backprop = model.begin_update(X)
    dY = whole_numbers(rng, *Y.shape)
    dX = backprop(dY)
    assert np.array_equal(Y, model.predict(X))
    assert dX.shape == X.shape and np.array_equal(dX, differences(model, X, dY, 1))
    assert backprop(dY).tolist() == dX.tolist(), "nothing is kept from call to call"


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_of_largest_of_four(shape):
    rng = np.random.default_rng(6)
    size = 2 * int(np.prod(shape))
    model, X = largest_of_four(*shape), rng.permutation(size).reshape(-1, shape[2]).astype(np.float32)
    Y, backprop = model.begin_update(X)
    dY = whole_numbers(rng, *Y.shape)
    dX = backprop(dY)
    assert np.array_equal(Y, model.predict(X))
    assert dX.shape == X.shape and np.array_equal(dX, differences(model, X, dY, 0.25))
    assert np.count_nonzero(dX) <= Y.size


def test_of_equal_places_one_gets_the_gradient():
    model = largest_of_four(2, 4, 1)
    Y, backprop = model.begin_update(np.zeros((8, 1), np.float32))
    dX = backprop(np.array([[3, -2]], np.float32)).reshape(2, 4)
    assert Y.tolist() == [[0, 0]]
    assert [sorted(dX[:, half].reshape(-1).tolist()) for half in (slice(0, 2), slice(2, 4))] == [
        [0, 0, 0, 3], [-2, 0, 0, 0],
    ]  # fmt: skip


def plain_convolution(image, W, b):
    """3 x 3, zero outside, then max(0, .). W (maps, channels, 3, 3)."""
    height, width, channels = image.shape
    result = np.zeros((height, width, len(W)))
    for r, c, m in np.ndindex(*result.shape):
        total = float(b[m])
        for channel, i, j in np.ndindex(channels, 3, 3):
            if 0 <= r + i - 1 < height and 0 <= c + j - 1 < width:
                total += W[m, channel, i, j] * image[r + i - 1, c + j - 1, channel]
        result[r, c, m] = max(0.0, total)
    return result


def plain_scores(model, image):
    """The definition, for one image."""
    first, second, hidden, norm, output = [node for node in nodes_of(model) if node.param_names]
    image = image.reshape(16, 8, 1).astype(float)
    for layer, channels in ((first, 1), (second, 2)):
        W = layer.get_param("W").reshape(-1, channels, 3, 3)
        image = np.array(plain_largest(plain_convolution(image, W, layer.get_param("b")).tolist()))
    pieces = hidden.get_param("W").astype(float) @ image.reshape(-1) + hidden.get_param("b")  # (width, 2)
    largest = pieces.max(axis=1)
    normal = (largest - largest.mean()) / np.sqrt(largest.var() + 1e-8)
    normal = normal * norm.get_param("G") + norm.get_param("b")
    return output.get_param("W") @ normal + output.get_param("b")


def test_scores_are_those_of_the_definition():
    model = network()
    layers = [node.name for node in nodes_of(model) if node.param_names]
    assert layers == ["relu", "relu", "maxout", "layernorm", "linear"]
    scores = model.predict(DOCS)
    assert [part.shape for part in scores] == [(3, L), (0, L), (1, L), (4, L)]
    images = [image_of(c, 100 * s + i, 0.1) for s, text in enumerate(["bad", "e", "cade"]) for i, c in enumerate(text)]
    expected = np.array([plain_scores(model, image) for image in images])
    assert np.concatenate(scores) == pytest.approx(expected, abs=1e-3) and np.ptp(expected, axis=0).min() > 0.1


def test_learning_and_predicting_see_the_same():
    model = network()
    trained, _ = model.begin_update(DOCS)
    assert [part.tolist() for part in trained] == [part.tolist() for part in model.predict(DOCS)]
    parts = [model.predict([doc])[0] for doc in DOCS]
    assert np.concatenate(trained) == pytest.approx(np.concatenate(parts), abs=1e-4), "docs do not see each other"


def test_dropout():
    model = network(width=50)
    set_dropout_rate(model, 0.4)
    plain = np.concatenate(model.predict(DOCS))
    first, second = (np.concatenate(model.begin_update(DOCS)[0]) for _ in range(2))
    assert np.abs(first - plain).max() > 0.1 and np.abs(first - second).max() > 0.1
    assert np.array_equal(np.concatenate(model.predict(DOCS)), plain)
    set_dropout_rate(model, 0.0)
    assert np.array_equal(np.concatenate(model.begin_update(DOCS)[0]), plain)


def loss_of(model, weights):
    scores = np.concatenate(model.predict(DOCS)).astype(float)
    return float((scores * weights).sum())


@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_the_whole_model(seed):
    """Along the gradient itself and in a random direction, for every array of weights."""
    model = network(seed)
    rng = np.random.default_rng(seed)
    dY = [rng.normal(size=part.shape).astype(np.float32) for part in zeros(DOCS, L)]
    _, backprop = model.begin_update(DOCS)
    assert backprop(dY) == DOCS
    n_arrays = 0
    for node, name in parameters_of(model):
        value, gradient = node.get_param(name).copy(), node.get_grad(name).astype(float)
        size = np.linalg.norm(gradient)
        noise = rng.normal(size=gradient.shape)
        assert size > 1e-3, (node.name, name)
        for direction in (gradient / size, noise / np.linalg.norm(noise)):
            sides = []
            for sign in (1, -1):
                node.set_param(name, (value + sign * 2e-3 * direction).astype(np.float32))
                sides.append(loss_of(model, np.concatenate(dY)))
            node.set_param(name, value)
            slope = (sides[0] - sides[1]) / 4e-3
            assert slope == pytest.approx((gradient * direction).sum(), abs=0.02 * size + 5e-3), (node.name, name)
        n_arrays += 1
    assert n_arrays == 10


def test_gradients_add_up_over_docs():
    one, other = network(), network()
    dY = [np.ones((len(doc), L), np.float32) for doc in DOCS]
    one.begin_update(DOCS)[1](dY)
    for doc, part in zip(DOCS, dY, strict=True):
        other.begin_update([doc])[1]([part])
    for (node, name), (same, _) in zip(parameters_of(one), parameters_of(other), strict=True):
        assert node.get_grad(name) == pytest.approx(same.get_grad(name), abs=1e-3), (node.name, name)


@pytest.mark.parametrize("word", ["the", "\u2800" * 15, "\u2800" * 15 + "x", " "])
def test_token_that_is_no_image(word):
    doc = Doc(VOCAB, words=[image_to_word(image_of("a")), word])
    for use in (network().predict, network().begin_update):
        with pytest.raises(ValueError, match=rf"The token \"{word}\" is no image: expected 16 Braille"):
            use([DOCS[0], doc])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_no_tokens(n):
    model, docs = network(), [Doc(VOCAB) for _ in range(n)]
    assert [part.shape for part in model.predict(docs)] == [(0, L)] * n
    scores, backprop = model.begin_update(docs)
    assert [part.shape for part in scores] == [(0, L)] * n and backprop(scores) == docs
    assert not any(node.has_grad(name) for node, name in parameters_of(model))


def test_bytes_copies_and_pickles():
    model = network()
    fresh = PixelConvolutions(maps=2, deeper_maps=3, width=5).from_bytes(model.to_bytes())
    for other in (fresh, model.copy(), pickle.loads(pickle.dumps(model))):
        assert [part.tolist() for part in other.predict(DOCS)] == [part.tolist() for part in model.predict(DOCS)]
        assert other.get_dim("nO") == L
    assert np.concatenate(model.predict(DOCS)).any()


def test_initialization():
    fix_random_seed(1)
    model = PixelConvolutions(maps=2, deeper_maps=3, width=5)
    assert not model.has_dim("nO")
    model.initialize(X=DOCS, Y=zeros(DOCS, 7))
    assert model.get_dim("nO") == model.get_ref("output_layer").get_dim("nO") == 7
    shapes = {(node.name, name): node.get_param(name).shape for node, name in parameters_of(model)}
    assert shapes["maxout", "W"] == (5, 2, 4 * 2 * 3) and shapes["linear", "W"] == (7, 5)
    assert [part.tolist() for part in model.predict(DOCS)] == [part.tolist() for part in zeros(DOCS, 7)]
    relus = [node.get_param("W") for node in nodes_of(model) if node.name == "relu"]
    assert [W.shape for W in relus] == [(2, 9), (3, 18)] and all(W.any() for W in relus)


def test_sizes_unless_told_otherwise():
    model = PixelConvolutions(nO=26)
    model.initialize()
    assert model.get_dim("nO") == 26
    relus = [node.get_param("W").shape for node in nodes_of(model) if node.name == "relu"]
    assert relus == [(16, 9), (32, 9 * 16)]
    assert model.get_ref("output_layer").get_param("W").shape == (26, 256)
    assert [node.attrs["dropout_rate"] for node in nodes_of(model) if "dropout_rate" in node.attrs] == [0.0]


def test_model_of_a_config():
    text = '[model]\n@architectures = "spacy_hoseq.PixelConvolutions.v1"\nmaps = 3\ndeeper_maps = 4\nwidth = 6\n'
    model = spacy.registry.resolve(spacy.util.Config().from_str(text))["model"]
    model.initialize(X=DOCS, Y=zeros(DOCS, 2))
    assert [node.get_param("W").shape for node in nodes_of(model) if node.name == "relu"] == [(3, 9), (4, 27)]


def test_head_gives_the_network_the_gradient_of_the_loss():
    fix_random_seed(0)
    model = HigherOrderTagger(PixelConvolutions(maps=2, deeper_maps=3, width=5))
    model.initialize(X=DOCS, Y=zeros(DOCS, L))
    potentials, backprop = model.begin_update(DOCS)
    loss = objective_named("log_likelihood")(potentials, np.eye(L, dtype=bool)[[0, 1, 2, 0, 1, 1, 2, 0]])
    assert backprop(loss.gradient) == DOCS
    output = model.layers[0].get_ref("output_layer")
    assert output.get_grad("b") == pytest.approx(loss.gradient.scores.sum(axis=0), abs=1e-5)
    assert np.abs(output.get_grad("b")).max() > 0.1


@pytest.mark.long
@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_training_of_a_tagger(objective):
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    emissions = {"@architectures": "spacy_hoseq.PixelConvolutions.v1", "maps": 4, "deeper_maps": 8, "width": 24}
    patterns = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 3, "min_count": 2}
    head = {"@architectures": "spacy_hoseq.HigherOrderTagger.v1", "patterns": patterns, "emissions": emissions}
    nlp.add_pipe("hoseq_tagger", config={"objective": objective, "model": head})

    def examples(shift):
        docs = [(doc_of(text, i + shift, 0.02, nlp.vocab), text) for i, text in enumerate(WORDS)]
        return [Example.from_dict(doc, {"tags": list(text)}) for doc, text in docs]

    train = examples(0)
    optimizer = nlp.initialize(lambda: train)
    losses = [nlp.update(train, sgd=optimizer, drop=0.1, losses={})["hoseq_tagger"] for _ in range(120)]
    assert losses[-1] < 0.2 * losses[0] and np.isfinite(losses).all()
    unseen = examples(50)
    assert nlp.evaluate(unseen)["tag_acc"] > 0.9
    fresh = spacy.util.load_model_from_config(nlp.config, auto_fill=False).from_bytes(nlp.to_bytes())
    for eg in unseen:
        words = [token.text for token in eg.x]
        tags = [[t.tag_ for t in one.get_pipe("hoseq_tagger")(Doc(one.vocab, words=words))] for one in (nlp, fresh)]
        assert tags[0] == tags[1]
