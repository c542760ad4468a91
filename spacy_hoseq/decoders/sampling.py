"""Label sequences drawn from the posterior, by sums forward and draws backward (Scott 2002, section 2.2).

Checked against enumeration in tests/decoders/test_sampling.py.
"""

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloats, Mask
from ..errors import Errors
from .higher_order.configurations import lattice_of
from .higher_order.lattice import sample_paths
from .problem.configurations import Configurations
from .problem.layout import check_scores
from .problem.potentials import Potentials
from .problem.trie import PatternScores


def sample(
    scores: AnyFloats,
    trans: AnyFloats,
    n_samples: int,
    rng: np.random.Generator,
    *,
    patterns: Optional[PatternScores] = None,
    configurations: Optional[Configurations] = None,
    allowed: Optional[Mask] = None,
) -> NDArray[np.int32]:
    """Independent draws from p(y | x) = exp(score(x, y)) / Z(x) (`path_score`), for one sequence.

    scores (T, L), trans (L, L), allowed (T, L); T may be 0. rng: where chance comes from; nothing global is touched.
    RETURNS (n_samples, T) int32. RAISES ValueError [HS020-HS024, HS036-HS038]; [HS029]: `n_samples` below 1.

    Time O(T S L) for S states (the nodes of the trie) and O(T S) for each distinct state drawn; memory O(T S).
    """
    check_n_samples(n_samples)
    check_scores(scores, trans, allowed)
    if not len(scores):
        return np.zeros((n_samples, 0), np.int32)
    return sample_paths(lattice_of(scores, trans, patterns, configurations, allowed), n_samples, rng)


def samples_of(
    potentials: Potentials, allowed: Optional[Mask], n_samples: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draws of a whole batch. RETURNS (n_samples, N) int32. RAISES as `sample`."""
    parts = [np.zeros((n_samples, 0), np.int32)]
    for scores, trans, patterns, configurations, mask, _ in potentials.sequences(allowed):
        draws = sample(scores, trans, n_samples, rng, patterns=patterns, configurations=configurations, allowed=mask)
        parts.append(draws)
    return np.concatenate(parts, axis=1)


def check_n_samples(n_samples: int) -> None:
    """RAISES ValueError [HS029]: no samples asked for."""
    if n_samples < 1:
        raise ValueError(Errors.HS029.format(n=n_samples))
