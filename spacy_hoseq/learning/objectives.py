"""Losses of a batch and their gradients.

Gold annotation is a mask: `gold[n, y]` says that label y is right at token n. One label: annotated.
All labels: nothing is known. Some: partly known ("not a verb"). With y* = the best labelling that
the mask permits, g* = the best of all:

    perceptron      score(g*) - score(y*)                                       Collins (2002)
    max_margin      max_y [score(y) + costs of wrong labels of y] - score(y*)   Taskar et al. (2003)
    log_likelihood  log Z - log Z(labellings that the mask permits)             Lafferty et al. (2001)
    distillation    - sum_t sum_y q(y_t = y) log p(y_t = y), q by a teacher     Wang et al. (2020)

Each is zero for a sequence without annotation. Where the mask leaves a choice, the first two are
latent-variable versions (the best permitted labelling stands for the gold one), the third sums over
all permitted ones.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..arrays import AnyFloats, Ints, Labels, Mask
from ..decoders.answers import best_labels, posterior
from ..decoders.choice import Decoder, decode_exact
from ..decoders.problem import Potentials, PotentialsGradient, check_possible, matching, path_score

# cost of a wrong label: the score by which it has to lose; AdaGrad's step adapts to its scale
MARGIN = 1.0
MIN_PROBABILITY = 1e-300  # of a label in the loss, which would be infinite for an impossible one


class Loss(NamedTuple):
    """value: sum over the batch's sequences, in score units (nats for the log-likelihood).
    gradient: of `value`."""

    value: float
    gradient: PotentialsGradient


@runtime_checkable
class Objective(Protocol):
    """A function from potentials and gold labels to `Loss`.

    gold (N, L) bool: labels that the annotation permits, among those that the potentials allow.
    decode: finds the best labelling, in training as in prediction.
    costs (L, L) float32, [right, wrong]: by how much wrong labels have to lose with a margin; None =
        MARGIN.
    RAISES ValueError [HS023]: no gold labelling is possible, since the potentials forbid a
        transition.
    """

    def __call__(
        self,
        potentials: Potentials,
        gold: Mask,
        decode: Decoder = decode_exact,
        costs: AnyFloats | None = None,
    ) -> Loss: ...


def perceptron(
    potentials: Potentials,
    gold: Mask,
    decode: Decoder = decode_exact,
    costs: AnyFloats | None = None,
) -> Loss:
    """score(best) - score(gold). Zero, with no update, where the best labelling is right."""
    return _difference(potentials, gold, decode, potentials)


def max_margin(
    potentials: Potentials,
    gold: Mask,
    decode: Decoder = decode_exact,
    costs: AnyFloats | None = None,
) -> Loss:
    """The structured hinge loss with Hamming cost, by loss-augmented decoding: emissions of wrong
    labels + their cost, which is MARGIN without `costs`, and where the annotation leaves a
    choice."""
    margins = np.float32(MARGIN) * ~gold  # (N, L)
    if costs is not None:
        decided = np.flatnonzero(gold.sum(axis=1) == 1)
        margins[decided] = costs[gold[decided].argmax(axis=1)]
    return _difference(
        potentials, gold, decode, potentials._replace(scores=potentials.scores + margins)
    )


def log_likelihood(
    potentials: Potentials,
    gold: Mask,
    decode: Decoder = decode_exact,
    costs: AnyFloats | None = None,
) -> Loss:
    """Negative log-likelihood of a CRF; with label patterns, the sparse higher-order CRF of Qian et
    al. (2009).

    Sums over all labellings, exactly: `decode` is not used.
    """
    free = posterior(potentials)
    dtype = potentials.scores.dtype
    expected = free.expected.with_scores_in(dtype)
    labels = only_labels(gold)
    if labels is not None:
        check_possible(labels, potentials.trans, potentials.lengths)
        _add_counts(expected, potentials, [(labels, -1)])
        return Loss(float(free.log_z.sum() - path_score(potentials, labels).sum()), expected)
    clamped = posterior(potentials._replace(allowed=gold))
    change = expected - clamped.expected.with_scores_in(dtype)
    return Loss(float((free.log_z - clamped.log_z).sum()), change)


def distillation(
    potentials: Potentials,
    gold: Mask | AnyFloats,
    decode: Decoder = decode_exact,
    costs: AnyFloats | None = None,
) -> Loss:
    """Cross entropy between a teacher's marginals q and those of the student, p: its gradient with
    respect to p is -q / p, and `Posterior.backprop` takes it to the potentials.

    gold (N, L): q, or a mask: then q is p among the labels that it permits, and the loss -log of their
        probability. That is the log-likelihood if labels do not depend on each other. Rows of 0:
        nothing is known.
    """
    free = posterior(potentials)
    p = np.maximum(free.nodes, MIN_PROBABILITY)
    if gold.dtype == bool:
        permitted = np.where(gold, p, 0.0).sum(axis=1, keepdims=True)
        q = np.where(gold, p / permitted, 0.0)
        value = -float(np.log(permitted).sum())
    else:
        q = gold
        value = -float((q * np.log(p)).sum())
    return Loss(value, free.backprop(-q / p).with_scores_in(potentials.scores.dtype))


OBJECTIVES: dict[str, Objective] = {  # by the short names that configs use
    "perceptron": perceptron,
    "max_margin": max_margin,
    "log_likelihood": log_likelihood,
    "distillation": distillation,
}


def make_perceptron() -> Objective:
    """`perceptron`, for a config."""
    return perceptron


def make_max_margin() -> Objective:
    """`max_margin`, for a config."""
    return max_margin


def make_log_likelihood() -> Objective:
    """`log_likelihood`, for a config."""
    return log_likelihood


def make_distillation() -> Objective:
    """`distillation`, for a config."""
    return distillation


def _difference(potentials: Potentials, gold: Mask, decode: Decoder, augmented: Potentials) -> Loss:
    """max_y [score(y) + cost(y)] - score(best permitted y), with its subgradient. augmented: with
    the costs.

    A decoder that is not exact may find a guess below the reference; such a sequence teaches
    nothing and is left out (Huang, Fayong & Guo 2012: updates must be violations).
    """
    reference = gold_labels(potentials, gold)
    if decode is decode_exact:
        guess = best_labels(augmented)
    else:
        paths = decode(augmented)
        below = paths.scores < path_score(potentials, reference)  # (S,)
        guess = np.where(np.repeat(below, potentials.lengths), reference, paths.labels)
    # (`np.zeros` takes no memory until it is written on, `np.zeros_like` does)
    change = potentials.numbers.map(lambda part: np.zeros(part.shape, part.dtype))
    if (guess == reference).all():
        return Loss(0.0, change)
    _add_counts(change, potentials, [(guess, 1), (reference, -1)])
    return Loss(max(0.0, _dot(change, augmented)), change)


def _dot(counts: PotentialsGradient, potentials: Potentials) -> float:
    """The score that these feature counts have."""
    total = 0.0
    for part, weights in zip(counts, potentials.numbers, strict=True):
        if part is not None and weights is not None:
            total += _sum_product(part, weights)
    return total


def _sum_product(counts: AnyFloats, weights: AnyFloats) -> float:
    counts = counts.reshape(-1)
    weights = weights.reshape(-1)
    # a forbidden transition that is not used counts nothing, not 0 * -inf
    used = np.flatnonzero(counts != 0)
    return float(counts.take(used).astype(np.float64) @ weights.take(used).astype(np.float64))


def gold_labels(potentials: Potentials, gold: Mask) -> Labels:
    """The gold labelling, or where the mask leaves a choice the best one that it permits. RETURNS
    (N,) int32."""
    only = only_labels(gold)
    if only is None:
        return best_labels(potentials._replace(allowed=gold))
    check_possible(only, potentials.trans, potentials.lengths)
    return only


def only_labels(gold: Mask) -> Labels | None:
    """The labelling that is left if the mask permits one label everywhere, else None. RETURNS (N,)
    int32."""
    if np.count_nonzero(gold) != len(gold):
        return None
    first = gold.argmax(axis=1)
    if not gold[np.arange(len(gold)), first].all():  # none at some token, two at another
        return None
    labels: Labels = first.astype(np.int32)
    return labels


def _add_counts(
    gradient: PotentialsGradient, potentials: Potentials, labellings: Sequence[tuple[Labels, int]]
) -> None:
    """Adds the feature counts of labellings of the batch, each times a sign: the gradients of their
    scores. Into the arrays of the gradient, since of many labels another table of pairs would be
    missed; all of them in one search for patterns, whose cost for a small batch is mostly that of
    the calls."""
    n_tokens = len(potentials.scores)
    sequence = np.repeat(np.arange(len(potentials.lengths)), potentials.lengths)
    later = np.flatnonzero(sequence[1:] == sequence[:-1]) + 1
    weights = potentials.weights
    if weights.has_patterns:
        # one labelling behind the other, as if they were one batch
        stacked = np.concatenate([labels for labels, _ in labellings])
        lengths = np.tile(potentials.lengths, len(labellings))
        occurrences = weights.trie.occurrences(stacked, lengths)
        signs = np.array([sign for _, sign in labellings], np.float64)
        node_signs = signs[occurrences.tokens // n_tokens]
        counts = np.bincount(occurrences.nodes, node_signs, minlength=len(weights.trie))
        gradient.node_weights[:] += counts
    for labels, sign in labellings:
        earlier = labels[later - 1].astype(np.intp)
        gradient.scores[np.arange(n_tokens), labels] += sign
        pairs, n_times = np.unique(
            earlier * len(gradient.trans) + labels[later], return_counts=True
        )
        gradient.trans[np.divmod(pairs, len(gradient.trans))] += sign * n_times
        if gradient.edge_scores is not None:
            gradient.edge_scores[later, earlier, labels[later]] += sign
        if potentials.configurations is not None:
            gradient.configuration_weights[:] += sign * potentials.configurations.matched(labels)
        if potentials.fired is not None:
            has_label = partial(_has_label, labels)
            gradient.fired_weights[:] += sign * matching(
                potentials.fired, weights.trie, sequence, has_label
            )


def _has_label(labels: Labels, token: Ints, label: Ints) -> Mask:
    return np.asarray(labels[token] == label, bool)
