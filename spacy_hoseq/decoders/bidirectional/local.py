"""Local classifiers: p(y_i | o, the labels of some neighbours), and which neighbours they see.

Inference of order k (Tsuruoka & Tsujii 2005, section 2) looks at the labels of the neighbours at
the offsets -k..-1 and 1..k, the SLOTS. Which of them a classifier sees is a bit mask over the
slots, `visible`: bit j is the slot OFFSETS[k][j]. There are 4 masks of order 1 and 16 of order 2,
and each is a classifier of its own.

Beyond the ends of a sequence the label is known: it is `before` (id L) or `after` (id L + 1).
Bidirectional strategies see these from the start.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors, wrong_value
from ..problem import check_allowed, check_lengths, largest

OFFSETS: dict[int, tuple[int, ...]] = {1: (-1, 1), 2: (-2, -1, 1, 2)}


class LocalScores(Protocol):
    """The classifiers of one batch of N tokens. p(y | ...) is proportional to exp(score)."""

    n_labels: int
    n_tokens: int

    def __call__(self, tokens: Ints, visible: Ints, owners: Ints, contexts: Ints) -> AnyFloats:
        """Scores of all labels at some tokens, each in one or more contexts.

        tokens, visible (Q,): the token of each query, and the mask of the classifier asked. owners
        (M,): the query of each context, not decreasing. contexts (M, 2k): labels in the slots, 0 <=
        label < L + 2; slots that the classifier does not see hold any label or -1. RETURNS (M, L).
        """
        ...


class EasiestPath(NamedTuple):
    """Labels and how they were found, all sequences end to end.

    labels (N,) int32. log_probabilities (N,) float64: log p(y_i | the labels of decided
    neighbours), when i was decided. earlier (N,): the decision before in the region of i, a token;
    -1 if i was the first of its sequence.
    """

    labels: NDArray[np.int32]
    log_probabilities: Floats
    earlier: Ints


def check_order(order: int) -> None:
    """RAISES ValueError [HS027]: an order other than 1 or 2."""
    if order not in OFFSETS:
        raise wrong_value("order", order, "1 or 2")


def check_local(local: LocalScores, lengths: AnyInts, order: int, allowed: Mask | None) -> None:
    """RAISES ValueError [HS022], [HS024], [HS027], [HS027]: what no strategy can work with."""
    check_order(order)
    check_lengths(lengths, local.n_tokens)
    check_allowed(allowed, (local.n_tokens, local.n_labels))


def log_probabilities(scores: AnyFloats, tokens: Ints, allowed: Mask | None) -> Floats:
    """log p(y | ...) among the allowed labels: score - log sum exp.

    scores (M, L). tokens (M,): whose scores they are. allowed (N, L), by token. RETURNS (M, L)
    float64.
    RAISES ValueError [HS020]: NaN or infinite scores.
    """
    _check_finite(scores, tokens)
    wide = scores.astype(np.float64)
    if allowed is not None:
        wide[~allowed[tokens]] = -np.inf
    wide -= wide.max(axis=1, keepdims=True)
    wide -= np.log(np.exp(wide).sum(axis=1, keepdims=True))
    return wide


def best_labels(scores: AnyFloats, tokens: Ints, allowed: Mask | None) -> tuple[Ints, Floats]:
    """The best label of each row, the lowest of equal ones, and its log probability among the
    allowed ones.

    This is -log(1 + sum of exp(score - best score) of the others), which keeps apart probabilities
    near 1. Arguments and errors are those of `log_probabilities`.
    """
    _check_finite(scores, tokens)
    if allowed is not None:
        scores = np.where(allowed[tokens], scores, -np.inf)
    label = scores.argmax(axis=1)
    rows = np.arange(len(tokens))
    others = np.subtract(scores, scores[rows, label][:, None], dtype=np.float64)
    np.exp(others, out=others)
    others[rows, label] = 0
    # einsum adds up short rows faster than sum(axis=1)
    return label, -np.log1p(np.einsum("ny->n", others))


def _check_finite(scores: AnyFloats, tokens: Ints) -> None:
    if not np.isfinite(largest(scores)):
        bad = ~np.isfinite(scores)
        row, label = np.argwhere(bad)[0]
        where = f"scores, first at token {tokens[row]}, label {label}"
        message = Errors.HS020.format(name=where, n=bad.sum(), size=scores.size)
        raise ValueError(message)


def edge_contexts(lengths: AnyInts, order: int, n_labels: int) -> tuple[Ints, Ints]:
    """Labels beyond the ends, before any token has a label. RETURNS visible (N,): slots beyond the ends of
    the sequence;
    contexts (N, 2k): L or L + 1 there, -1 in the other slots."""
    sizes = lengths.astype(np.intp)
    # (N,) position in the sequence
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    following = np.repeat(sizes, sizes) - place - 1  # (N,) tokens that follow
    contexts = np.full((len(place), 2 * order), -1, np.intp)
    visible = np.zeros(len(place), np.intp)
    for slot, offset in enumerate(OFFSETS[order]):
        beyond = place < -offset if offset < 0 else following < offset
        contexts[beyond, slot] = n_labels if offset < 0 else n_labels + 1
        visible[beyond] |= 1 << slot
    return visible, contexts


def contexts_of(labels: AnyInts, lengths: AnyInts, order: int, n_labels: int) -> Ints:
    """Labels in the slots of each token, when all tokens have one; -1 = not known. labels (N,).
    RETURNS (N, 2k)."""
    _, contexts = edge_contexts(lengths, order, n_labels)
    for slot, offset in enumerate(OFFSETS[order]):
        unknown = np.flatnonzero(contexts[:, slot] < 0)
        contexts[unknown, slot] = labels[unknown + offset]
    return contexts


def known_slots(contexts: Ints) -> Ints:
    """The slots that hold a label, as a mask. contexts (N, 2k). RETURNS (N,)."""
    bits = 1 << np.arange(contexts.shape[1])
    return np.asarray(((contexts >= 0) * bits).sum(axis=1))
