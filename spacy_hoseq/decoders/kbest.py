"""The k best label sequences, with label patterns and configurations of any sign.

States are exclusive (`longest_match.py`, `configurations.py`), so every labelling is exactly one path. With no
patterns the states are the labels and this is the k-best Viterbi algorithm (Schwartz & Chow 1990; Huang & Chiang
2005, algorithm 2).

Checked against enumeration in tests/decoders/test_kbest.py.
"""

from typing import List, Optional

import numpy as np

from ..arrays import AnyFloats, Mask
from ..errors import Errors
from .exact import decode_exact
from .higher_order.configurations import lattice_of
from .higher_order.lattice import k_best_paths
from .problem.configurations import Configurations
from .problem.layout import check_scores
from .problem.potentials import Potentials
from .problem.results import KBest
from .problem.trie import PatternScores


def k_best(
    scores: AnyFloats,
    trans: AnyFloats,
    k: int,
    *,
    patterns: Optional[PatternScores] = None,
    configurations: Optional[Configurations] = None,
    allowed: Optional[Mask] = None,
) -> KBest:
    """The k label sequences of highest score, of one sequence.

    Maximises the objective of `path_score`; weights of patterns and configurations may be negative.

    scores (T, L), trans (L, L), allowed (T, L): one sequence; T may be 0 (one empty labelling of score 0).
    RETURNS (KBest): labels (m, T) int32, scores (m,) float64, best first, m <= k; distinct. Ties: lowest state.
    RAISES ValueError [HS020-HS024, HS026, HS036-HS038].

    Time O(T S L k log(S L k)) for S states (the nodes of the trie), memory O(T S k).
    """
    if k < 1:
        raise ValueError(Errors.HS026.format(k=k))
    check_scores(scores, trans, allowed)
    if not len(scores):
        return KBest(np.zeros((1, 0), np.int32), np.zeros(1))
    return k_best_paths(lattice_of(scores, trans, patterns, configurations, allowed), k)


def combine(parts: List[KBest], k: int) -> KBest:
    """The k best labellings of independent sequences, laid end to end. RETURNS (KBest): labels (m, N).

    RAISES ValueError [HS026].
    """
    if k < 1:
        raise ValueError(Errors.HS026.format(k=k))
    whole = KBest(np.zeros((1, 0), np.int32), np.zeros(1))
    for part in parts:
        total = (whole.scores[:, None] + part.scores).reshape(-1)
        order = np.argsort(-total, kind="stable")[:k]
        left, right = np.divmod(order, len(part.scores))
        whole = KBest(np.concatenate([whole.labels[left], part.labels[right]], axis=1), total[order])
    return whole


def k_best_of(potentials: Potentials, allowed: Optional[Mask], k: int) -> KBest:
    """The k best labellings of a whole batch. RETURNS (KBest): labels (m, N). RAISES as `k_best`; [HS099]: edge_scores.

    The single best one is that of `decode_exact`, which prunes.
    """
    if k == 1:
        potentials.refuse_edge_scores("one sequence at a time")
        paths = decode_exact(potentials, allowed=allowed)
        return KBest(paths.labels[None], paths.scores.sum(keepdims=True))
    parts = []
    for scores, trans, patterns, configurations, mask, _ in potentials.sequences(allowed):
        parts.append(k_best(scores, trans, k, patterns=patterns, configurations=configurations, allowed=mask))
    return combine(parts, k)
