"""Maximum entropy with inequality constraints: weights that are learned online, and most of them exactly zero.

The model of largest entropy whose expected count of every feature differs from the observed one by at most a width
(Kazama & Tsujii 2003),

    | sum_n f(x_n) I(y_n = y) - sum_n f(x_n) p(y | x_n) |  <=  width        for every feature f and label y,

is p(y | x) = exp(sum_f w[f, y] f(x)) / Z(x) with the weights that maximise

    sum_n log p(y_n | x_n) - width * sum |w| .

A weight is zero unless its constraint holds with equality. Learning is by AdaGrad with proximal steps (Duchi, Hazan &
Singer 2011): with the gradient g of the negative log-likelihood of a batch, and the share s of all tokens in it,

    G <- G + g^2        w <- shrink(w - rate * g / sqrt(G),  s * width * rate / sqrt(G))

shrink(w, c) = sign(w) max(0, |w| - c). For a feature that does not occur in a batch, g = 0 and G stays; so it can pay
the penalties of several batches at once, when it occurs again or when the weights are asked for. This is the same as
paying at every step, as the cumulative penalty of Tsuruoka, Tsujii & Ananiadou (2009) is for plain SGD.
"""

from typing import Any, Iterator

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats32
from ..errors import Errors

BLOCK_ROWS = 1024  # worked on together: they stay in the processor's cache through all steps


class InequalityWeights:
    """The weights of one classifier in training.

    n_rows, n_labels (int): features and labels. learn_rate (float): > 0, the size of the first step.
    width (float): >= 0, in counts of the training data; 0 is maximum likelihood.
    n_tokens (int): tokens that an epoch has. block_rows (int): rows that are worked on together.
    RAISES ValueError [HS040].
    """

    EPSILON = 1e-6  # starting value of G, against division by zero
    RESUMED = 1.0  # of weights that were learned before: as if one count had been missing

    def __init__(
        self,
        n_rows: int,
        n_labels: int,
        *,
        learn_rate: float,
        width: float,
        n_tokens: int,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        check_inequality_settings(learn_rate, width)
        self.values: Floats32 = np.zeros((n_rows, n_labels), np.float32)
        self._squares: Floats32 = np.full((n_rows, n_labels), self.EPSILON, np.float32)
        self._learn_rate = np.float32(learn_rate)
        self._penalty = width / max(1, n_tokens)  # a token
        self._block_rows = block_rows
        self._due = 0.0  # penalty of all steps so far
        self._paid = np.zeros(n_rows)

    def resume(self, rows: NDArray[Any], values: NDArray[Any]) -> None:
        """Start from weights learned before. rows (n,), values (n, L). Their G begins at RESUMED: from EPSILON, the
        first penalty would take back all that was learned."""
        self.values[rows] = values
        self._squares[rows] = self.RESUMED

    def read(self, rows: NDArray[Any]) -> Floats32:
        """Weights of distinct rows as they are now. RETURNS (n, L), a copy."""
        weights = np.empty((len(rows), self.values.shape[1]), np.float32)
        for part in _blocks(len(rows), self._block_rows):
            weights[part] = self._pay(rows[part])
        return weights

    def step(self, rows: NDArray[Any], gradient: Floats32, n_tokens: int) -> None:
        """Learn from a batch of `n_tokens`. rows (n,) distinct; gradient (n, L): of the negative log-likelihood.

        RAISES ValueError [HS041]: NaN or infinite gradient.
        """
        if not np.isfinite(gradient).all():
            raise ValueError(Errors.HS041.format(name="a local classifier", n=(~np.isfinite(gradient)).sum()))
        penalty = self._penalty * n_tokens
        for part in _blocks(len(rows), self._block_rows):
            at, change = rows[part], gradient[part]
            weights, squares = self._pay(at), self._squares[at]
            squares += change * change
            self._squares[at] = squares
            rate = np.sqrt(squares)
            np.divide(self._learn_rate, rate, out=rate)
            weights -= rate * change
            rate *= np.float32(penalty)
            self.values[at] = shrink(weights, rate)
        self._due += penalty
        self._paid[rows] = self._due

    def finish(self) -> Floats32:
        """All weights, everything paid. RETURNS (R, L), not to be changed."""
        for part in _blocks(len(self.values), self._block_rows):
            self._pay(np.arange(part.start, part.stop))
        return self.values

    def _pay(self, rows: NDArray[Any]) -> Floats32:
        """Take off what some rows owe. RETURNS their weights (n, L), a copy."""
        weights: Floats32 = self.values[rows]
        owed = (self._due - self._paid[rows]).astype(np.float32)
        if owed.any():
            rate = np.sqrt(self._squares[rows])
            np.divide(self._learn_rate * owed[:, None], rate, out=rate)
            weights = shrink(weights, rate)
            self.values[rows] = weights
            self._paid[rows] = self._due
        return weights


def shrink(weights: Floats32, by: Floats32) -> Floats32:
    """sign(w) max(0, |w| - by), by >= 0. RETURNS a new array."""
    near: Floats32 = np.minimum(weights, by)  # (np.clip is slower)
    np.maximum(near, -by, out=near)
    return np.subtract(weights, near, out=near)


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def check_inequality_settings(learn_rate: float, width: float) -> None:
    """RAISES ValueError [HS040]."""
    if not (np.isfinite(learn_rate) and learn_rate > 0):
        raise ValueError(Errors.HS040.format(name="learn_rate", value=learn_rate, expected="a number above 0"))
    if not (np.isfinite(width) and width >= 0):
        raise ValueError(Errors.HS040.format(name="width", value=width, expected="0 or a positive number"))
