"""Dual decomposition: the chain and every pattern solve their own problem, Lagrange multipliers
make them agree.

    max_y f(y) + sum_p phi_p [y agrees with z^p]    <=    D(u) = max_y [f(y) + sum_p u_p(y)]
                                                              + sum_p max_v [phi_p [v = z^p] - u_p(v)]

for all multipliers u_p(t, label) on the tokens that pattern p covers. D is made small by the
subgradient method. Where the chain's labels and those of all patterns agree, both sides are equal:
the labels are CERTIFIED to be the best. (Rush, Sontag, Collins & Jaakkola 2010; Komodakis, Paragios
& Tziritas 2007; used by Qian & Liu, "Experiments", with one slave for each pattern, one for the
chain and 10 iterations.)
A pattern's own problem has a closed form: either z^p, or the
labels that minimise the multipliers one by one. The step is Polyak's: (D(u) - best score so far) /
|subgradient|^2.

Checked against enumeration in tests/experiments/test_papers.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.util import registry

from spacy_hoseq.arrays import AnyInts, Floats, Ints, Mask
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import Paths, Potentials, Weights, path_score
from spacy_hoseq.errors import Errors

from .instances import Instances, make_instances, refuse_others

TOLERANCE = 1e-9  # relative: a gap this small is rounding
MAX_CELLS = 4_000_000  # Lagrange multipliers kept at once


class Certified(NamedTuple):
    """The best labellings found, and how good they can at most be.

    labels (N,) int32. scores (S,) float64: their scores. bounds (S,): smallest D(u) seen; no
    labelling scores more. certified (S,) bool: bound = score, so the labelling is the best one.
    iterations (S,): subgradient steps taken.
    """

    labels: NDArray[np.int32]
    scores: Floats
    bounds: Floats
    certified: Mask
    iterations: Ints


@registry.misc("spacy_hoseq.dual_decomposition_decoder.v1")
class DualDecomposition:
    """A decoder. max_iterations (int): >= 1, steps after which the best labelling so far is taken.

    RAISES ValueError [HS027].
    """

    def __init__(self, max_iterations: int = 10) -> None:
        if max_iterations < 1:
            which = {"name": "max_iterations", "decoder": "dual_decomposition_decoder"}
            raise ValueError(
                Errors.HS027.format(**which, value=max_iterations, expected="1 or more")
            )
        self.max_iterations = max_iterations

    def __call__(self, potentials: Potentials) -> Paths:
        """The best labellings found. RETURNS (Paths): scores are true scores, of labellings that
        may not be the best.

        RAISES ValueError [HS020-HS027, HS020]; and general configurations, or scores of label pairs.
        """
        certified = self.solve(potentials)
        return Paths(certified.labels, certified.scores)

    def solve(self, potentials: Potentials, *, max_cells: int = MAX_CELLS) -> Certified:
        """The same, with bounds and certificates.

        Time O(iterations (N L^2 + P L)) for P = labels of all patterns, written out at their
        positions.
        """
        refuse_others(potentials, "dual_decomposition_decoder")
        weights = potentials.check().weights
        lengths = potentials.lengths
        n = len(lengths)
        if not weights.has_patterns:
            paths = decode_exact(potentials)
            return Certified(*paths, paths.scores.copy(), np.ones(n, bool), np.zeros(n, np.intp))
        labels = np.zeros(len(potentials.scores), np.int32)
        result = Certified(
            labels, np.zeros(n), np.zeros(n), np.zeros(n, bool), np.zeros(n, np.intp)
        )
        cells = (
            (np.count_nonzero(weights.node_weights) + 1)
            * weights.trie.max_length
            * weights.n_labels
        )
        for sequences in _parts(lengths, max(1, max_cells // cells)):
            part = potentials.select(sequences)
            with part.numbered() as some:
                solved = _solve(some, self.max_iterations)
            result.labels[part.tokens] = solved.labels
            for whole, piece in zip(result[1:], solved[1:], strict=True):
                whole[sequences] = piece
        return result


def _parts(lengths: AnyInts, max_tokens: int) -> "list[Ints]":
    """Consecutive sequences of at most about `max_tokens` tokens together."""
    group = np.cumsum(lengths) // max_tokens
    return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(group)) + 1)


def _solve(potentials: Potentials, max_iterations: int) -> Certified:
    scores = potentials.scores
    lengths = potentials.lengths
    n_tokens, n_labels = scores.shape
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    z = make_instances(potentials)
    best = np.full(len(lengths), -np.inf)
    bounds = np.full(len(lengths), np.inf)
    labels = np.zeros(n_tokens, np.int32)
    certified = np.zeros(len(lengths), bool)
    iterations = np.zeros(len(lengths), np.intp)
    multipliers = np.zeros((len(z.tokens), n_labels))  # u_p(t, label)
    of_pair = sequence[z.tokens]
    pairs = np.arange(len(z.tokens))
    chain = potentials._replace(weights=Weights(potentials.trans), fired=None)
    for _ in range(max_iterations):
        chain = chain._replace(scores=scores + sum_rows(z.tokens, multipliers, n_tokens))
        paths = decode_exact(chain)
        guess = paths.labels
        slaves, value = solve_slaves(z, multipliers)
        dual = paths.scores + np.bincount(sequence[z.last], weights=value, minlength=len(lengths))
        bounds = np.where(certified, bounds, np.minimum(bounds, dual))
        primal = path_score(potentials, guess)
        better = (primal > best) & ~certified
        best = np.where(better, primal, best)
        labels = np.where(better[sequence], guess, labels).astype(np.int32)
        iterations += ~certified
        chosen = guess[z.tokens]
        differ = chosen != slaves
        agree = np.bincount(of_pair, weights=differ, minlength=len(lengths)) == 0
        certified |= agree | (bounds - best <= TOLERANCE * (1 + np.abs(best)))
        if certified.all():
            break
        norm = 2.0 * np.bincount(of_pair, weights=differ, minlength=len(lengths))
        rate = np.where(certified, 0.0, (dual - best) / np.maximum(norm, 1.0))
        step = rate[of_pair[differ]]
        multipliers[pairs[differ], chosen[differ]] -= step
        multipliers[pairs[differ], slaves[differ]] += step
    return Certified(labels, best, bounds, certified, iterations)


def sum_rows(rows: Ints, values: Floats, n_rows: int) -> Floats:
    """Sum of the rows of `values` that belong to each of n_rows. rows (P,), values (P, L). RETURNS
    (n_rows, L).

    With z.tokens and the multipliers: what is added to the scores of the chain.
    """
    result = np.zeros((n_rows, values.shape[1]))
    order = np.argsort(rows, kind="stable")
    present, starts = np.unique(rows[order], return_index=True)
    if len(present):
        result[present] = np.add.reduceat(values[order], starts, axis=0)
    return result


def solve_slaves(z: Instances, multipliers: Floats) -> "tuple[Ints, Floats]":
    """The own problem of every pattern: max_v phi [v = z] - u(v).

    z: M patterns written out at their places, P labels in all. multipliers u (P, L). RETURNS the
    labels v (P,), and the values (M,).
    """
    if not len(z.tokens):
        return z.labels, np.zeros(0)
    free = multipliers.argmin(axis=1)
    lowest = multipliers[np.arange(len(free)), free]
    at_z = multipliers[np.arange(len(free)), z.labels]
    others = multipliers.copy()
    others[np.arange(len(free)), free] = np.inf
    second = others.argmin(axis=1)
    rise = others[np.arange(len(free)), second] - lowest  # least that one label less good costs
    matched = z.weights - np.add.reduceat(at_z, z.starts)
    unmatched = -np.add.reduceat(lowest, z.starts)
    # the cheapest labels are z itself: change one of them
    is_z = np.logical_and.reduceat(free == z.labels, z.starts)
    unmatched = unmatched - np.where(is_z, np.minimum.reduceat(rise, z.starts), 0.0)
    take_z = matched >= unmatched
    whose = np.repeat(np.arange(len(z.starts)), z.sizes)
    cheapest = rise == np.minimum.reduceat(rise, z.starts)[whose]
    first = np.flatnonzero(cheapest)[::-1]
    changed = np.zeros(len(z.starts), np.intp)
    changed[whose[first]] = first  # the first pair with the least rise
    labels = free.copy()
    swap = changed[is_z]
    labels[swap] = second[swap]
    return np.where(take_z[whose], z.labels, labels), np.maximum(matched, unmatched)
