"""Update rules for the rows of a weight table that an update touches: AdaGrad (Duchi, Hazan & Singer
2011), and that of the perceptron (Rosenblatt 1958; Collins 2002).
"""

from typing import Literal, get_args

import numpy as np

from ..arrays import AnyFloats
from ..errors import wrong_value

# which mean of the weights predicts (`Parameter`): of all updates, the last weights, of late ones
Averaging = Literal[True, False, "late"]


class AdaGrad:
    """w <- shrink(w - rate * (dw + l2 w) / sqrt(G)),  G <- G + (dw + l2 w)^2, elementwise.

    shrink(w) = sign(w) max(0, |w| - rate * l1 / sqrt(G)): the proximal step of an L1 penalty, which
    makes weights exactly zero. With l1 alone, weights pay when their feature occurs in an update.
    With l2, all weights pay at every update, as the log of a Gaussian prior needs it: 1 / (l2 *
    updates of an epoch) is its variance.

    learn_rate (float): > 0, the size of the first step of each weight.
    l1 (float): >= 0, makes weights exactly zero: smaller files with `log_likelihood` and
        `average = false`.
    l2 (float): >= 0, pulls all weights towards zero; updates take time for each of them.
    average (bool or str): predict with the mean of the weights over all updates; "late" = of late
        updates mostly; false = with the last weights.
    RAISES ValueError [HS027].
    """

    EPSILON = 1e-6  # starting value of G, against division by zero
    # starting value where weights were learnt before: from EPSILON, the first step would throw each
    # of them by `learn_rate`, whatever its gradient
    RESUMED = 1.0

    def __init__(
        self,
        learn_rate: float = 0.1,
        l1: float = 0.0,
        l2: float = 0.0,
        average: Averaging = True,
    ) -> None:
        check_number("learn_rate", learn_rate, above_zero=True)
        check_number("l1", l1)
        check_number("l2", l2)
        _check_average(average)
        self.learn_rate = learn_rate
        self.l1 = l1
        self.l2 = l2
        self.average = average
        self.is_sparse = not (l1 or l2)
        self.is_dense = bool(l2)

    def start(
        self, shape: tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats:
        """The rule's memory for a weight array of this shape: G - EPSILON, since memory full of
        zeros is none until it is written on. resumed (bool): its weights were learnt before."""
        if resumed:
            return np.full(shape, self.RESUMED - self.EPSILON, dtype)
        return np.zeros(shape, dtype)

    def step(
        self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats
    ) -> tuple[AnyFloats, AnyFloats]:
        """RETURNS new weights, new memory; all of one shape."""
        if self.l2:
            gradient = gradient + self.l2 * weights
        memory = memory + gradient * gradient
        rate = self.learn_rate / np.sqrt(memory + self.EPSILON)
        stepped = weights - rate * gradient
        if self.l1:
            stepped = np.sign(stepped) * np.maximum(0, np.abs(stepped) - rate * self.l1)
        return stepped, memory


class HeldAdaGrad:
    """AdaGrad that holds weights near those that were learnt before: with w0, the weight at its first
    update,

        g = dw + h (w - w0)        G <- G + g^2        w <- w - rate * g / sqrt(G)

    h is `hold` where w0 is not 0, and at most 1 where it is: of new features and labels. A weight is
    held in each update in which its row occurs, so that those of frequent features, which were learnt
    from much text, are held most: a Gaussian prior around w0 with the variance 1 / (h * updates with the
    feature), much as elastic weight consolidation has it (Kirkpatrick et al. 2017).

    hold (float): >= 0. learn_rate (float): > 0, the size of the first step of each weight.
    RAISES ValueError [HS027].
    """

    is_sparse = False  # w0 is remembered for whole rows
    is_dense = False
    average: Averaging = "late"

    def __init__(self, hold: float = 3.0, learn_rate: float = 0.03) -> None:
        check_number("hold", hold)
        check_number("learn_rate", learn_rate, above_zero=True)
        self.hold = hold
        self.learn_rate = learn_rate

    def start(
        self, shape: tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats:
        """G and w0 of each weight; G is 0 before its first update."""
        return np.zeros((*shape, 2), dtype)

    def step(
        self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats
    ) -> tuple[AnyFloats, AnyFloats]:
        """RETURNS new weights, new memory."""
        is_first = memory[..., 0] == 0
        growth = np.where(is_first, AdaGrad.RESUMED, memory[..., 0])
        origin = np.where(is_first, weights, memory[..., 1])
        held = np.where(origin == 0, min(self.hold, 1.0), self.hold)
        gradient = gradient + held * (weights - origin)
        growth = growth + gradient * gradient
        stepped = weights - self.learn_rate / np.sqrt(growth) * gradient
        return stepped, np.stack([growth, origin], axis=-1)


class Additive:
    """w <- w - rate * dw. With the perceptron objective and averaging: the averaged structured
    perceptron.

    learn_rate (float): > 0; for the plain perceptron it only scales all weights.
    average (bool or str): as for AdaGrad.
    RAISES ValueError [HS027].
    """

    is_sparse = False  # no memory
    is_dense = False

    def __init__(self, learn_rate: float = 1.0, average: Averaging = True) -> None:
        check_number("learn_rate", learn_rate, above_zero=True)
        _check_average(average)
        self.learn_rate = learn_rate
        self.average = average

    def start(
        self, shape: tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats:
        """The rule remembers nothing."""
        return np.zeros((shape[0],) + (0,) * (len(shape) - 1), dtype)

    def step(
        self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats
    ) -> tuple[AnyFloats, AnyFloats]:
        """RETURNS new weights, memory."""
        return weights - self.learn_rate * gradient, memory


def check_number(name: str, value: float, *, above_zero: bool = False) -> None:
    """RAISES ValueError [HS027]."""
    if not (np.isfinite(value) and (value > 0 or (value == 0 and not above_zero))):
        raise wrong_value(
            name, value, "a number above 0" if above_zero else "0 or a positive number"
        )


def _check_average(average: Averaging) -> None:
    """RAISES ValueError [HS027]."""
    if average not in get_args(Averaging):
        raise wrong_value("average", repr(average), ", ".join(map(repr, get_args(Averaging))))
