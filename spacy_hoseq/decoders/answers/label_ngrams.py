"""Probabilities of label n-grams at given places around each token, made of marginals of labels and
pairs of labels.

For labels at neighbouring tokens s..t

    q(y_s, ..., y_t) = prod of p(y_{i-1}, y_i)  /  prod of p(y_i) for s < i < t

which is p(y_s, ..., y_t | x) in a first-order chain; where the lower layer has label patterns it is
what pairs say of it. Places apart from each other multiply: q(y_{t-1}) q(y_{t+1}). All of it is
smooth in the marginals, so a loss goes back through it (Azuma & Matsumoto 2011, section 2: features
of the upper layer may multiply marginals).

Places before and after a sequence hold a label of their own, with probability 1.
"""

from copy import copy
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints
from ..problem import ProbableLabels, ranges

BEFORE = -2  # labels of the places outside of a sequence
AFTER = -1


class NGrams(NamedTuple):
    """places (M,): of the first label, in order, counted as in `LabelLattice.places`. cells: for
    each label (M,), what is there. values (M,): q. links: for each label but the first (M,), the
    link from the one before, or none if the two are apart."""

    places: Ints
    cells: List[Ints]
    values: Floats
    links: List[Optional[Ints]]


class ProbabilityGradient(NamedTuple):
    """Gradient of a loss with respect to `ProbableLabels.probabilities` (E,) and `.pairs` (A,)."""

    probabilities: Floats
    pairs: Floats


class LabelLattice:
    """Cells: the entries of probable labels, and one for each of `margin` places on both sides of a
    sequence; links: their pairs, and those that the cells outside have.

    labels (C,): of the cells, BEFORE and AFTER outside. places (N,): of each token, counted with
    those outside, sequence after sequence. n_places (int): of all.
    """

    def __init__(self, probable: ProbableLabels, lengths: AnyInts, margin: int) -> None:
        n_entries = len(probable.tokens)
        n_sequences = len(lengths)
        n_tokens = int(lengths.sum())
        n_outside = 2 * margin * n_sequences
        moved = np.repeat(margin * (2 * np.arange(n_sequences) + 1), lengths)
        self._margin = margin
        self._origin = 0
        self.places = np.arange(n_tokens) + moved
        self._cell_of = np.arange(n_entries) + moved.take(probable.tokens)  # of each entry
        before, after = self._outside(lengths)
        self._count = np.ones(n_tokens + n_outside, np.intp)
        self._count[self.places] = np.bincount(probable.tokens, minlength=n_tokens)
        self._first = np.cumsum(self._count) - self._count
        self.labels = np.empty(n_entries + n_outside, np.intp)
        self.labels[self._first[before]] = BEFORE
        self.labels[self._first[after]] = AFTER
        self.labels[self._cell_of] = probable.labels
        self._p = np.ones(len(self.labels))
        self._p[self._cell_of] = probable.probabilities
        # with room for places further out
        self._token_at = np.full(margin + len(self._count) + margin, -1)
        self._token_at[self.places + margin] = np.arange(n_tokens)
        self.n_places = len(self._count)
        self._found: Dict[Tuple[float, ...], NGrams] = {}
        self._link(probable, np.concatenate([before, after]))

    def _outside(self, lengths: AnyInts) -> Tuple[Ints, Ints]:
        """Places before and after each sequence."""
        ends = np.cumsum(lengths)
        steps = np.arange(1, self._margin + 1)
        before = self.places[ends - lengths, None] - steps
        after = self.places[ends - 1, None] + steps
        return before.reshape(-1), after.reshape(-1)

    def _link(self, probable: ProbableLabels, outside: Ints) -> None:
        """Links in order of their earlier cell. A link of a cell outside is as probable as the cell
        within. (Links from one sequence to the next are there, too; no n-gram around a token
        reaches that far.)"""
        earlier = self._cell_of[probable.earlier]
        later = self._cell_of[probable.later]
        source = np.arange(len(earlier))
        value = probable.pairs
        self._n_pairs = len(earlier)
        if len(outside):
            a, b, inner = self._links_outside(outside)
            earlier = np.concatenate([earlier, a])
            later = np.concatenate([later, b])
            source = np.concatenate([source, -1 - inner])  # below 0: the probability of a cell
            value = np.concatenate([value, self._p[inner]])
        order = np.argsort(earlier, kind="stable")
        self._link_later = later[order]
        self._link_source = source[order]
        self._link_p = value[order]
        self._link_count = np.bincount(earlier, minlength=len(self._p))
        self._link_first = np.cumsum(self._link_count) - self._link_count

    def _links_outside(self, outside: Ints) -> Tuple[Ints, Ints, Ints]:
        """Of cells outside: the earlier and the later cell, and which of both is within."""
        is_outside = np.zeros(len(self._count), bool)
        is_outside[outside] = True
        at_ends = np.flatnonzero(is_outside[:-1] | is_outside[1:])
        sizes = self._count[at_ends] * self._count[at_ends + 1]
        number = ranges(np.zeros(len(at_ends), np.intp), sizes)
        at = at_ends.repeat(sizes)
        n_later = self._count[at + 1]
        earlier = self._first[at] + number // n_later
        later = self._first[at + 1] + number % n_later
        return earlier, later, np.where(is_outside[at], later, earlier)

    def between(self, start: int, stop: int) -> "LabelLattice":
        """The same lattice around the tokens start <= n < stop: only their places and n-grams, with
        places counted from the first of them."""
        part = copy(self)
        margin = self._margin
        part._origin = int(self.places[start]) - margin if start < stop else 0
        part.places = self.places[start:stop] - part._origin
        part.n_places = int(part.places[-1]) + margin + 1 if start < stop else 0
        part._token_at = np.full(margin + part.n_places + margin, -1)
        part._token_at[part.places + margin] = np.arange(start, stop)
        part._found = {}
        return part

    def ngrams(self, shape: Sequence[int], threshold: float) -> NGrams:
        """All n-grams with q >= threshold of one shape: labels shape[i] places after the first one.

        shape: rising, from 0. Shorter n-grams found on the way are remembered.
        """
        key = (*shape, threshold)
        if key not in self._found:
            nothing = NGrams(np.arange(self.n_places), [], np.ones(self.n_places), [])
            before = self.ngrams(shape[:-1], threshold) if len(shape) > 1 else nothing
            follows = len(shape) > 1 and shape[-1] == shape[-2] + 1
            self._found[key] = self._extended(before, shape[-1], follows, threshold)
        return self._found[key]

    def tokens_at(self, places: Ints) -> Ints:
        """places: any shape, none further out than `margin`. RETURNS that shape, -1 = no token."""
        return self._token_at.take(places + self._margin)

    def _extended(self, ngrams: NGrams, offset: int, follows: bool, threshold: float) -> NGrams:
        """With one more place; follows (bool): it is the one after the last, so there are links to
        it."""
        places, cells, values, links = ngrams
        if follows:
            first = self._link_first.take(cells[-1])
            count = self._link_count.take(cells[-1])
        else:
            # further: around no token
            inside = np.minimum(places + (self._origin + offset), len(self._count) - 1)
            first = self._first.take(inside)
            count = self._count.take(inside)
        which = np.repeat(np.arange(len(places)), count)
        next_cells = ranges(first, count)
        link: Optional[Ints] = None
        values = values.take(which)
        if follows:
            values *= self._link_p.take(next_cells) / self._p.take(cells[-1].take(which))
            link = next_cells
            next_cells = self._link_later.take(next_cells)
        else:
            values *= self._p.take(next_cells)
        kept = np.flatnonzero(values >= threshold)
        if len(kept) < len(values):
            which = which[kept]
            next_cells = next_cells[kept]
            values = values[kept]
            link = None if link is None else link[kept]
        cells = [*(cell.take(which) for cell in cells), next_cells]
        links = [*(None if other is None else other.take(which) for other in links), link]
        return NGrams(places.take(which), cells, values, links)

    def backprop(self, ngrams: "Sequence[Tuple[NGrams, Floats]]") -> ProbabilityGradient:
        """The gradient of a loss, given its gradient with respect to the values of some n-grams
        (M,)."""
        cells = np.zeros(len(self._p))
        links = np.zeros(len(self._link_p))
        for found, d_values in ngrams:
            share = d_values * found.values
            for i, (cell, link) in enumerate(zip(found.cells, found.links, strict=True)):
                if link is None:
                    cells += np.bincount(cell, share / self._p[cell], minlength=len(cells))
                else:
                    before = found.cells[i - 1]
                    links += np.bincount(link, share / self._link_p[link], minlength=len(links))
                    cells -= np.bincount(before, share / self._p[before], minlength=len(cells))
        of_pair = self._link_source >= 0
        pairs: Floats = np.zeros(self._n_pairs)
        pairs += np.bincount(self._link_source[of_pair], links[of_pair], minlength=self._n_pairs)
        cells += np.bincount(
            -1 - self._link_source[~of_pair], links[~of_pair], minlength=len(cells)
        )
        return ProbabilityGradient(cells[self._cell_of], pairs)
