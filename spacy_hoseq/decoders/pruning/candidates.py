"""Labels that can be on a best path, found without decoding.

Replace label k at one token by label j, and nothing else. If

    scores[t, j] - scores[t, k]  >  bound[j, k]

which is the most that k can have over j beside any neighbours (`bounds.py`; in patterns that fire at
the token, too), then every labelling with k at t has a better one, and no best path has k at t.
It is tried with the best-scoring label of each token as j. The test is strict: labels on paths of
equal score stay, so ties are decided as before.

Checked label by label against all labellings in tests/decoders/pruning/test_pruned.py.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..problem import Candidates, Fired, Weights, added_up
from .bounds import ROUNDING, Bounds


class FiredLoss(NamedTuple):
    """Summed weight of the fired patterns that need a label at a token. cells (M,): token * L +
    label, ascending, distinct. weights (M,)."""

    cells: Ints
    weights: Floats

    def add(self, bounds: AnyFloats, start: int) -> None:
        """To the bounds (n, L) of the cells from `start` on, rounded upwards."""
        a, b = np.searchsorted(self.cells, [start, start + bounds.size])
        weights = (self.weights[a:b] * (1 + ROUNDING)).astype(bounds.dtype)
        bounds.reshape(-1)[self.cells[a:b] - start] += weights


def candidate_labels(
    scores: AnyFloats,
    bounds: Bounds,
    *,
    allowed: Mask | None = None,
    fired_loss: FiredLoss | None = None,
    block_cells: int = 180_000,
) -> Candidates:
    """Labels that cannot be excluded in favour of the token's best-scoring allowed label.

    scores (N, L), allowed (N, L). block_cells: (token, label) pairs that are compared at once, in the
    processor's cache. RETURNS (Candidates): at least one label a token.
    """
    n_tokens, n_labels = scores.shape
    size = max(1, block_cells // max(1, n_labels))
    parts = []
    for start in range(0, n_tokens, size):
        block = slice(start, start + size)
        here = scores[block]  # (n, L)
        emissions = here
        if allowed is not None:
            emissions = np.where(allowed[block], here, -np.inf)
        best = emissions.argmax(axis=1)
        top = emissions[np.arange(len(here)), best].astype(np.float64)
        highest = bounds.over(best)  # (n, L)
        if fired_loss is not None:
            fired_loss.add(highest, start * n_labels)
        highest = highest + here  # (single precision, or double as the scores are)
        is_candidate = highest >= (top - ROUNDING * np.abs(top)).astype(here.dtype)[:, None]
        if allowed is not None:
            is_candidate &= allowed[block]
        parts.append(np.flatnonzero(is_candidate) + start * n_labels)
    cells = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.intp), *parts])
    return Candidates.at(cells, scores)


def fired_loss_of(fired: Fired | None, weights: Weights, lengths: AnyInts) -> FiredLoss | None:
    """The weight that a change of label loses in patterns that fire at positions, in the sequence in
    which they end; None if nothing fires."""
    if fired is None or not len(fired.tokens):
        return None
    cells = []
    lost = []
    trie = weights.trie
    token = fired.tokens
    node = fired.nodes
    weight = fired.weights
    is_first = np.zeros(int(lengths.sum()), bool)
    is_first[lengths.cumsum() - lengths] = True
    while len(token):
        cells.append(token * weights.n_labels + trie.label.take(node))
        lost.append(weight)
        node = trie.parent.take(node)
        going_on = np.flatnonzero((node >= 0) & ~is_first.take(token))
        token = token.take(going_on) - 1
        node = node.take(going_on)
        weight = weight.take(going_on)
    return FiredLoss(*added_up(np.concatenate(cells), np.concatenate(lost)))
