"""The k best label sequences, with label patterns and configurations of any sign.

States are exclusive (`longest_match.py`, `configurations.py`), so every labelling is exactly one
path. With no patterns the states are the labels and this is the k-best Viterbi algorithm (Schwartz
& Chow 1990; Huang & Chiang 2005, algorithm 2).

Checked against enumeration in tests/decoders/test_kbest.py.
"""

from typing import Iterable, Iterator

import numpy as np

from ..errors import Errors
from .choice import decode_exact
from .patterns import k_best_paths, lattice_of
from .problem import KBest, Potentials


def k_best(potentials: Potentials, k: int) -> KBest:
    """The k labellings of highest score of a whole batch; of one sequence, its k best label
    sequences.

    Maximises the objective of `path_score`; weights of patterns and configurations may be negative.
    The single best one is that of `decode_exact`, which prunes.

    RETURNS (KBest): labels (m, N) int32, scores (m,) float64, best first, m <= k; distinct. Ties:
    lowest state. A batch without tokens has one empty labelling of score 0.
    RAISES ValueError [HS020-HS038].

    Time O(T S L k log(S L k)) a sequence for S states (the nodes of the trie), memory O(T S k).
    """
    if k == 1:
        paths = decode_exact(potentials)
        return KBest(paths.labels[None], paths.scores.sum(keepdims=True))
    return combine(_of_each(potentials.check(), k), k)


def _of_each(potentials: Potentials, k: int) -> Iterator[KBest]:
    """The k best label sequences of each sequence."""
    for part in potentials.one_by_one():
        with part.numbered() as one:
            yield k_best_paths(lattice_of(one), k)


def combine(parts: Iterable[KBest], k: int) -> KBest:
    """The k best labellings of independent sequences, laid end to end. RETURNS (KBest): labels (m,
    N).

    RAISES ValueError [HS027].
    """
    if k < 1:
        raise ValueError(Errors.HS027.format(name="k", value=k, expected="1 or more"))
    whole = KBest(np.zeros((1, 0), np.int32), np.zeros(1))
    for part in parts:
        total = (whole.scores[:, None] + part.scores).reshape(-1)
        order = np.argsort(-total, kind="stable")[:k]
        left, right = np.divmod(order, len(part.scores))
        whole = KBest(
            np.concatenate([whole.labels[left], part.labels[right]], axis=1), total[order]
        )
    return whole
