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
    each label (M,), what is there. values (M,): q. links: for each label (M,), the link from the
    one before, or `no_link` if one of the two is outside; None if they are apart."""

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
    sequence; links: their pairs, in order of the earlier cell.

    labels (C,): of the cells, BEFORE and AFTER outside. places (N,): of each token, counted with
    those outside, sequence after sequence. n_places (int): of all.
    """

    def __init__(self, probable: ProbableLabels, lengths: AnyInts, margin: int) -> None:
        n_sequences = len(lengths)
        n_tokens = int(lengths.sum())
        moved = np.repeat(margin * (2 * np.arange(n_sequences) + 1), lengths)
        self._margin = margin
        self._origin = 0
        self._found: Dict[Tuple[float, ...], NGrams] = {}
        self.places = np.arange(n_tokens) + moved
        self.n_places = n_tokens + 2 * margin * n_sequences
        self._token_at = self._tokens(0, n_tokens)
        self._count = np.ones(self.n_places, np.intp)
        self._count[self.places] = np.bincount(probable.tokens, minlength=n_tokens)
        self._first = np.cumsum(self._count) - self._count
        is_inside = np.zeros(self.n_places, bool)
        is_inside[self.places] = True
        self._is_linked = is_inside & np.roll(is_inside, 1)  # to the place before
        self._cell_of = np.arange(len(probable.tokens)) + moved.take(probable.tokens)  # each entry
        first_places = self.places[np.cumsum(lengths) - lengths]
        outside = np.full(self.n_places, AFTER)
        outside[first_places[:, None] - np.arange(1, margin + 1)] = BEFORE
        self.labels = outside.repeat(self._count)
        self.labels[self._cell_of] = probable.labels
        self._p = np.ones(len(self.labels))
        self._p[self._cell_of] = probable.probabilities
        earlier = self._cell_of[probable.earlier]
        self._pair_of = np.argsort(earlier, kind="stable")  # of each link
        self._no_link = len(earlier)
        self._link_later = np.append(self._cell_of[probable.later[self._pair_of]], 0)
        self._link_p = np.append(probable.pairs[self._pair_of], 1.0)
        self._link_count = np.bincount(earlier, minlength=len(self._p))
        self._link_first = np.cumsum(self._link_count) - self._link_count

    def _tokens(self, start: int, stop: int) -> Ints:
        """The token at each place, -1 outside, with room for places further out."""
        tokens = np.full(self._margin + self.n_places + self._margin, -1)
        tokens[self.places + self._margin] = np.arange(start, stop)
        return tokens

    def between(self, start: int, stop: int) -> "LabelLattice":
        """The same lattice around the tokens start <= n < stop: only their places and n-grams, with
        places counted from the first of them."""
        part = copy(self)
        part._origin = int(self.places[start]) - self._margin if start < stop else 0
        part.places = self.places[start:stop] - part._origin
        part.n_places = int(part.places[-1]) + self._margin + 1 if start < stop else 0
        part._token_at = part._tokens(start, stop)
        part._found = {}
        return part

    def ngrams(self, shape: Sequence[int], threshold: float) -> NGrams:
        """All n-grams with q >= threshold of one shape: labels shape[i] places after the first one.

        shape: rising, from 0. Shorter n-grams found on the way are remembered.
        """
        key = (*shape, threshold)
        if key not in self._found:
            before = NGrams(np.arange(self.n_places), [], np.ones(self.n_places), [])
            if len(shape) > 1:
                before = self.ngrams(shape[:-1], threshold)
            follows = len(shape) > 1 and shape[-1] == shape[-2] + 1
            self._found[key] = self._extended(before, shape[-1], follows, threshold)
        return self._found[key]

    def tokens_at(self, places: Ints) -> Ints:
        """places: any shape, none further out than `margin`. RETURNS that shape, -1 = no token."""
        return self._token_at.take(places + self._margin)

    def _extended(self, ngrams: NGrams, offset: int, follows: bool, threshold: float) -> NGrams:
        """With one more place; follows (bool): it is the one after the last, so there are links to
        it. Links of a cell outside are as probable as the cell within."""
        places, cells, values, links = ngrams
        # further: around no token
        at = np.minimum(places + (self._origin + offset), len(self._count) - 1)
        first = self._first.take(at)
        count = self._count.take(at)
        if not follows:
            which = np.repeat(np.arange(len(places)), count)
            cell = ranges(first, count)
            link: Optional[Ints] = None
            values = values.take(which) * self._p.take(cell)
        else:
            last = cells[-1]
            linked = self._is_linked.take(at)
            count = np.where(linked, self._link_count.take(last), count)
            which = np.repeat(np.arange(len(places)), count)
            link = ranges(np.where(linked, self._link_first.take(last), first), count)
            apart = np.flatnonzero(~linked.take(which))
            cell_apart = link[apart]
            link[apart] = self._no_link
            cell = self._link_later.take(link)
            cell[apart] = cell_apart
            factor = self._link_p.take(link) / self._p.take(last.take(which))
            factor[apart] = self._p.take(cell_apart)
            values = values.take(which) * factor
        kept = np.flatnonzero(values >= threshold)
        if len(kept) < len(values):
            which = which.take(kept)
            cell = cell.take(kept)
            values = values.take(kept)
            link = None if link is None else link.take(kept)
        cells = [*(each.take(which) for each in cells), cell]
        links = [*(None if each is None else each.take(which) for each in links), link]
        return NGrams(places.take(which), cells, values, links)

    def backprop(self, ngrams: "Sequence[Tuple[NGrams, Floats]]") -> ProbabilityGradient:
        """The gradient of a loss, given its gradient with respect to the values of some n-grams
        (M,)."""
        cells = np.zeros(len(self._p))
        links = np.zeros(len(self._link_p))
        for found, d_values in ngrams:
            share = d_values * found.values
            for i, (cell, link) in enumerate(zip(found.cells, found.links, strict=True)):
                apart = cell if link is None else cell[link == self._no_link]
                of_apart = share if link is None else share[link == self._no_link]
                cells += np.bincount(apart, of_apart / self._p[apart], minlength=len(cells))
                if link is not None:
                    before = found.cells[i - 1]
                    linked = np.where(link == self._no_link, 0.0, share)
                    links += np.bincount(link, linked / self._link_p[link], minlength=len(links))
                    cells -= np.bincount(before, linked / self._p[before], minlength=len(cells))
        pairs = np.zeros(len(self._pair_of))
        pairs[self._pair_of] = links[:-1]
        return ProbabilityGradient(cells[self._cell_of], pairs)
