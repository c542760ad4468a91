"""Sums over exclusive states on logarithms: probabilities, expected counts, and the way back, for
weights of any size and sign.

A labelling is one path of states u_1, u_2, ... (`lattice.py`), so that p(path) is a Markov chain,
whatever the states stand for. With alpha and beta the logarithms of the sums of all paths up to a
state and from it on

    p(u_t = u)                      proportional to  exp(alpha_t(u) + beta_t(u))
    p(u_{t-1} = v, u_t = u)         proportional to  exp(alpha_{t-1}(v) + arc(v, u) + gain_t(u) + beta_t(u))

Each is divided by its own sum over all states (or arcs) of the token, and log Z is not needed for
it. So rows sum to 1 however large log Z is. Nothing that all states of a token share is added to
what tells them apart: alpha, beta, gains and arcs are differences to the largest of their step.

The way back. For a cost of labellings c(y), a sum of costs of states, let

    A_t(u) = E[cost of the states up to t | u_t = u]  = cost_t(u) + sum_v p(u_{t-1} = v | u_t = u) A_{t-1}(v)
    B_t(v) = E[cost of the states after t | u_t = v]  = sum_u p(u_{t+1} = u | u_t = v) (cost_{t+1}(u) + B_{t+1}(u))

Then Cov(I(u_t = u), c) = p(u_t = u) (A_t(u) + B_t(u) - E[c]), and the same for arcs with A_{t-1}(v)
+ cost_t(u) + B_t(u). All factors are probabilities and means of costs: nothing cancels that does
not cancel in the result.

What float64 cannot know is refused. Rounding moves alpha + beta by at most EPSILON times the
magnitudes that have been added up; where that is above TOLERANCE, and a second state of the token
comes as close to the best one as that, their probabilities are not known (scores of 1e15 that
differ by 1 on the way are such).

Checked against enumeration, covariances and finite differences in
tests/decoders/patterns/test_lattice_sums.py.
"""

from functools import cached_property
from typing import Callable, List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import Floats, Ints, Labels
from ...errors import Errors
from ..problem import NoPath
from .lattice import Lattice, Step

EPSILON = 2 * float(np.finfo(np.float64).eps)  # several roundings of half of it, in the worst case
TOLERANCE = 1e-6  # of logarithms
NEGLIGIBLE = 40.0  # e^-40 of the best state's probability is less than its rounding

Visit = Callable[[int, Floats, Floats], None]


class Prefixes(NamedTuple):
    """alpha: (S, size_at_t[t]) for each t, the largest of each column 0. log_scale (n,): what has
    been taken off each column, up to its end. costs: A_t (S, size_at_t[t]) for each t, if there are
    costs. added: (size_at_t[t],) for each t, the magnitudes that have been added up. arcs: of each
    t > 0."""

    alpha: List[Floats]
    log_scale: Floats
    costs: List[Floats]
    added: List[Floats]
    arcs: "List[_Arcs]"


class _Groups(NamedTuple):
    """Arcs by the state that they lead to, or come from. order (E,): groups end to end. starts
    (g,), which (E,): of each group in that order. states (g,)."""

    order: Ints
    starts: Ints
    which: Ints
    states: Ints

    def log_sums(self, values: Floats) -> Floats:
        """log sum exp of each group. values (E, n), in order. RETURNS (g, n)."""
        top = self._top(values)
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(
                np.add.reduceat(np.exp(values - top[self.which]), self.starts, axis=0)
            )
        return logs + top

    def shares(self, values: Floats) -> Floats:
        """That of each value in the sum of its group; those of a group sum to 1. RETURNS (E, n)."""
        shares: Floats = np.exp(values - self._top(values)[self.which])
        sums = np.add.reduceat(shares, self.starts, axis=0)
        return shares / np.where(sums > 0, sums, 1.0)[self.which]

    def _top(self, values: Floats) -> Floats:
        top: Floats = np.maximum.reduceat(values, self.starts, axis=0)
        return np.where(np.isfinite(top), top, 0.0)


class _Arcs:
    """The arcs of a step by the state that they lead to, and by that which they come from. Steps
    that share their arrays have one of these."""

    def __init__(self, step: Step) -> None:
        self.source = step.source
        states = np.arange(len(step.label))
        into = np.repeat(states, step.first[1:] - step.first[:-1])
        self.into = _Groups(np.arange(len(into)), step.first[:-1], into, states)

    @cached_property
    def out_of(self) -> _Groups:
        order = np.argsort(self.source, kind="stable")
        ordered = self.source[order]
        begins = np.ones(len(order), bool)
        begins[1:] = ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(begins)
        return _Groups(order, starts, np.cumsum(begins) - 1, ordered[starts])


def prefix_sums(
    lattice: Lattice, costs: Optional[Lattice] = None, *, measured: bool = True
) -> Prefixes:
    """The way forward. costs: the same lattice, with costs as gains. measured (bool): keep `added`,
    else it is 0."""
    # long: one recursion from the first token to the last, with its costs and its rounding
    sizes = lattice.size_at_t.tolist()
    prefixes = Prefixes([], np.zeros(sizes[0] if sizes else 0), [], [], [])
    for t, n in enumerate(sizes):
        step = lattice.step(t)
        current, shift = _relative(step.gain)
        cost = _cost_at(costs, t)
        added = _magnitude(current) if measured else np.zeros(n)
        if t > 0:
            known = prefixes.arcs[-1] if t > 1 else None
            prefixes.arcs.append(
                known if known is not None and known.source is step.source else _Arcs(step)
            )
            arc, arc_shift = _relative(step.columns)
            groups = prefixes.arcs[-1].into
            before = prefixes.alpha[-1][:, :n]
            terms = before[step.source] + arc
            current = current + groups.log_sums(terms)
            shift = shift + arc_shift
            if measured:
                added = added + _magnitude(arc) + _magnitude(before) + prefixes.added[-1][:n]
            if costs is not None:
                of_arcs = groups.shares(terms) * prefixes.costs[-1][step.source, :n]
                cost = cost + np.add.reduceat(of_arcs, groups.starts, axis=0)
        current, top = _relative(current)
        prefixes.log_scale[:n] += shift + top
        prefixes.alpha.append(current)
        prefixes.costs.append(cost)
        prefixes.added.append(added)
    return prefixes


def lattice_sums(
    lattice: Lattice, visit: Visit, costs: Optional[Lattice] = None, *, measured: bool = True
) -> Floats:
    """log Z of each column, -inf where there is no path. visit(t, states, arcs): is called with
    what is known of each token, from the last on: p(state) (S, n) and p(arc) (E, n), or their
    covariances with the costs.

    costs: the same lattice, with costs as gains. measured (bool): look out for scores that are too
    large; not needed where their range and the number of tokens say that none can be
    (`exclusive_sums.py`). RETURNS (n,). RAISES ValueError [HS097]: scores so large that float64
    does not tell labellings apart. Time O(E) a token, memory O(S) a token.
    """
    # long: one recursion from the last token to the first; each line needs what those above it made
    prefixes = prefix_sums(lattice, costs, measured=measured)
    sizes = lattice.size_at_t.tolist()
    log_z: Floats = prefixes.log_scale.copy()
    beta = np.zeros((0, 0))
    later = np.zeros((0, 0))
    added = np.zeros(0)
    nothing = np.zeros((0, 0))
    for t in range(len(sizes) - 1, -1, -1):
        alpha = prefixes.alpha[t]
        n = sizes[t]
        n_on = beta.shape[1]
        beta = _with_ended(beta, len(alpha), n)
        with np.errstate(divide="ignore"):
            log_z[n_on:n] += np.log(np.exp(alpha[:, n_on:]).sum(axis=0))
        both = alpha + beta
        if measured:
            added = np.concatenate([added, np.zeros(n - n_on)])
            _check_known(both, EPSILON * (added + prefixes.added[t]))
        states = _softmax(both)
        if costs is not None:
            later = _with_ended(later, len(alpha), n)
            states = _covariance(states, prefixes.costs[t] + later)
        if t == 0:
            visit(0, states, nothing)
            break
        step = lattice.step(t)
        before = prefixes.alpha[t - 1][:, :n]
        gain = _relative(step.gain)[0]
        (arc, _) = _relative(step.columns)
        into = prefixes.arcs[t - 1].into
        out_of = prefixes.arcs[t - 1].out_of
        message = arc + (gain + beta)[into.which]  # (E, n): everything after the source
        arcs = _softmax(before[step.source] + message)
        terms = message[out_of.order]
        sums = out_of.log_sums(terms)
        if measured:
            added = added + _magnitude(gain) + _magnitude(arc) + _magnitude(beta)
        if costs is not None:
            after = (_cost_at(costs, t) + later)[into.which]
            arcs = _covariance(arcs, prefixes.costs[t - 1][step.source, :n] + after)
            later = np.zeros(before.shape)
            later[out_of.states] = np.add.reduceat(
                out_of.shares(terms) * after[out_of.order], out_of.starts, axis=0
            )
        visit(t, states, arcs)
        beta = np.full(before.shape, -np.inf)
        beta[out_of.states] = sums
        beta, _ = _relative(beta)
    return log_z


def _check_known(logs: Floats, rounding: Floats) -> None:
    """logs (S, n): alpha + beta. rounding (n,): bound on their errors. RAISES ValueError
    [HS097]."""
    columns = np.flatnonzero(rounding > TOLERANCE)
    if len(columns):
        logs = logs[:, columns]
        margin = 2 * rounding[columns]
        top = logs.max(axis=0)
        near = (logs > top - margin - NEGLIGIBLE) & (top > -np.inf)
        if (near.sum(axis=0) > 1).any():
            raise ValueError(Errors.HS097.format(rounding=f"{rounding.max():.2g}"))


def _softmax(logs: Floats) -> Floats:
    """Each column divided by its sum; 0 where all are -inf. logs (S, n)."""
    shares = np.exp(logs - _top(logs))
    sums = shares.sum(axis=0)
    return np.asarray(shares / np.where(sums > 0, sums, 1.0))


def _covariance(probabilities: Floats, costs: Floats) -> Floats:
    """p (cost - E[cost]) of each column: of an indicator with the cost. costs (S, n): expected,
    given each state."""
    return np.asarray(probabilities * (costs - (probabilities * costs).sum(axis=0)))


def _relative(values: Floats) -> Tuple[Floats, Floats]:
    """Differences to the largest of each column, and that; a column of -inf stays as it is. values
    (S, n)."""
    top = _top(values)
    return values - top, top


def _top(values: Floats) -> Floats:
    top: Floats = values.max(axis=0, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0.0)


def _magnitude(relative: Floats) -> Floats:
    """How far down the numbers of each column reach. RETURNS (n,)."""
    return np.asarray(-np.where(relative > -np.inf, relative, 0.0).min(axis=0, initial=0.0))


def _with_ended(values: Floats, n_states: int, n: int) -> Floats:
    """values (S, n'), with 0 in the columns whose last token this is. RETURNS (S, n)."""
    n_on = values.shape[1]
    return np.concatenate([values.reshape(n_states, n_on), np.zeros((n_states, n - n_on))], axis=1)


def _cost_at(costs: Optional[Lattice], t: int) -> Floats:
    """Costs of states; 0 of those that cannot be entered. RETURNS (S, n)."""
    if costs is None:
        return np.zeros((0, 0))
    gain = costs.step(t).gain
    return np.where(np.isfinite(gain), gain, 0.0)


def sample_paths(lattice: Lattice, n_samples: int, rng: np.random.Generator) -> Labels:
    """Independent draws from p(path), of a lattice of ONE sequence: sums forward, draws backward.

    RETURNS (n_samples, T) int32. RAISES NoPath: there is no path.
    """
    alphas = prefix_sums(lattice, measured=False).alpha
    if not np.isfinite(alphas[-1]).any():
        raise NoPath(0)
    state = _draw(np.repeat(alphas[-1], n_samples, axis=1), rng)  # (n_samples,)
    labels = [lattice.step(len(alphas) - 1).label[state]]
    for t in range(len(alphas) - 1, 0, -1):
        step = lattice.step(t)
        # samples in one state share its distribution
        distinct, which = np.unique(state, return_inverse=True)
        arc = step.arc.reshape(-1)
        counts = step.first[distinct + 1] - step.first[distinct]
        terms = np.full((counts.max(), len(distinct)), -np.inf)
        for column, (begin, end) in enumerate(
            zip(step.first[distinct], step.first[distinct + 1], strict=True)
        ):
            terms[: end - begin, column] = alphas[t - 1][step.source[begin:end], 0] + arc[begin:end]
        state = step.source[step.first[state] + _draw(terms[:, which], rng)]
        labels.append(lattice.step(t - 1).label[state])
    return np.stack(labels[::-1], axis=1).astype(np.int32)


def _draw(log_weights: Floats, rng: np.random.Generator) -> Ints:
    """One row index for each column, with probability proportional to exp(log_weights). RETURNS
    (n,)."""
    shares = np.cumsum(np.exp(log_weights - log_weights.max(axis=0)), axis=0)
    return np.asarray((shares <= rng.random(shares.shape[1]) * shares[-1]).sum(axis=0))
