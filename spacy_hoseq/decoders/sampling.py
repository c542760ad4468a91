"""Label sequences drawn from the posterior, by sums forward and draws backward (Scott 2002, section
2.2).

Checked against enumeration in tests/decoders/test_sampling.py.
"""

import numpy as np

from ..arrays import Labels
from ..errors import Errors
from .patterns import lattice_of, sample_paths
from .problem import Potentials


def sample(potentials: Potentials, n_samples: int, rng: np.random.Generator) -> Labels:
    """Independent draws from p(y | x) = exp(score(x, y)) / Z(x) (`path_score`), for a batch of
    sequences.

    rng: where chance comes from; nothing global is touched.
    RETURNS (n_samples, N) int32. RAISES ValueError [HS020-HS038]; [HS027]: `n_samples`
    below 1.

    Time O(T S L) a sequence for S states (the nodes of the trie) and O(T S) for each distinct state
    drawn; memory O(T S).
    """
    check_n_samples(n_samples)
    parts = [np.zeros((n_samples, 0), np.int32)]
    for part in potentials.check().one_by_one():
        with part.numbered() as one:
            parts.append(sample_paths(lattice_of(one), n_samples, rng))
    return np.concatenate(parts, axis=1)


def check_n_samples(n_samples: int) -> None:
    """RAISES ValueError [HS027]: no samples asked for."""
    if n_samples < 1:
        raise ValueError(Errors.HS027.format(name="n_samples", value=n_samples, expected="1 or more"))
