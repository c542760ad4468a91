"""Label sequences of a batch: the best one, the k best, the most probable labels, random draws.

States of the lattices are exclusive (`longest_match.py`, `configurations.py`): each labelling is
exactly one path, whatever the signs of the weights. Without patterns the states are the labels, and
`k_best` is the k-best Viterbi algorithm. Checked against enumeration in tests/decoders.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from ..arrays import Labels
from ..errors import wrong_value
from .answers import best_labels, posterior
from .patterns import Lattice, k_best_paths, lattice_of, sample_paths
from .problem import TUNING, KBest, Paths, Potentials, Tuning, path_score, score_of_checked

Result = TypeVar("Result")


def decode_exact(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """The label sequences y* = argmax_y score(x, y) (`path_score`), for a batch of sequences, with
    their scores.

    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: as the algorithm used.
    RAISES ValueError [HS020-HS038].
    """
    labels = best_labels(potentials, tuning=tuning)
    return Paths(labels, score_of_checked(potentials, labels))


def max_marginal(potentials: Potentials) -> Paths:
    """The label of largest marginal at each token, whatever the others are, for a batch of
    sequences.

        y*_t = argmax_y p(y_t = y | x)

    It makes the expected number of right labels large, where `decode_exact` makes the probability
    that ALL are right large (minimum Bayes risk for the Hamming loss; Rabiner 1989, section
    III.B). Needs potentials learnt as probabilities (objective `log_likelihood`) to be worth its
    time.

    RETURNS (Paths): scores are score(x, y*), -inf if y* uses a forbidden transition, which this
    criterion does not exclude. Ties: the lowest label. RAISES ValueError as `posterior`.
    """
    labels = posterior(potentials).nodes.argmax(axis=1).astype(np.int32)
    return Paths(labels, path_score(potentials, labels))


def k_best(potentials: Potentials, k: int) -> KBest:
    """The k labellings of highest score of a whole batch; of one sequence, its k best label
    sequences.

    Maximises the objective of `path_score`; weights of patterns and configurations may be negative.
    The single best one is that of `decode_exact`, which prunes. Schwartz & Chow (1990); Huang &
    Chiang (2005), algorithm 2.

    RETURNS (KBest): labels (m, N) int32, scores (m,) float64, best first, m <= k; distinct. Ties:
    lowest state. A batch without tokens has one empty labelling of score 0.
    RAISES ValueError [HS020-HS038].

    Time O(T S L k log(S L k)) a sequence for S states (the nodes of the trie), memory O(T S k).
    """
    if k == 1:
        paths = decode_exact(potentials)
        return KBest(paths.labels[None], paths.scores.sum(keepdims=True))
    return combine(_of_each(potentials, partial(k_best_paths, k=k)), k)


def combine(parts: Iterable[KBest], k: int) -> KBest:
    """The k best labellings of independent sequences, laid end to end. RETURNS (KBest): labels (m,
    N).

    RAISES ValueError [HS027].
    """
    if k < 1:
        raise wrong_value("k", k, "1 or more")
    best = KBest(np.zeros((1, 0), np.int32), np.zeros(1))
    for part in parts:
        total = (best.scores[:, None] + part.scores).reshape(-1)
        order = np.argsort(-total, kind="stable")[:k]
        before, here = np.divmod(order, len(part.scores))
        best = KBest(np.concatenate([best.labels[before], part.labels[here]], axis=1), total[order])
    return best


def sample(potentials: Potentials, n_samples: int, rng: np.random.Generator) -> Labels:
    """Independent draws from p(y | x) = exp(score(x, y)) / Z(x) (`path_score`), for a batch of
    sequences: sums forward, draws backward (Scott 2002, section 2.2).

    rng: where chance comes from; nothing global is touched.
    RETURNS (n_samples, N) int32. RAISES ValueError [HS020-HS038]; [HS027]: `n_samples`
    below 1.

    Time O(T S L) a sequence for S states (the nodes of the trie) and O(T S) for each distinct state
    drawn; memory O(T S).
    """
    check_n_samples(n_samples)
    nothing = np.zeros((n_samples, 0), np.int32)
    samples = _of_each(potentials, partial(sample_paths, n_samples=n_samples, rng=rng))
    return np.concatenate([nothing, *samples], axis=1)


def check_n_samples(n_samples: int) -> None:
    """RAISES ValueError [HS027]: fewer than one sample."""
    if n_samples < 1:
        raise wrong_value("n_samples", n_samples, "1 or more")


def _of_each(potentials: Potentials, walk: Callable[[Lattice], Result]) -> Iterator[Result]:
    """A walk over the lattice of each sequence. RAISES NoPath, by its number in the batch."""
    for part in potentials.check().one_by_one():
        with part.numbered() as one:
            result = walk(lattice_of(one))
        yield result


@runtime_checkable
class Decoder(Protocol):
    """A function from potentials to labellings that they permit, with their scores."""

    def __call__(self, potentials: Potentials, /) -> Paths: ...


# by the short names that configs use
DECODERS: dict[str, Decoder] = {"exact": decode_exact, "max_marginal": max_marginal}


def make_exact() -> Decoder:
    """`decode_exact`, for a config."""
    return decode_exact


def make_max_marginal() -> Decoder:
    """`max_marginal`, for a config."""
    return max_marginal
