"""Voting of directions: a baseline that Tsuruoka & Tsujii (2005, "Discussion") name, after Shen & Joshi (2003).

    y_t = argmax_y  P_lr(y_t = y | o) + P_rl(y_t = y | o)

P_lr is the product of p(y_t | y_{t-1}, o) over all t, P_rl that of p(y_t | y_{t+1}, o). The marginals of such a product
are exact after one pass, since each factor sums to one. Order 1.
"""

import numpy as np

from spacy_hoseq.arrays import AnyInts, Floats, Ints, Mask
from spacy_hoseq.decoders.bidirectional.local import LocalScores, check_local, log_probabilities

BEFORE, AFTER = 0, 1  # the slots of order 1


def vote(local: LocalScores, lengths: AnyInts, allowed: Mask | None = None) -> Ints:
    """The labels (N,) that both directions together hold most probable; the lowest of equal ones."""
    check_local(local, lengths, 1, allowed)
    both = sum(direction_marginals(local, lengths, slot, allowed) for slot in (BEFORE, AFTER))
    labels: Ints = np.argmax(both, axis=1)
    return labels


def direction_marginals(
    local: LocalScores, lengths: AnyInts, slot: int, allowed: Mask | None = None
) -> Floats:
    """P(y_t = y | o) of one direction (N, L). slot: BEFORE, from left to right; AFTER, from right to left."""
    marginals = np.zeros((local.n_tokens, local.n_labels))
    ends = np.cumsum(lengths)
    for end, length in zip(ends.tolist(), np.asarray(lengths).tolist(), strict=True):
        tokens = np.arange(end - length, end)
        if not length:
            continue
        outside = local.n_labels + slot
        seen = np.full(1, outside)
        weights = np.ones(1)
        for token in tokens if slot == BEFORE else tokens[::-1]:
            weights = weights @ conditionals(local, int(token), slot, seen, allowed)
            seen = np.arange(local.n_labels)
            marginals[token] = weights
    return marginals


def conditionals(
    local: LocalScores, token: int, slot: int, seen: Ints, allowed: Mask | None
) -> Floats:
    """p(y_t | neighbour = s, o) for each s in `seen`. RETURNS (len(seen), L)."""
    contexts = np.full((len(seen), 2), -1)
    contexts[:, slot] = seen
    tokens = np.full(1, token)
    scores = local(tokens, np.full(1, 1 << slot), np.zeros(len(seen), np.intp), contexts)
    return np.exp(log_probabilities(scores, np.full(len(seen), token), allowed))
