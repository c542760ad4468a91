"""Probabilities of label n-grams at given places around each token, made of marginals of labels and pairs of labels.

For labels at neighbouring tokens s..t

    q(y_s, ..., y_t) = prod of p(y_{i-1}, y_i)  /  prod of p(y_i) for s < i < t

which is p(y_s, ..., y_t | x) in a first-order chain; where the lower layer has label patterns it is what pairs say of
it. Places apart from each other multiply: q(y_{t-1}) q(y_{t+1}). All of it is smooth in the marginals, so a loss goes
back through it (Azuma & Matsumoto 2011, section 2: features of the upper layer may multiply marginals).

Places before and after a sequence hold a label of their own, with probability 1.
"""

from copy import copy
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from .layout import ranges
from .probable_labels import ProbableLabels

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
BEFORE, AFTER = -2, -1  # labels of the places outside of a sequence


class NGrams(NamedTuple):
    """tokens (M,): around which. cells: for each place (M,), what is there. values (M,): q. links: for each place but
    the first (M,), the link from the place before, or none if the two are apart."""

    tokens: Ints
    cells: List[Ints]
    values: Floats
    links: List[Optional[Ints]]


class ProbabilityGradient(NamedTuple):
    """Gradient of a loss with respect to `ProbableLabels.probabilities` (E,) and `.pairs` (A,)."""

    probabilities: Floats
    pairs: Floats


class LabelLattice:
    """Cells: the entries of probable labels, and one for each of `margin` places on both sides of a sequence; links:
    their pairs, and those that the cells outside have.

    labels (C,): of the cells, BEFORE and AFTER outside.
    """

    def __init__(self, probable: ProbableLabels, lengths: NDArray[np.integer], margin: int) -> None:
        n_entries, n_sequences = len(probable.tokens), len(lengths)
        sequence = np.repeat(np.arange(n_sequences), lengths)
        self._place_of = np.arange(len(sequence)) + margin * (2 * sequence + 1)  # of each token, with room between
        ends = np.cumsum(lengths)
        first, last = self._place_of[ends - lengths], self._place_of[ends - 1]
        steps = np.arange(1, margin + 1)
        before, after = first[:, None] - steps, last[:, None] + steps  # (S, margin)
        outside = np.concatenate([before.reshape(-1), after.reshape(-1)])
        place = np.concatenate([self._place_of[probable.tokens], outside])
        order = np.argsort(place, kind="stable")
        self._entry = np.where(order < n_entries, order, -1)  # of each cell
        self._cell_of = np.empty(len(order), np.intp)
        self._cell_of[order] = np.arange(len(order))
        self._n_pairs, self._n_entries = len(probable.earlier), n_entries
        kinds = np.repeat([BEFORE, AFTER], n_sequences * margin)
        self.labels = np.concatenate([probable.labels, kinds])[order]
        self._p = np.concatenate([probable.probabilities, np.ones(len(outside))])[order]
        n_places = len(sequence) + 2 * margin * n_sequences
        self._count = np.bincount(place, minlength=n_places)
        self._first = np.cumsum(self._count) - self._count
        self._tokens: Ints = np.arange(len(sequence))
        self._found: Dict[Tuple[float, ...], NGrams] = {}
        self._link(probable, place[order], np.concatenate([before, after], axis=1), margin)

    def _link(self, probable: ProbableLabels, place: Ints, outside: Ints, margin: int) -> None:
        """Links in order of their earlier cell. A link of a cell outside is as probable as the cell within. (Links from
        one sequence to the next are there, too; no n-gram reaches that far.)"""
        earlier, later = self._cell_of[probable.earlier], self._cell_of[probable.later]
        source, value = np.arange(self._n_pairs), probable.pairs
        if margin:
            is_outside = np.zeros(len(self._count), bool)
            is_outside[outside.reshape(-1)] = True
            beside = np.flatnonzero(is_outside[:-1] | is_outside[1:])
            sizes = self._count[beside] * self._count[beside + 1]
            which = np.repeat(np.arange(len(beside)), sizes)
            number = ranges(np.zeros(len(beside), np.intp), sizes)
            a = self._first[beside][which] + number // self._count[beside + 1][which]
            b = self._first[beside + 1][which] + number % self._count[beside + 1][which]
            inner = np.where(is_outside[place[a]], b, a)
            earlier, later = np.concatenate([earlier, a]), np.concatenate([later, b])
            source = np.concatenate([source, -1 - inner])  # below 0: the probability of a cell
            value = np.concatenate([value, self._p[inner]])
        order = np.argsort(earlier, kind="stable")
        self._link_later, self._link_source, self._link_p = later[order], source[order], value[order]
        self._link_count = np.bincount(earlier, minlength=len(place))
        self._link_first = np.cumsum(self._link_count) - self._link_count

    def between(self, start: int, stop: int) -> "LabelLattice":
        """The same lattice, with n-grams around the tokens start <= n < stop only."""
        part = copy(self)
        part._tokens, part._found = self._tokens[start:stop], {}
        return part

    def ngrams(self, offsets: Sequence[int], threshold: float) -> NGrams:
        """All n-grams with q >= threshold at the places offsets[i] from each token, for each token.

        offsets: rising, none further than `margin`. Shorter n-grams found on the way are remembered.
        """
        key = (*offsets, threshold)
        if key not in self._found:
            nothing = NGrams(self._tokens, [], np.ones(len(self._tokens)), [])
            before = self.ngrams(offsets[:-1], threshold) if len(offsets) > 1 else nothing
            follows = len(offsets) > 1 and offsets[-1] == offsets[-2] + 1
            self._found[key] = self._extended(before, offsets[-1], follows, threshold)
        return self._found[key]

    def _extended(self, ngrams: NGrams, offset: int, follows: bool, threshold: float) -> NGrams:
        """With one more place; follows (bool): it is the one after the last, so there are links to it."""
        tokens, cells, values, links = ngrams
        if follows:
            first, count = self._link_first[cells[-1]], self._link_count[cells[-1]]
        else:
            place = self._place_of[tokens] + offset
            first, count = self._first[place], self._count[place]
        which, found = np.repeat(np.arange(len(tokens)), count), ranges(first, count)
        link: Optional[Ints] = None
        values = values[which]
        if follows:
            values *= self._link_p[found] / self._p[cells[-1][which]]
            link, found = found, self._link_later[found]
        else:
            values *= self._p[found]
        kept = np.flatnonzero(values >= threshold)
        which, found, values = which[kept], found[kept], values[kept]
        link = None if link is None else link[kept]
        cells = [*(cell[which] for cell in cells), found]
        links = [*(None if other is None else other[which] for other in links), link]
        return NGrams(tokens[which], cells, values, links)

    def backprop(self, ngrams: "Sequence[Tuple[NGrams, Floats]]") -> ProbabilityGradient:
        """The gradient of a loss, given its gradient with respect to the values of some n-grams (M,)."""
        cells, links = np.zeros(len(self._p)), np.zeros(len(self._link_p))
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
        cells += np.bincount(-1 - self._link_source[~of_pair], links[~of_pair], minlength=len(cells))
        within = self._entry >= 0
        probabilities: Floats = np.zeros(self._n_entries)
        probabilities[self._entry[within]] = cells[within]
        return ProbabilityGradient(probabilities, pairs)
