"""Emissions of letter images by a small convolutional network."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Linear, Maxout, Model, Relu, chain, zero_init
from thinc.types import Floats2d

from .pixels import COLUMNS, ROWS, is_image, words_to_images

SIZE = 3  # pixels on a side of what a convolution sees
NO_IMAGE = (
    'The token "{word}" is no image: expected 16 Braille characters, one for each 4 x 2 pixels. Read the corpus '
    "with `spacy_hoseq.letter_corpus.v1`, or use emissions made for words."
)


@registry.architectures("spacy_hoseq.PixelConvolutions.v1")
def PixelConvolutions(
    maps: int = 16, deeper_maps: int = 32, width: int = 256, nO: int | None = None
) -> Model[list[Doc], list[Floats2d]]:
    """Label scores of tokens that are images (pixels.py), trained by `[training.optimizer]`.

    Two convolutions over 3 x 3 pixels with the largest of 2 x 2 kept after each, then one hidden layer and a linear
    one (LeCun, Bottou, Bengio & Haffner 1998). The dropout of `[training]` is that of the hidden layer.

    maps, deeper_maps (int): feature maps of the convolutions. width (int): of the hidden layer.
    RAISES ValueError: a token that is no image.
    """
    half = (ROWS // 2, COLUMNS // 2)
    features = half[0] // 2 * (half[1] // 2) * deeper_maps
    output = Linear(nO=nO, nI=width, init_W=zero_init)
    with Model.define_operators({">>": chain}):
        network: Model[Floats2d, Floats2d] = (
            patches(ROWS, COLUMNS, 1)
            >> Relu(maps, SIZE * SIZE)
            >> largest_of_four(ROWS, COLUMNS, maps)
            >> patches(*half, maps)
            >> Relu(deeper_maps, SIZE * SIZE * maps)
            >> largest_of_four(*half, deeper_maps)
            >> Maxout(width, features, nP=2, dropout=0.0, normalize=True)
            >> output
        )
    model: Model[list[Doc], list[Floats2d]] = Model(
        "pixel_convolutions",
        _forward,
        init=_init,
        layers=[network],
        dims={"nO": nO},
        refs={"output_layer": output},
    )
    return model


def _init(
    model: Model[list[Doc], list[Floats2d]],
    X: list[Doc] | None = None,
    Y: list[Floats2d] | None = None,
) -> None:
    if Y is not None:
        model.set_dim("nO", Y[0].shape[1])
        model.get_ref("output_layer").set_dim("nO", Y[0].shape[1])
    model.layers[0].initialize()


def _forward(
    model: Model[list[Doc], list[Floats2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    words = [token.text for doc in docs for token in doc]
    for word in words:
        if not is_image(word):
            raise ValueError(NO_IMAGE.format(word=word))
    pixels = model.ops.asarray2f(
        cast(Floats2d, words_to_images(words).reshape(len(words), ROWS * COLUMNS))
    )
    ends = np.cumsum([len(doc) for doc in docs])[:-1].tolist()
    if not words:
        nothing = model.ops.alloc2f(0, model.get_dim("nO"))
        return [nothing for _ in docs], lambda d_scores: docs
    scores, backprop_network = model.layers[0](pixels, is_train)

    def backprop(d_scores: list[Floats2d]) -> list[Doc]:
        backprop_network(model.ops.xp.concatenate(d_scores))
        return docs

    return cast(list[Floats2d], model.ops.xp.split(scores, ends)), backprop


def patches(height: int, width: int, channels: int) -> Model[Floats2d, Floats2d]:
    """(n, height * width * channels) -> (n * height * width, channels * 9): what is around each place, 0 outside."""
    return Model("patches", _patches, attrs={"shape": (height, width, channels)})


def _patches(
    model: Model[Floats2d, Floats2d], X: Floats2d, is_train: bool
) -> tuple[Floats2d, Callable[[Floats2d], Floats2d]]:
    height, width, channels = model.attrs["shape"]
    xp: Any = model.ops.xp
    n, reach = len(X), SIZE // 2
    padded: Any = xp.zeros((n, height + 2 * reach, width + 2 * reach, channels), dtype="f")
    padded[:, reach : reach + height, reach : reach + width] = X.reshape(
        (n, height, width, channels)
    )
    places = [(r, c) for r in range(SIZE) for c in range(SIZE)]
    Y = xp.stack([padded[:, r : r + height, c : c + width] for r, c in places], axis=-1)

    def backprop(dY: Floats2d) -> Floats2d:
        parts: Any = dY.reshape((n, height, width, channels, SIZE * SIZE))
        d_padded: Any = xp.zeros(padded.shape, dtype="f")
        for i, (r, c) in enumerate(places):
            d_padded[:, r : r + height, c : c + width] += parts[..., i]
        return cast(
            Floats2d, d_padded[:, reach : reach + height, reach : reach + width].reshape(X.shape)
        )

    return cast(Floats2d, Y.reshape((n * height * width, channels * SIZE * SIZE))), backprop


def largest_of_four(height: int, width: int, channels: int) -> Model[Floats2d, Floats2d]:
    """(n * height * width, channels) -> (n, height / 2 * width / 2 * channels): the largest of each 2 x 2 places."""
    return Model("largest_of_four", _largest, attrs={"shape": (height // 2, width // 2, channels)})


def _largest(
    model: Model[Floats2d, Floats2d], X: Floats2d, is_train: bool
) -> tuple[Floats2d, Callable[[Floats2d], Floats2d]]:
    height, width, channels = model.attrs["shape"]
    xp: Any = model.ops.xp
    n = len(X) // (4 * height * width)
    fours: Any = (
        X.reshape((n, height, 2, width, 2, channels)).transpose((0, 1, 3, 5, 2, 4)).reshape((-1, 4))
    )
    which = fours.argmax(axis=1)
    rows = xp.arange(len(fours))

    def backprop(dY: Floats2d) -> Floats2d:
        d_fours: Any = xp.zeros(fours.shape, dtype="f")
        d_fours[rows, which] = dY.reshape((-1,))
        spread = d_fours.reshape((n, height, width, channels, 2, 2)).transpose((0, 1, 4, 2, 5, 3))
        return cast(Floats2d, spread.reshape(X.shape))

    return cast(Floats2d, fours[rows, which].reshape((n, height * width * channels))), backprop
