"""What else a walk over exclusive states tells: how uncertain each label is, and the best labelling
with each label.

Entropy. The labels up to a token are one path of states, and one more label is one arc from its
end. So

    h_t = H(y_t | y_1..y_{t-1}) = H(u_{t-1}, u_t) - H(u_{t-1}),    H(y) = h_1 + h_2 + ...

the chain rule over states (Hernando, Crespi & Cybenko 2005 have the sum in one walk forward).

Max-marginals. With V_t(u) the best score of a path that ends in u, and W_t(u) the best that can
follow

    max of score(x, y) over all y with y_t = a   =   max over the states u of label a of  V_t(u) + W_t(u)

Checked against enumeration in tests/decoders/answers/test_certainty.py.
"""

from typing import List, Optional, Tuple

import numpy as np

from ...arrays import Floats, Ints
from .lattice import Lattice, Step
from .lattice_sums import lattice_sums


def lattice_entropies(lattice: Lattice) -> List[Floats]:
    """h_t of each column in nats, (size_at_t[t],) for each t. RAISES ValueError [HS097] as
    `lattice_sums`."""
    entropies: List[Floats] = [np.zeros(0)] * len(lattice.size_at_t)

    def visit(t: int, states: Floats, arcs: Floats) -> None:
        if t + 1 < len(entropies):
            later = entropies[t + 1]
            later -= entropy(states)[: len(later)]
        entropies[t] = entropy(arcs if t else states)

    lattice_sums(lattice, visit)
    return [np.maximum(of_token, 0.0) for of_token in entropies]


def entropy(p: Floats) -> Floats:
    """-sum p log p of each column. p (S, n). RETURNS (n,)."""
    return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=0))


def max_marginals(lattice: Lattice, n_labels: int) -> List[Floats]:
    """The best score with each label, (L, size_at_t[t]) for each t, -inf where there is no such
    path. Time O(E), memory O(S) a token."""
    prefixes = _prefixes(lattice)
    best: List[Floats] = [np.zeros((0, 0))] * len(prefixes)
    suffixes = np.zeros((0, 0))
    groups = _Groups(None)
    for t in range(len(prefixes) - 1, -1, -1):
        step = lattice.step(t)
        n_states, n = prefixes[t].shape
        ended = np.zeros((n_states, n - suffixes.shape[1]))
        suffixes = np.concatenate([suffixes.reshape(n_states, -1), ended], axis=1)
        best[t] = _by_label(prefixes[t] + suffixes, step.label, n_labels)
        if t:
            groups = groups if groups.is_of(step) else _Groups(step)
            later = np.repeat(step.gain + suffixes, np.diff(step.first), axis=0)
            later += step.columns
            suffixes = np.full((len(prefixes[t - 1]), n), -np.inf)
            suffixes[groups.sources] = np.maximum.reduceat(
                later[groups.order], groups.starts, axis=0
            )
    return best


def _prefixes(lattice: Lattice) -> List[Floats]:
    """V_t (S, size_at_t[t]) of each t."""
    prefixes: List[Floats] = []
    for t, n in enumerate(lattice.size_at_t.tolist()):
        step = lattice.step(t)
        if t == 0:
            prefixes.append(step.gain)
            continue
        paths = prefixes[-1][:, :n][step.source] + step.columns
        prefixes.append(np.maximum.reduceat(paths, step.first[:-1], axis=0) + step.gain)
    return prefixes


class _Groups:
    """The arcs of a step by the state that they come from. Steps that share their arrays have one
    of these."""

    def __init__(self, step: Optional[Step]) -> None:
        self._source = None if step is None else step.source
        if step is not None:
            self.order, self.sources, self.starts = grouped(step.source)

    def is_of(self, step: Step) -> bool:
        return self._source is step.source


def grouped(keys: Ints) -> Tuple[Ints, Ints, Ints]:
    """Order that groups equal keys, the distinct keys, the start of each group."""
    order = np.argsort(keys, kind="stable")
    distinct, starts = np.unique(keys[order], return_index=True)
    return order, distinct, starts


def _by_label(values: Floats, label: Ints, n_labels: int) -> Floats:
    """The largest value of the states of each label. values (S, n). RETURNS (L, n), -inf where no
    state has it."""
    order, labels, starts = grouped(label)
    best = np.full((n_labels, values.shape[1]), -np.inf)
    best[labels] = np.maximum.reduceat(values[order], starts, axis=0)
    return best
