"""General configurations: label sets, gaps and wildcards over a span of tokens (Qian et al. 2009,
section 2).

What they are; how they are decoded stands in `patterns/configurations.py`.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from ...errors import Errors
from .layout import ranges

MAX_STATES = 10_000


class Configurations(NamedTuple):
    """Configurations at given positions.

    first (M,): flat index of the first token of each span. sizes (M,): tokens of each span, >= 1; a
        span lies within one sequence.
    slots: the row of `sets` for each token of each span, all spans end to end. sets (Z, L) bool:
    sets of labels. weights (M,) float64: of any sign. max_states (int): limit on the states of one
    token.
    """

    first: Ints
    sizes: Ints
    slots: Ints
    sets: Mask
    weights: Floats
    max_states: int = MAX_STATES

    @property
    def last(self) -> Ints:
        """Flat index of the last token of each span. RETURNS (M,)."""
        return np.asarray(self.first + self.sizes - 1)

    def chosen(self, which: Ints, moved_by: AnyInts) -> "Configurations":
        """Some of them (M',), with tokens moved by so many places, (M',)."""
        starts = np.cumsum(self.sizes) - self.sizes
        slots = self.slots[ranges(starts[which], self.sizes[which])]
        return self._replace(
            first=self.first[which] + moved_by,
            sizes=self.sizes[which],
            slots=slots,
            weights=self.weights[which],
        )

    def matched(self, labels: AnyInts) -> Mask:
        """Which of them are matched by the labels (N,) of all sequences. RETURNS (M,) bool."""
        if not len(self.first):
            return np.zeros(0, bool)
        in_sets = self.sets[self.slots, labels[ranges(self.first, self.sizes)]]
        starts = np.cumsum(self.sizes) - self.sizes
        return np.asarray(np.logical_and.reduceat(in_sets, starts), bool)


def check_configurations(configurations: Configurations, lengths: AnyInts, n_labels: int) -> None:
    """RAISES ValueError [HS024]: sets of the wrong shape; [HS020]: a weight is NaN or infinite;
    [HS037]: a span that does not lie within one sequence, by its number."""
    first, sizes, slots, sets, weights, _ = configurations
    if sets.ndim != 2 or sets.shape[1] != n_labels or sizes.sum() != len(slots):
        raise ValueError(
            Errors.HS024.format(name="sets", got=sets.shape, expected=("any", n_labels))
        )
    ends = np.cumsum(lengths)
    sequence = np.searchsorted(ends, first, side="right")
    outside = (sizes < 1) | (first < 0) | (sequence >= len(ends))
    outside |= first + sizes > np.append(ends, 0)[np.minimum(sequence, len(ends))]
    bad = np.flatnonzero(outside | ~np.isfinite(weights))
    if len(bad):
        i = bad[0]
        name = f"configuration number {i}, tokens {first[i]} to {first[i] + sizes[i] - 1}"
        if outside[i]:
            problem = "does not lie within one sequence"
            raise ValueError(Errors.HS037.format(feature=name, problem=problem))
        raise ValueError(Errors.HS020.format(name=f"weight of {name}", n=1, size=len(weights)))
