"""What `MarginalFeatures.active` finds, for a text of a few dozen tokens: n-grams are written down
in plain Python, and rows of strings of labels are remembered, by the string; then all templates are
laid out together.

Sums have the order of a batch, so that scores are the same to the last bit. Checked in
tests/layers/listening/test_short_text.py.
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

from ...arrays import Floats, Ints, Keys, Lengths, Rows
from ...features.extract import positions_of
from ...features.index import Index
from ...features.keys import ABSENT, LabelTemplate, mix
from ...features.upstream_templates import UpstreamTemplates
from ...kept import Kept
from ..tuning import TUNING, Tuning
from .listener import Heard

Shape = Tuple[int, ...]
String = Tuple[int, ...]  # what stands for each of its labels in keys
NGram = Tuple[String, float, int]  # with its probability, and the cell of its last label
NOTHING: NGram = ((), 0.0, -1)


class ShortLattice:
    """As `LabelLattice`, place by place. Each sequence has `margin` places on both sides.

    cells: numbers of those at each place. ids, p: of each cell, the label, as a number of
        `labels.keys`, and q.
    """

    def __init__(self, labels: Heard, lengths: Lengths, margin: int) -> None:
        probable = labels.probable
        self._threshold = labels.threshold
        self.ids: List[int] = probable.labels.tolist()
        self.p: List[float] = probable.probabilities.tolist()
        entries: List[List[int]] = [[] for _ in range(int(lengths.sum()))]
        for entry, token in enumerate(probable.tokens.tolist()):
            entries[token].append(entry)
        self._links: List[List[Tuple[int, float]]] = [
            [] for _ in self.p
        ]  # cells after each, and p of them given it
        pairs = zip(
            probable.earlier.tolist(), probable.later.tolist(), probable.pairs.tolist(), strict=True
        )
        for earlier, later, of_both in pairs:
            if self.p[earlier]:
                self._links[earlier].append((later, of_both / self.p[earlier]))
        before = len(labels.keys) - 2
        after = len(labels.keys) - 1
        self.cells: List[List[int]] = []
        first = 0
        for length in lengths.tolist():
            here = [
                *self._outside(before, margin),
                *entries[first : first + length],
                *self._outside(after, margin),
            ]
            for place in range(
                margin
            ):  # what is beside a cell outside is as probable as the cell within
                self._links[here[place][0]] = [(cell, self.p[cell]) for cell in here[place + 1]]
            for place in range(margin + length - 1, len(here) - 1):
                for cell in here[place]:
                    self._links[cell] = [(here[place + 1][0], 1.0)]
            self.cells += here
            first += length
        keys = labels.keys.tolist()
        self._keys: List[int] = [keys[label] for label in self.ids]
        self.ids.append(-1)  # of no cell at all, -1
        self._known: Dict[Shape, List[List[NGram]]] = {}

    def _outside(self, label: int, margin: int) -> List[List[int]]:
        first = len(self.p)
        self.ids += [label] * margin
        self.p += [1.0] * margin
        self._links += [[] for _ in range(margin)]
        return [[cell] for cell in range(first, first + margin)]

    def ngrams(self, shape: Shape) -> List[List[NGram]]:
        """At each place, as `LabelLattice.ngrams` orders them."""
        if shape not in self._known:
            self._known[shape] = self._ngrams(shape)
        return self._known[shape]

    def _ngrams(self, shape: Shape) -> List[List[NGram]]:
        keys = self._keys
        p = self.p
        links = self._links
        least = self._threshold
        if len(shape) == 1:
            return [
                [((keys[cell],), p[cell], cell) for cell in here if p[cell] >= least]
                for here in self.cells
            ]
        result: List[List[NGram]] = []
        follows = shape[-1] == shape[-2] + 1
        last_place = len(self.cells) - 1
        for place, here in enumerate(self.ngrams(shape[:-1])):
            longer: List[NGram] = []
            apart = (
                []
                if follows
                else [(cell, p[cell]) for cell in self.cells[min(place + shape[-1], last_place)]]
            )
            for string, q, last in here:
                for cell, more in links[last] if follows else apart:
                    of_all = q * more
                    if of_all >= least:
                        longer.append(((*string, keys[cell]), of_all, cell))
            result.append(longer)
        return result


class ShapeRows:
    """Rows of strings of one shape under its templates without words, remembered by string.

    width (int): of all rows, more than there are templates; the rest is that of no feature.
    """

    def __init__(
        self, shape: Shape, templates: Sequence[LabelTemplate], width: int, most: int
    ) -> None:
        self.shape = shape
        self._width = width
        self._most = most
        self._seeds = np.array([template.seed for template in templates], np.uint64)
        self._rows: Kept[Dict[String, bytes]] = Kept()

    def rows(self, index: Index, strings: List[String]) -> Dict[String, bytes]:
        """Of these strings, among others; () has no feature. (W,) each."""

        def begin() -> Dict[String, bytes]:
            return {(): np.full(self._width, index.n_rows, np.int32).tobytes()}

        known = self._rows.of((index,), begin)
        if len(known) > self._most:
            self._rows.forget()
            known = self._rows.of((index,), begin)
        new = list({string: None for string in strings if string not in known})
        if new:
            keys = self._seeds[:, None]
            for labels in np.array(new, np.uint64).T:
                keys = mix(keys, labels)
            rows = np.full((len(new), self._width), index.n_rows, np.int32)
            rows[:, : len(keys)] = index.lookup(keys).T
            known.update(zip(new, map(bytes, rows), strict=True))
        return known


class NGramRows(NamedTuple):
    """N-grams (M of them): first that of each cell, shape after shape, place by place, or none, and
    then all others. rows (M * W,). q, ids (M,): the probability of each, and the label at its end.
    others: the cell of each other."""

    rows: Rows
    q: Floats
    ids: Ints
    others: List[int]


class FirstAndOthers(NamedTuple):
    """As `Active` and `Others`. rows, values (K, n). tokens, templates, other_rows, other_values
    (M,)."""

    rows: Rows
    values: Floats
    tokens: Ints
    templates: Ints
    other_rows: Rows
    other_values: Floats


class ShortFeatures:
    """serves (bool): whether no template has a word and several labels: such ones are rare.

    shape_of, columns, firsts, word_of (K,): of each template, its shape; its place in the rows of a
    string; the offset of its first label; and its part about words, -1 = none. with_words (P,):
    templates that have one, with one label.
    """

    def __init__(self, templates: UpstreamTemplates, tuning: Tuning = TUNING) -> None:
        labels = templates.labels
        shapes = [place.shape for place in templates.places]
        self._margin = templates.margin
        with_words = [k for k, template in enumerate(labels) if template.word >= 0]
        self.serves = all(len(shapes[k]) == 1 for k in with_words)
        plain: Dict[Shape, List[int]] = {shape: [] for shape in shapes}
        for k, shape in enumerate(shapes):
            plain[shape] += [k] if labels[k].word < 0 else []
        self._width = width = 1 + max(map(len, plain.values()), default=0)
        of_shapes = plain.items() if self.serves else ()
        self._shapes = [
            ShapeRows(s, [labels[k] for k in of], width, tuning.short_strings)
            for s, of in of_shapes
        ]
        numbers = {shape: i for i, shape in enumerate(plain)}
        self._shape_of = np.array([numbers[shape] for shape in shapes], np.intp)
        self._columns = np.full(len(labels), width - 1)
        for of in plain.values():
            self._columns[of] = np.arange(len(of))
        self._firsts = np.array([template.offsets[0] for template in labels], np.intp)
        self._word_of = np.array([template.word for template in labels], np.intp)
        self._with_words = np.array(with_words, np.intp)
        self._seeds = np.array([template.seed for template in labels], np.uint64)

    def of(self, labels: Heard, lengths: Lengths, index: Index, words: Keys) -> FirstAndOthers:
        """words (W, n): keys of the word parts of templates."""
        lattice = ShortLattice(labels, lengths, self._margin)
        places = positions_of(lengths, self._margin)
        all_rows, q, ids, others = self._ngram_rows(lattice, index)
        n_places = len(lattice.cells)
        width = self._width
        cells = self._shape_of * n_places + self._firsts + places[:, None]  # (n, K)
        rows = all_rows.take(cells * width + self._columns)
        ngrams, templates, tokens = self._around(others, places, n_places)
        ngrams += len(ids) - len(others)
        other_rows = all_rows.take(ngrams * width + self._columns.take(templates))
        some = self._with_words
        if len(some):
            paired = (self._word_of.take(templates) >= 0).nonzero()[0]
            every = np.concatenate([cells.take(some, axis=1).reshape(-1), ngrams.take(paired)])
            of = np.concatenate([np.tile(some, len(places)), templates.take(paired)])
            at = np.concatenate([np.arange(len(places)).repeat(len(some)), tokens.take(paired)])
            # of pairs of words and labels
            of_words = words[self._word_of.take(of), at]
            heard = ids.take(every)
            keys = mix(mix(self._seeds.take(of), of_words), labels.keys.take(heard))
            keys *= (of_words != ABSENT) & (heard >= 0)  # 0 is ABSENT
            of_pairs = index.lookup(keys)
            rows[:, some] = of_pairs[: len(places) * len(some)].reshape(-1, len(some))
            other_rows[paired] = of_pairs[len(places) * len(some) :]
        order = (templates * len(places) + tokens).argsort(kind="stable")
        kept = order.compress(other_rows.take(order) < index.n_rows)
        beside = (
            tokens.take(kept),
            templates.take(kept),
            other_rows.take(kept),
            q.take(ngrams.take(kept)),
        )
        return FirstAndOthers(rows.T, q.take(cells).T, *beside)

    def _ngram_rows(self, lattice: ShortLattice, index: Index) -> NGramRows:
        firsts: List[NGram] = []
        rows: List[bytes] = []
        others: List[Tuple[int, NGram, bytes]] = []  # with its cell and row
        for of_shape in self._shapes:
            ngrams = lattice.ngrams(of_shape.shape)
            here = [at_place[0] if at_place else NOTHING for at_place in ngrams]
            beside = [
                (cell, ngram)
                for cell, at_place in enumerate(ngrams, len(firsts))
                for ngram in at_place[1:]
            ]
            strings = [string for string, _, _ in here]
            known = of_shape.rows(index, [*strings, *(ngram[0] for _, ngram in beside)])
            firsts += here
            rows += [known[string] for string in strings]
            others += [(cell, ngram, known[ngram[0]]) for cell, ngram in beside]
        _, q, cells = zip(*firsts, *(ngram for _, ngram, _ in others), strict=True)
        rows += [row for _, _, row in others]
        all_rows = np.frombuffer(b"".join(rows), np.int32)
        return NGramRows(
            all_rows,
            np.array(q),
            np.array(lattice.ids, np.intp).take(cells),
            [c for c, _, _ in others],
        )

    def _around(self, cells: List[int], places: Ints, n_places: int) -> Tuple[Ints, Ints, Ints]:
        """All templates at tokens that look at these cells (M,). RETURNS which of the M, template
        and token (m,)."""
        shape, place = np.divmod(np.array(cells, np.intp), n_places)
        which, templates = (shape[:, None] == self._shape_of).nonzero()
        token_at = np.full(n_places + 2 * self._margin, -1)
        token_at[places + self._margin] = np.arange(len(places))
        tokens = token_at.take(place.take(which) - self._firsts.take(templates) + self._margin)
        there = (tokens >= 0).nonzero()[0]
        return which.take(there), templates.take(there), tokens.take(there)
