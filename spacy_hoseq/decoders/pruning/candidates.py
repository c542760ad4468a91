"""Labels that can be on a best path, found without decoding.

Replace label k at one token by label j, and nothing else. If

    scores[t, j] - scores[t, k]  >  limits[j, k]

which is the most that k can have over j beside any neighbours (`limits.py`; in patterns that fire
at the token, too), then every labelling with k at t has a better one, and no best path has k at t.
It is tried with the best-scoring label of each token as j. The test is strict: labels on paths of
equal score stay, so ties are decided as before.

Checked label by label against all labellings in tests/decoders/pruning/test_candidates.py.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..problem import Fired, Weights, added_up, ranges
from .limits import ROUNDING, Limits

BLOCK_CELLS = 180_000  # (token, label) pairs that are compared at once, in the processor's cache


class Candidates(NamedTuple):
    """In lists: what is done with them costs what they are, not N x L.

    first (N + 1,): token n has the candidates first[n] to first[n + 1], at least one. labels (C,):
    ascending at each token. scores (C,): their emissions.
    """

    first: Ints
    labels: Ints
    scores: Floats

    @property
    def counts(self) -> Ints:
        """Candidates of each token. RETURNS (N,)."""
        return self.first[1:] - self.first[:-1]

    @property
    def tokens(self) -> Ints:
        """Token of each candidate. RETURNS (C,)."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)

    def of(self, tokens: Ints) -> "Candidates":
        """Those of some tokens, in their order."""
        sizes = self.counts.take(tokens)
        at = ranges(self.first.take(tokens), sizes)
        first = np.zeros(len(sizes) + 1, np.intp)
        np.cumsum(sizes, out=first[1:])
        return Candidates(first, self.labels.take(at), self.scores.take(at))

    def dense(self, n_labels: int) -> Tuple[Floats, Mask]:
        """Scores (N, L), 0 for other labels, and the candidates as a mask (N, L)."""
        shape = len(self.first) - 1, n_labels
        scores = np.zeros(shape)
        mask = np.zeros(shape, bool)
        at = self.tokens, self.labels
        scores[at] = self.scores
        mask[at] = True
        return scores, mask


class FiredLoss(NamedTuple):
    """Summed weight of the fired patterns that need a label at a token. cells (M,): token * L +
    label, ascending, distinct. weights (M,)."""

    cells: Ints
    weights: Floats

    def add(self, limits: AnyFloats, start: int) -> None:
        """To the limits (n, L) of the cells from `start` on, rounded upwards."""
        a, b = np.searchsorted(self.cells, [start, start + limits.size])
        weights = (self.weights[a:b] * (1 + ROUNDING)).astype(limits.dtype)
        limits.reshape(-1)[self.cells[a:b] - start] += weights


def candidate_labels(
    scores: AnyFloats,
    limits: Limits,
    *,
    allowed: Optional[Mask] = None,
    fired_loss: Optional[FiredLoss] = None,
    block_cells: int = BLOCK_CELLS,
) -> Candidates:
    """Labels that cannot be excluded in favour of the token's best-scoring allowed label.

    scores (N, L), allowed (N, L). RETURNS (Candidates): at least one label a token.
    """
    n_tokens, n_labels = scores.shape
    size = max(1, block_cells // max(1, n_labels))
    parts = []
    for start in range(0, n_tokens, size):
        block = slice(start, start + size)
        here = scores[block]  # (n, L)
        emissions = here if allowed is None else np.where(allowed[block], here, -np.inf)
        best = emissions.argmax(axis=1)
        top = emissions[np.arange(len(here)), best].astype(np.float64)
        reach = limits.of(best)  # (n, L)
        if fired_loss is not None:
            fired_loss.add(reach, start * n_labels)
        reach = reach + here
        kept = reach >= (top - ROUNDING * np.abs(top)).astype(here.dtype)[:, None]
        if allowed is not None:
            kept &= allowed[block]
        parts.append(np.flatnonzero(kept) + start * n_labels)
    cells = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.intp), *parts])
    tokens, labels = np.divmod(cells, max(1, n_labels))
    first = np.searchsorted(tokens, np.arange(n_tokens + 1))
    return Candidates(first, labels, scores.reshape(-1).take(cells).astype(np.float64))


def first_best(values: AnyFloats, first: Ints) -> Ints:
    """Index of the first largest value of each group first[n] : first[n + 1]. RETURNS (N,)."""
    starts = first[:-1]
    group = np.arange(len(starts)).repeat(first[1:] - starts)
    is_best = (values == np.maximum.reduceat(values, starts).take(group)).nonzero()[0]
    return np.asarray(is_best.take(group.take(is_best).searchsorted(np.arange(len(starts)))))


def fired_loss_of(
    fired: Optional[Fired], weights: Weights, lengths: AnyInts
) -> Optional[FiredLoss]:
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
