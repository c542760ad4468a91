"""Sums over exclusive states on logarithms: expected counts, entropies and samples, for weights of
any size and sign.

A labelling is one path of states u_1, u_2, ... (`lattice.py`), so that p(path) is a Markov chain,
whatever the states stand for. With alpha and beta the logarithms of the sums of all paths up to a
state and from it on

    p(u_t = u)                      proportional to  exp(alpha_t(u) + beta_t(u))
    p(u_{t-1} = v, u_t = u)         proportional to  exp(alpha_{t-1}(v) + arc(v, u) + gain_t(u) + beta_t(u))

Each is divided by its own sum over all states (or arcs) of the token, and log Z is not needed for
it. So rows sum to 1 however large log Z is. Nothing that all states of a token share is added to
what tells them apart: alpha, beta, gains and arcs are differences to the largest of their step.

Scores may be complex: then the imaginary parts of all results are derivatives in the direction of
those of the scores (`inclusive_sums.py`).

What float64 cannot know is refused. Rounding moves alpha + beta by at most EPSILON times the
magnitudes that have been added up; where that is above 1e-6, and a second state of the token
comes as close to the best one as that, their probabilities are not known (scores of 1e15 that
differ by 1 on the way are such).

Entropy. The labels up to a token are one path of states, and one more label is one arc from its
end. So

    h_t = H(y_t | y_1..y_{t-1}) = H(u_{t-1}, u_t) - H(u_{t-1}),    H(y) = h_1 + h_2 + ...

the chain rule over states (Hernando, Crespi & Cybenko 2005 have the sum in one walk forward).

Checked against enumeration, covariances and finite differences in
tests/decoders/test_posterior.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints, Labels
from ...errors import Errors
from ..problem import Groups, NoPath, Potentials, PotentialsGradient, Sums
from .lattice import Lattice, Step, with_ended

EPSILON = 2 * float(np.finfo(np.float64).eps)  # several roundings of half of it, in the worst case

Visit = Callable[[int, Floats, Floats], None]


def exclusive_sums(lattice: Lattice, potentials: Potentials) -> Sums:
    """log Z, -inf where there is no path, and expected counts of all features of the sequences of a
    lattice: what a path has of each feature is a sum over its states and arcs. RAISES ValueError as
    `lattice_sums`.

    Memory O(S + U) a token, and that of edge_scores.
    """
    counts = ExpectedCounts(lattice, potentials)
    by_rank = lattice_sums(lattice, counts.add)
    log_z = np.empty(len(by_rank))
    log_z[lattice.layout.order] = by_rank
    return Sums(log_z, counts.gradient())


class ExpectedCounts:
    """Expected counts of features, added up token by token. longest (U, N): packed, how probable each
    node is as the longest match. pairs (L * L,): of labels; edges (L * L, N), packed, the same at
    each token where text scores them."""

    def __init__(self, lattice: Lattice, potentials: Potentials) -> None:
        n_pairs = lattice.trie.n_labels**2
        n_tokens = len(potentials.scores)
        dtype = np.result_type(potentials.scores, np.float64)
        self._lattice = lattice
        self._potentials = potentials
        self._longest = np.zeros((len(lattice.trie), n_tokens), dtype)
        self._pairs = np.zeros(n_pairs, dtype)
        self._edges: Floats | None = None
        if potentials.edge_scores is not None:
            self._edges = np.zeros((n_pairs, n_tokens), dtype)
        self._configurations = np.zeros(len(potentials.numbers.configuration_weights), dtype)

    def add(self, t: int, states: Floats, arcs: Floats) -> None:
        """One step. states (S, n), arcs (E, n): their probabilities."""
        lattice = self._lattice
        here = lattice.layout.step(t)
        nodes = Groups(lattice.nodes(t))
        self._longest[nodes.keys, here] = nodes.added(states)
        ended, done = lattice.completed(t)
        if len(ended):
            self._configurations[ended] = (arcs if t else states)[:, 0] @ done
        if t == 0:
            return
        into = lattice.step(t).arcs
        earlier = lattice.labels(t - 1)[into.source]
        groups = Groups(earlier * lattice.trie.n_labels + lattice.labels(t)[into.target])
        pairs = groups.added(arcs)
        self._pairs[groups.keys] += pairs.sum(axis=1)
        if self._edges is not None:
            self._edges[groups.keys, here] = pairs

    def gradient(self) -> PotentialsGradient:
        """E[f] of all features: log Z by each score and weight."""
        trie = self._lattice.trie
        place = self._lattice.layout.place
        n_labels = trie.n_labels
        # a node is matched where it, or a node that ends with it, is the longest match
        matched = trie.matched(self._longest)[:, place]  # (U, N)
        counts = PotentialsGradient(
            np.ascontiguousarray(matched[:n_labels].T),
            self._pairs.reshape(n_labels, n_labels),
            configuration_weights=self._configurations,
        )
        if self._potentials.weights.has_patterns:
            node_weights = matched.sum(axis=1)
            node_weights[:n_labels] = 0.0  # single labels are no patterns
            counts = counts._replace(node_weights=node_weights)
        fired = self._potentials.fired
        if fired is not None:
            counts = counts._replace(fired_weights=matched[fired.nodes, fired.tokens])
        if self._edges is not None:
            edges = self._edges[:, place].T.reshape(-1, n_labels, n_labels)
            counts = counts._replace(edge_scores=edges)
        return counts


class Prefixes(NamedTuple):
    """alpha: (S, size_at_t[t]) for each t, the largest of each column 0. log_scale (n,): what has
    been taken off each column, up to its end. magnitude: (size_at_t[t],) for each t, what has been
    added up."""

    alpha: list[Floats]
    log_scale: Floats
    magnitude: list[Floats]


def lattice_sums(lattice: Lattice, visit: Visit) -> Floats:
    """log Z of each column, -inf where there is no path. visit(t, states, arcs): is called with
    p(state) (S, n) and p(arc) (E, n) of each token, from the last on. RETURNS (n,).

    RAISES ValueError [HS097]: scores so large that float64 does not tell labellings apart. Time O(E)
    a token, memory O(S) a token.
    """
    prefixes = prefix_sums(lattice)
    log_z: Floats = prefixes.log_scale.copy()
    beta = np.zeros((0, 0))
    magnitude = np.zeros(0)
    for t in range(len(prefixes.alpha) - 1, -1, -1):
        alpha = prefixes.alpha[t]
        n_on = beta.shape[1]  # columns behind it end here
        beta = with_ended(beta, alpha.shape)
        with np.errstate(divide="ignore"):
            log_z[n_on : alpha.shape[1]] += np.log(np.exp(alpha[:, n_on:].real).sum(axis=0))
        magnitude = with_ended(magnitude[None], (1, alpha.shape[1]))[0]
        both = alpha + beta  # (S, n): log p of the states, but for a constant
        _check_rounding(both.real, EPSILON * (magnitude + prefixes.magnitude[t]))
        states = _softmax(both)
        if t == 0:
            visit(0, states, np.zeros((0, 0)))
            break
        step = lattice.step(t)
        gain, _ = _relative(step.gain)
        scores, _ = _relative(step.scores)
        # everything after the source of each arc, (E, n)
        message = scores + (gain + beta)[step.arcs.target]
        before = prefixes.alpha[t - 1][:, : alpha.shape[1]]
        visit(t, states, _softmax(before[step.arcs.source] + message))
        magnitude = magnitude + _magnitude(gain) + _magnitude(scores) + _magnitude(beta)
        beta = _suffix_sums(message, step, before.shape)
    return log_z


def _suffix_sums(message: Floats, step: Step, shape: tuple[int, ...]) -> Floats:
    """beta of the states before a step. message (E, n): everything after the source of each arc.
    RETURNS shape (S', n)."""
    sources = step.arcs.out_of
    sums = np.full(shape, -np.inf, message.dtype)
    sums[sources.keys] = _log_sums(message[sources.order], sources.starts, sources.which)
    beta, _ = _relative(sums)
    return beta


def prefix_sums(lattice: Lattice) -> Prefixes:
    """The way forward."""
    sizes = lattice.layout.size_at_t.tolist()
    prefixes = Prefixes([], np.zeros(len(lattice.layout.lengths)), [])
    for t, n in enumerate(sizes):
        step = lattice.step(t)
        current, scale = _relative(step.gain)
        magnitude = _magnitude(current)
        if t > 0:
            before = prefixes.alpha[-1][:, :n]
            scores, arc_scale = _relative(step.scores)
            terms = before[step.arcs.source] + scores  # (E, n)
            current = current + _log_sums(terms, step.arcs.first[:-1], step.arcs.target)
            scale = scale + arc_scale
            magnitude = magnitude + _magnitude(scores) + _magnitude(before)
            magnitude = magnitude + prefixes.magnitude[-1][:n]
        current, top = _relative(current)  # differences to the best state
        prefixes.log_scale[:n] += scale + top
        prefixes.alpha.append(current)
        prefixes.magnitude.append(magnitude)
    return prefixes


def lattice_entropies(lattice: Lattice) -> Floats:
    """h_t in nats (N,), packed. RAISES ValueError [HS097] as `lattice_sums`."""
    layout = lattice.layout
    entropies = np.zeros(len(layout.tokens))

    def visit(t: int, states: Floats, arcs: Floats) -> None:
        if t + 1 < len(layout.size_at_t):
            # H(u_{t-1}, u_t) of the step behind is there; H(u_t) comes off
            later = entropies[layout.step(t + 1)]
            later -= _entropy(states)[: len(later)]
        entropies[layout.step(t)] = _entropy(arcs if t else states)

    lattice_sums(lattice, visit)
    return np.maximum(entropies, 0.0)


def _entropy(p: Floats) -> Floats:
    """-sum p log p of each column. p (S, n). RETURNS (n,)."""
    return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=0))


def _log_sums(values: Floats, starts: Ints, which: Ints) -> Floats:
    """log sum exp of each group. values (E, n), group by group. which (E,): group of each. RETURNS
    (g, n)."""
    top: Floats = np.maximum.reduceat(values.real, starts, axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    sums = np.add.reduceat(np.exp(values - top[which]), starts, axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums) + top)


def _check_rounding(logs: Floats, rounding: Floats) -> None:
    """logs (S, n): alpha + beta. rounding (n,): bound on their errors. RAISES ValueError
    [HS097]."""
    columns = np.flatnonzero(rounding > 1e-6)
    if len(columns):
        logs = logs[:, columns]
        margin = 2 * rounding[columns]
        top = logs.max(axis=0)
        # e^-40 of the best state's probability is less than its rounding
        near = (logs > top - margin - 40.0) & (top > -np.inf)
        if (near.sum(axis=0) > 1).any():
            raise ValueError(Errors.HS097.format(rounding=f"{rounding.max():.2g}"))


def _softmax(logs: Floats) -> Floats:
    """Each column divided by its sum; 0 where all are -inf. logs (S, n)."""
    shares = np.exp(logs - _top(logs))
    sums = shares.sum(axis=0)
    return np.asarray(shares / np.where(sums.real > 0, sums, 1.0))


def _relative(values: Floats) -> tuple[Floats, Floats]:
    """Differences to the largest of each column, and that; a column of -inf stays as it is. values
    (S, n)."""
    top = _top(values)
    return values - top, top


def _top(values: Floats) -> Floats:
    top: Floats = values.real.max(axis=0, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0.0)


def _magnitude(relative: Floats) -> Floats:
    """The largest absolute value of each column, of numbers that are not above 0. RETURNS (n,)."""
    logs = relative.real
    return np.asarray(-np.where(logs > -np.inf, logs, 0.0).min(axis=0, initial=0.0))


def sample_paths(lattice: Lattice, n_samples: int, rng: np.random.Generator) -> Labels:
    """Independent draws from p(path), of a lattice of ONE sequence: sums forward, draws backward.

    RETURNS (n_samples, T) int32. RAISES NoPath: there is no path.
    """
    alphas = prefix_sums(lattice).alpha
    if not np.isfinite(alphas[-1]).any():
        raise NoPath(0)
    state = _draw(np.repeat(alphas[-1], n_samples, axis=1), rng)  # (n_samples,)
    labels = [lattice.labels(len(alphas) - 1)[state]]
    for t in range(len(alphas) - 1, 0, -1):
        step = lattice.step(t)
        # samples in one state share its distribution
        distinct, which = np.unique(state, return_inverse=True)
        begin = step.arcs.first[distinct]
        counts = step.arcs.first[distinct + 1] - begin
        place = np.arange(counts.max())[:, None]  # among the arcs into each state
        arcs = begin + np.minimum(place, counts - 1)
        scores = alphas[t - 1][step.arcs.source[arcs], 0] + step.scores[arcs, 0]
        terms = np.where(place < counts, scores, -np.inf)
        state = step.arcs.source[step.arcs.first[state] + _draw(terms[:, which], rng)]
        labels.append(lattice.labels(t - 1)[state])
    return np.stack(labels[::-1], axis=1).astype(np.int32)


def _draw(log_weights: Floats, rng: np.random.Generator) -> Ints:
    """One row index for each column, with probability proportional to exp(log_weights). RETURNS
    (n,)."""
    shares = np.cumsum(np.exp(log_weights - log_weights.max(axis=0)), axis=0)
    return np.asarray((shares <= rng.random(shares.shape[1]) * shares[-1]).sum(axis=0))
