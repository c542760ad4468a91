"""Losses of a batch and their gradients.

Gold annotation is a mask: `gold[n, y]` says that label y is right at token n. One label: annotated. All labels:
nothing is known. Some: partly known ("not a verb"). With y* = the best labelling that the mask permits, g* = the best
of all:

    perceptron      score(g*) - score(y*)                                       Collins (2002)
    max_margin      max_y [score(y) + MARGIN * wrong labels of y] - score(y*)   Taskar et al. (2003)
    log_likelihood  log Z - log Z(labellings that the mask permits)             Lafferty et al. (2001)

Each is zero for a sequence without annotation. Where the mask leaves a choice, the first two are latent-variable
versions (the best permitted labelling stands for the gold one), the third sums over all permitted ones.
"""

from typing import Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ..decoders.forward_backward import forward_backward
from ..decoders.path_score import path_score
from ..decoders.potentials import Potentials, PotentialsGradient
from ..errors import Errors

MARGIN = 1.0  # score by which a wrong label has to lose; AdaGrad's step adapts to its scale, so it is no setting

Mask = NDArray[np.bool_]
Labels = NDArray[np.int32]


class Loss(NamedTuple):
    """value: sum over the batch's sequences, in score units (nats for the log-likelihood). gradient: of `value`."""

    value: float
    gradient: PotentialsGradient


Objective = Callable[[Potentials, Mask], Loss]


def perceptron(potentials: Potentials, gold: Mask) -> Loss:
    """score(best) - score(gold). Zero, with no update, where the best labelling is right."""
    return _difference(potentials, gold, margin=0.0)


def max_margin(potentials: Potentials, gold: Mask) -> Loss:
    """The structured hinge loss with Hamming cost, by loss-augmented decoding: emissions of wrong labels + MARGIN."""
    return _difference(potentials, gold, margin=MARGIN)


def log_likelihood(potentials: Potentials, gold: Mask) -> Loss:
    """Negative log-likelihood of a first-order CRF. RAISES ValueError [HS042]: there are label patterns."""
    if potentials.patterns is not None:
        raise ValueError(Errors.HS042)
    scores, trans, lengths, _ = potentials
    free = forward_backward(scores, trans, lengths)
    clamped = forward_backward(scores, trans, lengths, allowed=gold)
    gradient = PotentialsGradient(
        (free.marginals - clamped.marginals).astype(np.float32),
        free.transitions - clamped.transitions,
        np.zeros(0),
        np.zeros(0),
    )
    return Loss(float((free.log_z - clamped.log_z).sum()), gradient)


OBJECTIVES: Dict[str, Objective] = {
    "perceptron": perceptron,
    "max_margin": max_margin,
    "log_likelihood": log_likelihood,
}


def _difference(potentials: Potentials, gold: Mask, *, margin: float) -> Loss:
    """max_y [score(y) + margin * cost(y)] - score(best permitted y), with its subgradient."""
    augmented = potentials
    if margin:
        augmented = potentials._replace(scores=potentials.scores + np.float32(margin) * ~gold)
    guess = augmented.decode()
    reference = gold_labels(potentials, gold)
    scored = path_score(
        potentials.scores, potentials.trans, reference, potentials.lengths, patterns=potentials.patterns
    )
    value = float((guess.scores - scored).sum())
    return Loss(max(0.0, value), _counts(potentials, guess.labels, reference))


def gold_labels(potentials: Potentials, gold: Mask) -> Labels:
    """The gold labelling, or where the mask leaves a choice the best one that it permits. RETURNS (N,) int32."""
    if (gold.sum(axis=1) == 1).all():
        only: Labels = gold.argmax(axis=1).astype(np.int32)
        return only
    return potentials.decode(allowed=gold).labels


def _counts(potentials: Potentials, plus: Labels, minus: Labels) -> PotentialsGradient:
    """Feature counts of labelling `plus` less those of `minus`: the gradient of score(plus) - score(minus)."""
    n_tokens, n_labels = potentials.scores.shape
    scores = np.zeros((n_tokens, n_labels), np.float32)
    differs = np.flatnonzero(plus != minus)
    scores[differs, plus[differs]] = 1
    scores[differs, minus[differs]] = -1
    sequence = np.repeat(np.arange(len(potentials.lengths)), potentials.lengths)
    later = np.flatnonzero(sequence[1:] == sequence[:-1]) + 1
    trans = np.zeros(n_labels * n_labels)
    for labels, sign in ((plus, 1.0), (minus, -1.0)):
        pairs = labels[later - 1].astype(np.intp) * n_labels + labels[later]
        trans += sign * np.bincount(pairs, minlength=len(trans))
    nodes, fired = _pattern_counts(potentials, plus, minus)
    return PotentialsGradient(scores, trans.reshape(n_labels, n_labels), nodes, fired)


def _pattern_counts(
    potentials: Potentials, plus: Labels, minus: Labels
) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
    if potentials.patterns is None:
        return np.zeros(0), np.zeros(0)
    trie, _, fired = potentials.patterns
    nodes = np.zeros(len(trie))
    at_positions = np.zeros(0 if fired is None else len(fired.tokens))
    for labels, sign in ((plus, 1.0), (minus, -1.0)):
        found = trie.occurrences(labels, potentials.lengths)
        nodes += sign * np.bincount(found.nodes, minlength=len(trie))
        if fired is not None:
            present = np.isin(fired.tokens * len(trie) + fired.nodes, found.tokens * len(trie) + found.nodes)
            at_positions += sign * present
    return nodes, at_positions


def objective_named(name: str) -> Objective:
    """RAISES ValueError [HS060]: no such objective."""
    objective: Optional[Objective] = OBJECTIVES.get(name)
    if objective is None:
        raise ValueError(Errors.HS060.format(objective=name, expected=", ".join(OBJECTIVES)))
    return objective
