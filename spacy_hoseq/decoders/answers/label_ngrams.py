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

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints
from ..problem import ProbableLabels, ranges

BEFORE = -2  # labels of the places outside of a sequence
AFTER = -1


class NGrams(NamedTuple):
    """places (M,): of the first label, in order, counted as in `LabelLattice.places`. cells: for
    each label (M,), what is there. values (M,): q. links: for each label (M,), the link from the
    one before; None if the two places are apart."""

    places: Ints
    cells: list[Ints]
    values: Floats
    links: list[Ints | None]


class ProbabilityGradient(NamedTuple):
    """Gradient of a loss with respect to `ProbableLabels.probabilities` (E,) and `.pairs` (A,)."""

    probabilities: Floats
    pairs: Floats


class LabelLattice:
    """Cells: the entries of probable labels, and one for each of `margin` places on both sides of a
    sequence. Links: their pairs, in order of the earlier cell; from and to a cell outside as
    probable as the cell within.

    outside: labels before and after a sequence. labels (C,): of the cells. places (N,): of each token, counted with
    those outside, sequence after sequence. n_places (int): of all.
    """

    def __init__(
        self,
        probable: ProbableLabels,
        lengths: AnyInts,
        margin: int,
        outside: tuple[Any, Any] = (BEFORE, AFTER),
    ) -> None:
        n_tokens = int(lengths.sum())
        moved = np.repeat(margin * (2 * np.arange(len(lengths)) + 1), lengths)
        self._margin = margin
        self._origin = 0
        self._cache: dict[tuple[float, ...], NGrams] = {}
        self.places = np.arange(n_tokens) + moved  # (N,)
        self.n_places = n_tokens + 2 * margin * len(lengths)
        self._token_at = self._tokens(0, n_tokens)
        self._count = np.ones(self.n_places, np.intp)
        self._count[self.places] = np.bincount(probable.tokens, minlength=n_tokens)
        self._first = np.cumsum(self._count) - self._count  # cell of each place
        self._cell_of = np.arange(len(probable.tokens)) + moved.take(probable.tokens)  # each entry
        ends = np.cumsum(lengths)
        distance = np.arange(1, margin + 1)
        before = (self.places[ends - lengths][:, None] - distance).reshape(-1)
        after = (self.places[ends - 1][:, None] + distance).reshape(-1)
        self.labels = np.full(len(probable.tokens) + len(before) + len(after), outside[1])
        self.labels[self._first[before]] = outside[0]
        self.labels[self._cell_of] = probable.labels
        self._p = np.ones(len(self.labels))
        self._p[self._cell_of] = probable.probabilities
        self._link(probable, before, after)

    def _link(self, probable: ProbableLabels, before: Ints, after: Ints) -> None:
        """Make the links. before, after: places outside."""
        from_before = self._first[before].repeat(self._count[before + 1])
        within_first = ranges(self._first[before + 1], self._count[before + 1])
        within_last = ranges(self._first[after - 1], self._count[after - 1])
        to_after = self._first[after].repeat(self._count[after - 1])
        earlier = [self._cell_of[probable.earlier], from_before, within_last]
        later = [self._cell_of[probable.later], within_first, to_after]
        self._within = np.concatenate([within_first, within_last])
        cells = np.concatenate(earlier)
        self._order = np.argsort(cells, kind="stable")
        self._link_later = np.concatenate(later)[self._order]
        self._link_p = np.concatenate([probable.pairs, self._p[self._within]])[self._order]
        self._link_count = np.bincount(cells, minlength=len(self._p))
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
        part._origin = 0
        part.n_places = 0
        if start < stop:
            part._origin = int(self.places[start]) - self._margin
            part.n_places = int(self.places[stop - 1]) - part._origin + self._margin + 1
        part.places = self.places[start:stop] - part._origin
        part._token_at = part._tokens(start, stop)
        part._cache = {}
        return part

    def ngrams(self, shape: Sequence[int], threshold: float) -> NGrams:
        """All n-grams with q >= threshold of one shape: labels shape[i] places after the first one.

        shape: rising, from 0. Shorter n-grams found on the way are remembered.
        """
        key = (*shape, threshold)
        if key not in self._cache:
            before = NGrams(np.arange(self.n_places), [], np.ones(self.n_places), [])
            if len(shape) > 1:
                before = self.ngrams(shape[:-1], threshold)
            follows = len(shape) > 1 and shape[-1] == shape[-2] + 1
            self._cache[key] = self._extended(before, shape[-1], follows, threshold)
        return self._cache[key]

    def tokens_at(self, places: Ints) -> Ints:
        """places: any shape, none further out than `margin`. RETURNS that shape, -1 = no token."""
        return self._token_at.take(places + self._margin)

    def _extended(self, ngrams: NGrams, offset: int, follows: bool, threshold: float) -> NGrams:
        """With one more place; follows (bool): it is the one after the last, so there are links to
        it."""
        places, cells, values, links = ngrams
        link: Ints | None = None
        if follows:
            last = cells[-1]
            count = self._link_count.take(last)
            which = np.repeat(np.arange(len(places)), count)
            link = ranges(self._link_first.take(last), count)
            cell = self._link_later.take(link)
            # q(.., a, b) = q(.., a) p(a, b) / p(a)
            values = values.take(which) * (self._link_p.take(link) / self._p.take(last.take(which)))
        else:
            # further than the last place: around no token
            at = np.minimum(places + (self._origin + offset), len(self._count) - 1)
            count = self._count.take(at)
            which = np.repeat(np.arange(len(places)), count)
            cell = ranges(self._first.take(at), count)
            values = values.take(which) * self._p.take(cell)  # apart: they multiply
        probable = np.flatnonzero(values >= threshold)
        which = which.take(probable)
        cells = [*(each.take(which) for each in cells), cell.take(probable)]
        links = [None if each is None else each.take(which) for each in links]
        links.append(None if link is None else link.take(probable))
        return NGrams(places.take(which), cells, values.take(probable), links)

    def backprop(self, ngrams: "Sequence[tuple[NGrams, Floats]]") -> ProbabilityGradient:
        """The gradient of a loss, given its gradient with respect to the values of some n-grams
        (M,)."""
        cells = np.zeros(len(self._p))
        links_in_order = np.zeros(len(self._link_p))
        for part, d_values in ngrams:
            share = d_values * part.values
            for i, (cell, link) in enumerate(zip(part.cells, part.links, strict=True)):
                if link is None:
                    cells += np.bincount(cell, share / self._p[cell], minlength=len(cells))
                    continue
                before = part.cells[i - 1]
                # d q / d p(pair) = q / p(pair), and d q / d p(label before) = -q / p(label before)
                d_links = np.bincount(link, share / self._link_p[link], len(links_in_order))
                links_in_order += d_links
                cells -= np.bincount(before, share / self._p[before], minlength=len(cells))
        links = np.empty(len(links_in_order))
        links[self._order] = links_in_order
        # links from and to a cell outside are as probable as the cell within
        n_pairs = len(links) - len(self._within)
        cells += np.bincount(self._within, links[n_pairs:], minlength=len(cells))
        return ProbabilityGradient(cells[self._cell_of], links[:n_pairs])
