"""p(y | x) of a chain whose scaled sums would lose digits (`forward_backward.py`): suffixes on
logarithms, which make it a chain whose arcs are probabilities.

    b_{t-1}(a) = log sum_y exp(trans[a, y] + scores[t, y] + b_t(y))
    p(y_t = y | y_{t-1} = a) = exp(trans[a, y] + scores[t, y] + b_t(y) - b_{t-1}(a))

With these for w, e and beta are 1, and alpha are marginals. Checked against enumeration in
tests/decoders/chain/test_posterior.py.
"""

from typing import Iterator

import numpy as np

from ...arrays import AnyInts, Floats, Ints
from ..problem import Layout, NoPath, Potentials, largest, make_layout, masked
from .chain_posterior import ChainPosterior, Run
from .forward_backward import Suffixes, multiply, sum_by_rank

CELLS = 1_000_000  # pairs of labels that are made together
EPSILON = float(np.finfo(np.float64).eps)
TOLERANCE = 1e-8  # of logarithms, after all steps
NEGLIGIBLE = 1e-18  # probability of a label that does not matter


class LogChain(ChainPosterior):
    """Of a chain without edge_scores, checked. keeps_digits (bool): if not, nothing can be asked.
    RAISES ValueError [HS023]."""

    def __init__(self, potentials: Potentials) -> None:
        layout = make_layout(potentials.lengths, len(potentials.scores))
        emissions = masked(potentials.scores, potentials.allowed)[layout.tokens]
        self._trans = potentials.weights.precise_trans
        self._logs = emissions.copy()  # scores + b, less the largest b of each token
        self._after = np.zeros(emissions.shape)  # b
        norms = np.zeros(len(emissions))
        for here, before in _parts(layout, self._trans, back=True):
            logs = _log_sums(self._trans + self._logs[here][:, None])
            norms[before] = _finite(logs.max(axis=1))
            self._logs[before] += logs - norms[before][:, None]
            self._after[before] = np.where(logs > -np.inf, logs, np.inf)  # nothing can follow
        first = self._logs[: len(layout.order)]
        log_z = _log_sums(first)
        if log_z.min(initial=0.0) == -np.inf:
            raise NoPath(int(layout.order[log_z == -np.inf].min()))
        alpha = np.zeros(emissions.shape)
        alpha[: len(first)] = np.exp(first - log_z[:, None])
        by_sequence = np.empty(len(log_z))
        by_sequence[layout.order] = log_z + sum_by_rank(norms, layout)
        ones = np.ones(alpha.shape)
        super().__init__(layout, by_sequence, ones, alpha, Suffixes(ones, ones), None)
        for here, before, weights in self._runs():
            alpha[here] = multiply(alpha[before], weights)
        # labels that hardly any labelling has may lose digits
        size = largest(self._logs[alpha > NEGLIGIBLE]) + largest(self._trans[self._trans > -np.inf])
        self.keeps_digits = 4 * EPSILON * len(layout.size_at_t) * size < TOLERANCE

    def _runs(self, *, back: bool = False) -> Iterator[Run]:
        for here, before in _parts(self.layout, self._trans, back=back):
            after = self._after[before][:, :, None]
            weights = np.exp(self._trans + self._logs[here][:, None] - after)
            yield Run(here, before, weights.swapaxes(1, 2) if back else weights)

    def _weight(self, tokens: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        logs = self._trans[earlier, later] + self._logs[self._place[tokens], later]
        logs -= self._after[self._place[tokens - 1], earlier]
        return np.asarray(np.exp(np.minimum(logs, 0.0)))


def _parts(layout: Layout, trans: Floats, *, back: bool) -> "Iterator[tuple[slice, slice]]":
    """Some sequences at one step, and the tokens before them, of all steps but the first."""
    size = max(1, CELLS // max(1, trans.size))
    steps = range(1, len(layout.size_at_t))
    for t in reversed(steps) if back else steps:
        here = layout.step(t)
        moved = here.start - layout.before(t).start
        for start in range(here.start, here.stop, size):
            stop = min(start + size, here.stop)
            yield slice(start, stop), slice(start - moved, stop - moved)


def _log_sums(logs: Floats) -> Floats:
    """log sum exp over the last axis, -inf of none."""
    top = _finite(logs.max(axis=-1, initial=-np.inf))
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(logs - top[..., None]).sum(axis=-1)))


def _finite(top: Floats) -> Floats:
    """0 for -inf."""
    return np.where(top > -np.inf, top, 0.0)
