"""Maximum entropy with inequality constraints: weights that are learned online, or from all of a
text at once (`minimise`), and most of them exactly zero.

The model of largest entropy whose expected count of every feature differs from the observed one by
at most a width (Kazama & Tsujii 2003),

    | sum_n f(x_n) I(y_n = y) - sum_n f(x_n) p(y | x_n) |  <=  width        for every feature f and label y,

is p(y | x) = exp(sum_f w[f, y] f(x)) / Z(x) with the weights that maximise

    sum_n log p(y_n | x_n) - width * sum |w| .

A weight is zero unless its constraint holds with equality. Learning is by AdaGrad with proximal
steps (Duchi, Hazan & Singer 2011): with the gradient g of the negative log-likelihood of a batch,
and the share s of all tokens in it,

    G <- G + g^2        w <- shrink(w - rate * g / sqrt(G),  s * width * rate / sqrt(G))

shrink(w, c) = sign(w) max(0, |w| - c). For a feature that does not occur in a batch, g = 0 and G
stays; so it can pay the penalties of several batches at once: when it occurs again, when all
weights pay, some times in an epoch, or when the weights are asked for. This is the same as paying
at every step, as the cumulative penalty of Tsuruoka, Tsujii & Ananiadou (2009) is for plain SGD.
Gradients may be taken at `values`, which owe a tenth of an epoch at most.

G starts at START and not near 0, from where the first step of a weight would have the size of
`rate` however small its gradient is: such weights are far from where they will be, and penalties
bring them back slowly. Weights that were learned before would be lost at the first penalty.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloats, Floats32, Ints
from ..errors import Errors, wrong_value
from .adagrad import check_number
from .gradients import RowGradient
from .used_rows import UsedRows

ROWS_PER_STEP = 512  # worked on together: they stay in the processor's cache through all steps
START = 1.0  # of G: as if one count had been missing


class InequalityWeights:
    """The weights of a classifier in training.

    n_rows, n_labels (int): features and labels. learn_rate (float): > 0, the size of the first
        step.
    width (float): >= 0, in counts of the training data; 0 is maximum likelihood.
    n_tokens (int): tokens that an epoch has. start (float): > 0, of G.
    values (R, L): the weights, but for penalties that are due.
    RAISES ValueError [HS027].
    """

    def __init__(
        self,
        n_rows: int,
        n_labels: int,
        *,
        learn_rate: float,
        width: float,
        n_tokens: int,
        start: float = START,
    ) -> None:
        check_inequality_settings(learn_rate, width)
        self.values: Floats32 = np.zeros((n_rows, n_labels), np.float32)
        self._learn_rate = np.float32(learn_rate)
        self._rate = np.float32(learn_rate / np.sqrt(start))
        # learn_rate / sqrt(G); 0 of a row that was never touched, which takes no memory
        self._rates: Floats32 = np.zeros((n_rows, n_labels), np.float32)
        self._width = width
        self._penalty = width / max(1, n_tokens)  # a token
        self._payment = width / 10  # all weights pay ten times in an epoch
        self._due = 0.0  # penalty of all steps so far
        self._all_paid = 0.0  # and at the last payment of all
        self._paid = np.zeros(n_rows)
        self._used = np.zeros(n_rows, bool)  # rows that may have a weight that is not zero

    def resume(self, rows: NDArray[np.generic], values: NDArray[np.generic]) -> None:
        """Start from weights learned before. rows (n,), values (n, L)."""
        self.values[rows] = values
        self._rates[rows] = self._rate
        self._used[rows] = True

    def step(self, rows: NDArray[Any], gradient: Floats32, n_tokens: int) -> None:
        """Learn from a batch of `n_tokens`. rows (n,) distinct; gradient (n, L): of
        the negative log-likelihood.

        RAISES ValueError [HS020]: NaN or infinite gradient.
        """
        if not np.isfinite(gradient).all():
            raise ValueError(
                Errors.HS020.format(
                    name="gradient of a local classifier",
                    n=(~np.isfinite(gradient)).sum(),
                    size=gradient.size,
                )
            )
        penalty = self._penalty * n_tokens
        self._rates[rows[self._rates[rows, 0] == 0]] = self._rate
        for start in range(0, len(rows), ROWS_PER_STEP):
            block = slice(start, start + ROWS_PER_STEP)
            self._step_block(rows[block], gradient[block], np.float32(penalty))
        self._due += penalty
        self._used[rows] = True
        self._paid[rows] = self._due
        if self._due - self._all_paid > self._payment:
            self._pay()

    def _step_block(self, rows: NDArray[Any], gradient: Floats32, penalty: np.float32) -> None:
        """Rows (n,) that stay in the processor's cache. penalty (float): of this step."""
        rate = self._rates.take(rows, axis=0)
        owed = (self._due - self._paid[rows]).astype(np.float32)
        weights = shrink(self.values.take(rows, axis=0), owed[:, None] * rate)
        growth = rate * gradient  # G becomes (learn_rate / rate)^2 + gradient^2
        growth /= self._learn_rate
        growth *= growth
        growth += 1
        np.sqrt(growth, out=growth)
        rate /= growth
        self._rates[rows] = rate
        weights -= rate * gradient
        rate *= penalty
        self.values[rows] = shrink(weights, rate)

    def minimise(
        self, at: Callable[[], tuple[float, RowGradient]], counts: Ints, passes: int
    ) -> float:
        """Go to the weights that are best for all of a text: batch learning.

        Proximal gradient steps w <- shrink(w - g / D, width / D) with D = c sqrt(counts), where the
        curvature c is that of the last step: in turns the least and the largest one that fit it
        (Barzilai & Borwein 1988; Dai & Fletcher 2005; Wright, Nowak & Figueiredo 2009). The
        objective may rise on the way: the best weights are taken.

        at: negative log-likelihood and gradient of the text at `values`. counts (R,): how often
            features occur in it. passes (int): at least 1, over the text.
        RETURNS the negative log-likelihood.
        """
        scale = np.sqrt(np.maximum(counts, 1)).astype(np.float32)[:, None]
        best = np.inf, 0.0, self.values
        last: tuple[AnyFloats, AnyFloats] | None = None
        for i in range(passes):
            loss, (rows, part) = at()
            gradient = np.zeros_like(self.values)
            gradient[rows] = part
            value = loss + self._width * float(np.abs(self.values).sum(dtype=np.float64))
            if value < best[0]:
                best = value, loss, self.values
            curvature = np.abs(gradient / scale).max() / self._learn_rate
            if last is not None:
                moved = self.values - last[0]
                changed = gradient - last[1]
                # (1e-30 keeps divisions by zero away)
                along = max(float((moved * changed).sum()), 1e-30)
                if i % 2:  # the largest curvature that fits the last step, in turns with the least
                    curvature = float((changed * changed / scale).sum()) / along
                else:
                    curvature = along / max(float((moved * moved * scale).sum()), 1e-30)
            last = self.values, gradient
            steps = 1 / (max(curvature, 1e-3) * scale)  # no step is longer than a thousand scales
            self.values = shrink(self.values - steps * gradient, self._width * steps)
        _, loss, self.values = best
        self._used[:] = self.values.any(axis=1)
        self._paid[:] = self._due
        return loss

    def finish(self) -> UsedRows:
        """The weights once everything is paid; training can go on."""
        rows = np.flatnonzero(self._used)
        return UsedRows.of(self._paid_up(rows), rows, len(self._paid))

    def _pay(self) -> None:
        """All that is due."""
        rows = np.flatnonzero(self._used)
        for start in range(0, len(rows), ROWS_PER_STEP):
            block = rows[start : start + ROWS_PER_STEP]
            weights = self._paid_up(block)
            self.values[block] = weights
            self._used[block] = weights.any(axis=1)
        self._all_paid = self._due
        self._paid[:] = self._due

    def _paid_up(self, rows: Ints) -> Floats32:
        """Weights of some rows, less all that is due. RETURNS (n, L)."""
        owed = self._due - self._paid.take(rows)
        by = owed.astype(np.float32)[:, None] * self._rates.take(rows, axis=0)
        return shrink(self.values.take(rows, axis=0), by)


def shrink(weights: Floats32, by: Floats32) -> Floats32:
    """sign(w) max(0, |w| - by), by >= 0. RETURNS a new array."""
    near: Floats32 = np.minimum(weights, by)  # (np.clip is slower)
    np.maximum(near, -by, out=near)
    return np.subtract(weights, near, out=near)


def check_inequality_settings(learn_rate: float, width: float, passes: int = 0) -> None:
    """RAISES ValueError [HS027]."""
    check_number("learn_rate", learn_rate, above_zero=True)
    check_number("width", width)
    check_number("passes", passes)
    if passes > 10_000:
        raise wrong_value("passes", passes, "10,000 or fewer")
