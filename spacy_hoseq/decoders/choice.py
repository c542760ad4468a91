"""The decoders that a config can choose from."""

from typing import Protocol, runtime_checkable

from .exact import decode_exact
from .max_marginal import max_marginal
from .patterns import decode_any_sign
from .problem import Paths, Potentials


@runtime_checkable
class Decoder(Protocol):
    """From potentials to labels, which `potentials.allowed` permits. Write your own: register a
    function that returns one in `spacy.registry.misc`."""

    def __call__(self, potentials: Potentials, /) -> Paths: ...


def exact_decoder() -> Decoder:
    """The best label sequence, by the cheapest exact algorithm for the features at hand
    (`answers/kernels.py`)."""
    return decode_exact


def any_sign_decoder() -> Decoder:
    """The best label sequence by longest matches, also where weights are not negative
    (`longest_match.py`)."""
    return decode_any_sign


def max_marginal_decoder() -> Decoder:
    """The most probable label of each token (`max_marginal.py`)."""
    return max_marginal


def algorithm_1_decoder() -> Decoder:
    """Algorithm 1 of Qian & Liu as printed: not exact, for comparison (`algorithm_1.py`)."""
    from .baselines.algorithm_1 import algorithm_1  # no other pipeline loads it

    return algorithm_1
