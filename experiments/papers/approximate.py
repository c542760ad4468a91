"""Approximate inference that the papers name as baselines: Gibbs sampling (Finkel, Grenager & Manning 2005) and loopy
belief propagation, for chains with label patterns.

    p(y | x) ~ exp(sum_t scores[t, y_t] + trans[y_{t-1}, y_t] + sum_m w_m [y agrees with pattern m at its place])

Gibbs sampling is exact in the limit of many sweeps. Belief propagation is exact where the factors have no loops: for a
chain without longer patterns, and for patterns that do not overlap if `trans` is 0.
"""

from typing import NamedTuple

import numpy as np
from baselines.instances import make_instances, refuse_others

from spacy_hoseq.arrays import Floats, Ints
from spacy_hoseq.decoders.problem import Potentials


class Factors(NamedTuple):
    """What a labelling scores, written out at its places.

    unary (N, L). pairs (N, L, L): labels of the token before and of the token itself, 0 at the first token of a
    sequence. follows (N,) bool: the token has one before it in its sequence. Patterns of three labels and more: weights
    (M,), starts (M,): first of their (token, label) entries, tokens (P,), labels (P,), owner (P,): pattern of an entry.
    """

    unary: Floats
    pairs: Floats
    follows: Ints
    weights: Floats
    starts: Ints
    tokens: Ints
    labels: Ints
    owner: Ints


def factors_of(potentials: Potentials) -> Factors:
    """Patterns of one and two labels become part of the chain. RAISES ValueError as a decoder."""
    refuse_others(potentials, "approximate inference")
    potentials.check()
    unary = potentials.scores.astype(np.float64)
    if potentials.allowed is not None:
        unary = np.where(potentials.allowed, unary, -np.inf)
    n_tokens, n_labels = unary.shape
    follows = np.ones(n_tokens, bool)
    follows[np.cumsum(potentials.lengths)[:-1]] = False
    follows[:1] = False
    pairs = np.zeros((n_tokens, n_labels, n_labels))
    pairs[follows] = potentials.weights.precise_trans
    z = make_instances(potentials)
    sizes = z.sizes
    ones = np.flatnonzero(sizes == 1)
    np.add.at(unary, (z.tokens[z.starts[ones]], z.labels[z.starts[ones]]), z.weights[ones])
    twos = np.flatnonzero(sizes == 2)
    first = z.starts[twos]
    np.add.at(pairs, (z.tokens[first + 1], z.labels[first], z.labels[first + 1]), z.weights[twos])
    possible = np.isfinite(unary[z.tokens, z.labels])
    long = (sizes > 2) & (
        np.bincount(np.repeat(np.arange(len(sizes)), sizes)[~possible], minlength=len(sizes)) == 0
    )
    entries = np.repeat(long, sizes)
    starts = np.cumsum(sizes[long]) - sizes[long]
    owner = np.repeat(np.arange(long.sum()), sizes[long])
    return Factors(
        unary, pairs, follows, z.weights[long], starts, z.tokens[entries], z.labels[entries], owner
    )


def gibbs(potentials: Potentials, sweeps: int, burn_in: int, seed: int = 0) -> Floats:
    """Marginals (N, L): the mean of p(y_t | all other labels) over the sweeps after the first `burn_in`."""
    sampler = _Sampler(factors_of(potentials), seed)
    total = np.zeros_like(sampler.factors.unary)
    for sweep in range(sweeps):
        conditionals = sampler.sweep(1.0)
        if sweep >= burn_in:
            total += conditionals
    return total / max(1, sweeps - burn_in)


def annealed(potentials: Potentials, sweeps: int, seed: int = 0) -> Ints:
    """Labels (N,) after sweeps whose temperature falls evenly from 1 to 1/100 (Finkel et al. 2005, section 3)."""
    sampler = _Sampler(factors_of(potentials), seed)
    for temperature in np.linspace(1.0, 0.01, sweeps):
        sampler.sweep(float(temperature))
    return sampler.labels


class _Sampler:
    """Draws one label after the other, given all others."""

    def __init__(self, factors: Factors, seed: int) -> None:
        self.factors = factors
        self.rng = np.random.default_rng(seed)
        self.labels: Ints = factors.unary.argmax(axis=1)
        differs = self.labels[factors.tokens] != factors.labels
        self.mismatches = np.bincount(
            factors.owner, weights=differs, minlength=len(factors.weights)
        ).astype(int)
        order = np.argsort(factors.tokens, kind="stable")
        ends = np.searchsorted(factors.tokens[order], np.arange(len(self.labels) + 1))
        self.entries: list[Ints] = [order[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def sweep(self, temperature: float) -> Floats:
        """Draw all labels anew. RETURNS (N, L): the probabilities that they were drawn with."""
        conditionals = np.empty_like(self.factors.unary)
        uniform = self.rng.random(len(self.labels))
        for t in range(len(self.labels)):
            conditionals[t] = _softmax(self._scores(t) / temperature)
            drawn = int(np.searchsorted(np.cumsum(conditionals[t]), uniform[t]))
            self._set(t, min(drawn, len(conditionals[t]) - 1))
        return conditionals

    def _scores(self, t: int) -> Floats:
        f = self.factors
        scores = f.unary[t].copy()
        if f.follows[t]:
            scores += f.pairs[t, self.labels[t - 1]]
        if t + 1 < len(self.labels) and f.follows[t + 1]:
            scores += f.pairs[t + 1, :, self.labels[t + 1]]
        entries = self.entries[t]
        owners = f.owner[entries]
        elsewhere = self.mismatches[owners] - (f.labels[entries] != self.labels[t])
        agree = elsewhere == 0
        np.add.at(scores, f.labels[entries[agree]], f.weights[owners[agree]])
        return scores

    def _set(self, t: int, label: int) -> None:
        entries = self.entries[t]
        wanted = self.factors.labels[entries]
        change = (wanted != label).astype(int) - (wanted != self.labels[t])
        self.mismatches[self.factors.owner[entries]] += change
        self.labels[t] = label


def belief_propagation(potentials: Potentials, iterations: int, damping: float = 0.0) -> Floats:
    """Marginals (N, L) by the sum-product algorithm, all messages at once in each iteration.

    A pattern sends its token t a message that is 1 for all labels but its own z_t, and there
    1 + (e^w - 1) prod_{s != t} q_s(z_s), where q_s is what token s tells the pattern. damping: share of the old message
    (its logarithm) that stays.
    """
    f = factors_of(potentials)
    n_tokens, n_labels = f.unary.shape
    right = np.zeros((n_tokens, n_labels))  # from the token before
    left = np.zeros((n_tokens, n_labels))  # from the token after
    bonus = np.zeros(len(f.tokens))  # logarithm of a pattern's message at its own label
    has_next = np.append(f.follows[1:], False) if n_tokens else f.follows
    for _ in range(iterations):
        belief = _belief(f, right, left, bonus)
        new_right = np.zeros_like(right)
        new_left = np.zeros_like(left)
        here = np.flatnonzero(f.follows)
        new_right[here] = _passed(belief[here - 1] - left[here - 1], f.pairs[here])
        before = np.flatnonzero(has_next)
        new_left[before] = _passed(
            belief[before + 1] - right[before + 1], f.pairs[before + 1].swapaxes(1, 2)
        )
        new_bonus = _pattern_messages(f, belief, bonus)
        right = damping * right + (1 - damping) * new_right
        left = damping * left + (1 - damping) * new_left
        bonus = damping * bonus + (1 - damping) * new_bonus
    return np.apply_along_axis(_softmax, 1, _belief(f, right, left, bonus)) if n_tokens else f.unary


def _belief(f: Factors, right: Floats, left: Floats, bonus: Floats) -> Floats:
    belief = f.unary + right + left
    np.add.at(belief, (f.tokens, f.labels), bonus)
    return belief


def _passed(incoming: Floats, pairs: Floats) -> Floats:
    """Messages (n, L) over edges: log sum over the label at the other end. incoming (n, L), pairs (n, L, L)."""
    joint = incoming[:, :, None] + pairs
    top = joint.max(axis=1, keepdims=True)
    message = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
    normalized: Floats = message - message.max(axis=1, keepdims=True)
    return normalized


def _pattern_messages(f: Factors, belief: Floats, bonus: Floats) -> Floats:
    if not len(f.tokens):
        return bonus
    told = _told(f, belief, bonus)
    whole = np.add.reduceat(told, f.starts)
    others = whole[f.owner] - told
    return np.log1p(np.expm1(f.weights[f.owner]) * np.exp(others))


def _told(f: Factors, belief: Floats, bonus: Floats) -> Floats:
    """log q_s(z_s) of every entry: the belief at its label without the pattern's own message, normalized."""
    rows = belief[f.tokens]
    own = np.arange(len(f.tokens)), f.labels
    rows[own] -= bonus
    top, total = _log_sum(rows)
    told: Floats = rows[own] - top - total
    return told


def _log_sum(rows: Floats) -> tuple[Floats, Floats]:
    top = rows.max(axis=1)
    return top, np.log(np.exp(rows - top[:, None]).sum(axis=1))


def _softmax(scores: Floats) -> Floats:
    shifted = np.exp(scores - scores.max())
    probabilities: Floats = shifted / shifted.sum()
    return probabilities
