"""Beam search: the approximate baseline. At every token only the `width` best states are kept.

States are the longest matches of `longest_match.py`, and of all partial labellings in one state the
best is kept, so with `width` >= the number of nodes the result is exact. Weights of any sign.
"""

import numpy as np
from numpy.typing import NDArray
from spacy.util import registry

from spacy_hoseq.arrays import Floats, Ints
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import (
    Layout,
    Paths,
    PatternTrie,
    Potentials,
    expand_fired,
    make_layout,
    packed_scores,
)
from spacy_hoseq.errors import Errors

from .instances import refuse_others


@registry.misc("spacy_hoseq.beam_decoder.v1")
class BeamSearch:
    """A decoder. width (int): >= 1, partial labellings kept at each token. RAISES ValueError
    [HS027]."""

    def __init__(self, width: int = 8) -> None:
        if width < 1:
            message = Errors.HS027.format(name="width", value=width, expected="1 or more")
            raise ValueError(message)
        self.width = width

    def __call__(self, potentials: Potentials) -> Paths:
        """Labellings of high score; not always the highest. RETURNS (Paths): true scores.

        Sequences in which the beam runs into forbidden transitions are decoded exactly.
        RAISES ValueError [HS020-HS027, HS020]; and general configurations, or scores of label pairs.

        Time O(N width L log(width L)), memory O(N width).
        """
        refuse_others(potentials, "beam_decoder")
        potentials.check()
        layout = make_layout(potentials.lengths, len(potentials.scores))
        labels, best = _search(potentials, layout, min(self.width, len(potentials.weights.trie)))
        lost = np.flatnonzero(best == -np.inf)
        if len(lost):
            part = potentials.select(lost)
            with part.numbered() as some:
                labels[part.tokens], best[lost] = decode_exact(some)
        return Paths(labels, best)


def _search(potentials: Potentials, layout: Layout, width: int) -> tuple[NDArray[np.int32], Floats]:
    weights = potentials.weights
    trie = weights.trie
    fired = potentials.fired
    emissions = packed_scores(potentials.scores, potentials.allowed, layout).T  # (N, L)
    extra = expand_fired(fired, trie, layout) if fired is not None and len(fired.tokens) else {}
    history: list[tuple[Ints, Ints]] = []  # node and place before of each kept state, (n, width)
    v = np.zeros((len(layout.lengths), 1))
    node = np.zeros((len(layout.lengths), 1), np.intp)
    # best score and place of the sequences that end at t, by rank
    finals: list[tuple[Floats, Ints]] = []
    for t, n in enumerate(layout.size_at_t.tolist()):
        here = emissions[layout.step(t)]  # (n, L)
        if t == 0:
            target = np.broadcast_to(np.arange(trie.n_labels), (n, trie.n_labels))
            moved = here
        else:
            target = trie.after[node[:n]].reshape(n, -1).astype(np.intp)  # (n, width * L)
            moved = v[:n, :, None] + weights.precise_trans[trie.label[node[:n]]] + here[:, None, :]
        candidates = moved.reshape(n, -1) + weights.psi[target]
        if t in extra:
            candidates = candidates + _fired_sums(target, extra[t], len(trie))
        keep, v = _keep(candidates, target, width)
        node = np.take_along_axis(target, keep, axis=1)
        history.append((node, keep // trie.n_labels))
        going_on = int(layout.size_at_t[t + 1]) if t + 1 < len(layout.size_at_t) else 0
        finals.append((v[going_on:].max(axis=1), v[going_on:].argmax(axis=1)))
    return _trace(history, finals, trie, layout)


def _keep(candidates: Floats, target: Ints, width: int) -> tuple[Ints, Floats]:
    """The best candidates with different targets, best first. Ties: the first. RETURNS columns,
    scores (n, w); -inf where there are fewer."""
    n, m = candidates.shape
    order = np.argsort(-candidates, axis=1, kind="stable")
    keys = np.arange(n)[:, None] * (int(target.max(initial=0)) + 1) + np.take_along_axis(
        target, order, axis=1
    )
    repeated = np.ones(n * m, bool)
    repeated[np.unique(keys, return_index=True)[1]] = False
    repeated = repeated.reshape(n, m)
    # those that are no repetition first
    placed = np.argsort(repeated, axis=1, kind="stable")[:, : min(width, m)]
    keep = np.take_along_axis(order, placed, axis=1)
    scores = np.take_along_axis(candidates, keep, axis=1)
    return keep, np.where(np.take_along_axis(repeated, placed, axis=1), -np.inf, scores)


def _fired_sums(target: Ints, fired: tuple[Ints, Ints, Floats], n_nodes: int) -> Floats:
    """Weight of the patterns that fire at this token, for each candidate. RETURNS (n, m)."""
    nodes, columns, weights = fired
    keys = columns * n_nodes + nodes
    order = np.argsort(keys)
    wanted = np.arange(len(target))[:, None] * n_nodes + target
    at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    return np.where(keys[at] == wanted, weights[at], 0.0)


def _trace(
    history: list[tuple[Ints, Ints]],
    finals: list[tuple[Floats, Ints]],
    trie: PatternTrie,
    layout: Layout,
) -> tuple[NDArray[np.int32], Floats]:
    labels = np.zeros(len(layout.tokens), np.int32)
    by_rank = np.zeros(len(layout.lengths))
    place = np.zeros(0, np.intp)
    for t in range(len(history) - 1, -1, -1):
        score, ended = finals[t]
        by_rank[len(place) : len(place) + len(ended)] = score
        place = np.concatenate([place, ended])
        node, before = history[t]
        rows = np.arange(len(place))
        labels[layout.tokens[layout.step(t)]] = trie.label[node[rows, place]]
        place = before[rows, place]
    best = np.empty_like(by_rank)
    best[layout.order] = by_rank
    return labels, best
