"""The perceptron's rule: add gold, take away guess (Rosenblatt 1958; Collins 2002)."""

from typing import Tuple

import numpy as np

from ..arrays import AnyFloats
from ..errors import Errors


class Additive:
    """w <- w - rate * dw. With the perceptron objective and averaging: the averaged structured
    perceptron.

    learn_rate (float): > 0; for the plain perceptron it only scales all weights. RAISES ValueError
        [HS040].
    """

    def __init__(self, learn_rate: float = 1.0) -> None:
        if not (np.isfinite(learn_rate) and learn_rate > 0):
            raise ValueError(
                Errors.HS040.format(
                    name="learn_rate", value=learn_rate, expected="a number above 0"
                )
            )
        self.learn_rate = learn_rate

    def start(
        self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats:
        """The rule remembers nothing."""
        return np.zeros((shape[0],) + (0,) * (len(shape) - 1), dtype)

    def step(
        self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats
    ) -> Tuple[AnyFloats, AnyFloats]:
        """RETURNS new weights, memory."""
        return weights - self.learn_rate * gradient, memory
