"""The convolutional network over letter images: layers against plain loops, gradients by finite differences.

Inputs of the single layers are whole numbers, so that single precision holds all sums and differences exactly.
"""

import numpy as np
import pytest
from handwriting.convolutions import PixelConvolutions
from handwriting.pixels import image_to_word
from spacy.tokens import Doc
from spacy.util import fix_random_seed

from ...layers.helpers import VOCAB, zeros
from .toy import image_of

L = 3


def doc_of(text, seed=0, noise=0.1, vocab=VOCAB):
    words = [
        image_to_word(image_of(letter, 100 * seed + i, noise)) for i, letter in enumerate(text)
    ]
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
    return [
        (node, name)
        for node in nodes_of(model)
        for name in node.param_names
        if node.has_param(name)
    ]


def plain_largest(image):
    """(height, width, channels) -> (height / 2, width / 2, channels)."""
    height, width, channels = len(image), len(image[0]), len(image[0][0])
    return [
        [
            [
                max(image[2 * r + i][2 * c + j][m] for i in (0, 1) for j in (0, 1))
                for m in range(channels)
            ]
            for c in range(width // 2)
        ]
        for r in range(height // 2)
    ]


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
    pieces = hidden.get_param("W").astype(float) @ image.reshape(-1) + hidden.get_param(
        "b"
    )  # (width, 2)
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
    images = [
        image_of(c, 100 * s + i, 0.1)
        for s, text in enumerate(["bad", "e", "cade"])
        for i, c in enumerate(text)
    ]
    expected = np.array([plain_scores(model, image) for image in images])
    assert (
        np.concatenate(scores) == pytest.approx(expected, abs=1e-3)
        and np.ptp(expected, axis=0).min() > 0.1
    )


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
            assert slope == pytest.approx((gradient * direction).sum(), abs=0.02 * size + 5e-3), (
                node.name,
                name,
            )
        n_arrays += 1
    assert n_arrays == 10
