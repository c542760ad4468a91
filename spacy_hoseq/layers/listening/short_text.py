"""What `MarginalFeatures.active` finds, for a text of a few dozen tokens: n-grams are written down in plain Python, and
rows of strings of labels are remembered, by the string; then all templates are laid out together.

Sums have the order of a batch, so that scores are the same to the last bit. Checked in
tests/layers/listening/test_short_text.py.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ...arrays import Floats, Ints, Lengths, Mask, Rows
from ...features.extract import Columns, FeatureExtractor
from ...features.index import Index
from ...features.keys import ABSENT, mix
from ...features.label_templates import LabelTemplate, label_keys
from ..tuning import TUNING, Tuning
from .pair_rows import PairRows
from .upstream import UpstreamLabels

NO_WORDS = np.zeros((0, 0), np.uint64)

Shape = Tuple[int, ...]
String = Tuple[int, ...]  # what stands for each of its labels in keys
NGram = Tuple[String, float, int]  # with its probability, and the cell of its last label


class ShortLattice:
    """As `LabelLattice`, place by place.

    Each sequence has `margin` places on both sides. token_at: the token at each place, -1 outside; with `margin` more
    of these before and after all.
    """

    def __init__(self, labels: UpstreamLabels, lengths: Lengths, margin: int) -> None:
        before, after = labels.keys[-2:].tolist()
        self._cells: List[List[int]] = []  # numbers of the cells at each place
        self._keys: List[int] = []
        self._p: List[float] = []
        self._links: Dict[int, List[Tuple[int, float]]] = {}  # cell -> cells after it, and p of both
        self._threshold = labels.threshold
        self._known: Dict[Shape, List[List[NGram]]] = {}
        probable, token_at = labels.probable, []
        of_entry = [0] * len(probable.tokens)
        entries: List[List[int]] = [[] for _ in range(int(lengths.sum()))]
        for entry, token in enumerate(probable.tokens.tolist()):
            entries[token].append(entry)
        keys, p = labels.keys.take(probable.labels).tolist(), probable.probabilities.tolist()
        first = 0
        for length in lengths.tolist():
            token_at += [*[-1] * margin, *range(first, first + length), *[-1] * margin]
            for _ in range(margin):
                self._add(before, 1.0)
            for token in range(first, first + length):
                here: List[int] = []
                for entry in entries[token]:
                    of_entry[entry] = len(self._keys)
                    here.append(len(self._keys))
                    self._keys.append(keys[entry])
                    self._p.append(p[entry])
                self._cells.append(here)
            for _ in range(margin):
                self._add(after, 1.0)
            first += length
        self.token_at: Ints = np.array([*[-1] * margin, *token_at, *[-1] * margin], np.intp)
        pairs = zip(probable.earlier.tolist(), probable.later.tolist(), probable.pairs.tolist(), strict=True)
        for earlier, later, q in pairs:
            self._links.setdefault(of_entry[earlier], []).append((of_entry[later], q))
        for place, (here, there) in enumerate(zip(self._cells, self._cells[1:], strict=False)):
            if token_at[place] < 0 or token_at[place + 1] < 0:  # as probable as the cell within
                inner_first = token_at[place] >= 0
                for a in here:
                    self._links[a] = [(b, self._p[a if inner_first else b]) for b in there]

    def _add(self, key: int, p: float) -> None:
        self._cells.append([len(self._keys)])
        self._keys.append(key)
        self._p.append(p)

    def ngrams(self, shape: Shape) -> List[List[NGram]]:
        """At each place, as `LabelLattice.ngrams` orders them."""
        if shape not in self._known:
            self._known[shape] = self._ngrams(shape)
        return self._known[shape]

    def _ngrams(self, shape: Shape) -> List[List[NGram]]:
        keys, p, least = self._keys, self._p, self._threshold
        if len(shape) == 1:
            return [[((keys[cell],), p[cell], cell) for cell in here if p[cell] >= least] for here in self._cells]
        shorter, step, result = self.ngrams(shape[:-1]), shape[-1] - shape[-2], []
        for place, here in enumerate(shorter):
            at = min(place + shape[-1], len(self._cells) - 1)
            longer: List[NGram] = []
            for string, q, last in here:
                if step == 1:
                    links = [(cell, of_both / p[last]) for cell, of_both in self._links.get(last, ())]
                else:
                    links = [(cell, p[cell]) for cell in self._cells[at]]
                longer += [((*string, keys[cell]), q * more, cell) for cell, more in links if q * more >= least]
            result.append(longer)
        return result


class OfShape:
    """Templates whose labels have one shape: first those without words, then those of one word (`n_pairs`). Rows of the
    first are remembered by string."""

    def __init__(self, shape: Shape, plain: Sequence[LabelTemplate], n_pairs: int, most: int) -> None:
        self.shape, self.n_templates = shape, len(plain) + n_pairs
        self._plain, self._n_pairs, self._most = plain, n_pairs, most
        self._rows: Dict[String, Rows] = {}
        self._index: object = None

    def rows(self, index: Index, strings: Sequence[String]) -> Dict[String, Rows]:
        """Of these strings, among others: rows (K,) of all templates, those of one word to be filled in."""
        if self._index is not index or len(self._rows) > self._most:
            self._rows, self._index = {}, index
        known = self._rows
        new = [string for string in dict.fromkeys(strings) if string not in known]
        if new:
            labels = list(np.array(new, np.uint64).T)
            keys = [label_keys(template, NO_WORDS, labels) for template in self._plain]
            rows = np.full((len(new), self.n_templates), index.n_rows, np.int32)
            rows[:, : len(keys)] = index.lookup(np.array(keys, np.uint64).reshape(len(keys), len(new))).T
            known.update(zip(new, rows, strict=True))
        return known


class Templates(NamedTuple):
    """labels: all templates. pairs: of those of one word and one label, by number, which of these. word_at: the offset
    of each word part."""

    labels: List[LabelTemplate]
    pairs: Dict[int, int]
    word_at: Dict[int, int]


class WrittenDown(NamedTuple):
    """All n-grams, shape by shape: rows of each under the templates of its shape; its place; q; whether it is the first
    at its place; its last label, as in keys; the number of its shape."""

    rows: List[Rows]
    places: List[int]
    q: List[float]
    are_first: List[bool]
    last_labels: List[int]
    shapes: List[int]


class Laid(NamedTuple):
    """All n-grams under all templates of their shape (C,): cells, of a table of templates and tokens; rows, values; and
    whether it is the first at its place."""

    cells: Ints
    rows: Rows
    values: Floats
    are_first: Mask


class FirstAndOthers(NamedTuple):
    """As `Active` and `Others`. rows, values (K, n). tokens, templates, other_rows, other_values (M,)."""

    rows: Rows
    values: Floats
    tokens: Ints
    templates: Ints
    other_rows: Rows
    other_values: Floats


class ShortFeatures:
    """serves (bool): whether no template has a word and several labels, or several words: such ones are rare.

    Slots are templates by shape. numbers, firsts, pairs, word_at (K,): of each, its number; the offset of its first
    label; which of all templates of one word and one label it is, -1 = none; and the offset of its word.
    """

    def __init__(self, templates: Templates, shapes: Sequence[Shape], margin: int, tuning: Tuning = TUNING) -> None:
        self._margin = margin
        self.serves = all(template.word < 0 or k in templates.pairs for k, template in enumerate(templates.labels))
        self._shapes: List[OfShape] = []
        slots: List[int] = []
        for shape in dict.fromkeys(shapes) if self.serves else ():
            numbers = [k for k, other in enumerate(shapes) if other == shape]
            plain, paired = (
                [k for k in numbers if k not in templates.pairs],
                [k for k in numbers if k in templates.pairs],
            )
            of_plain = [templates.labels[k] for k in plain]
            self._shapes.append(OfShape(shape, of_plain, len(paired), tuning.short_strings))
            slots += [*plain, *paired]
        self._sizes = np.array([of.n_templates for of in self._shapes], np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes
        chosen = [templates.labels[k] for k in slots]
        self._numbers = np.array(slots, np.intp)
        self._firsts = np.array([template.offsets[0] for template in chosen], np.intp)
        self._pairs = np.array([templates.pairs.get(k, -1) for k in slots], np.intp)
        self._word_at = np.array([templates.word_at.get(template.word, 0) for template in chosen], np.intp)
        paired = sorted(templates.pairs, key=lambda k: templates.pairs[k])
        self._seeds = np.array([templates.labels[k].seed for k in paired], np.uint64)
        self._words = [templates.labels[k].word for k in paired]

    def of(
        self,
        labels: UpstreamLabels,
        lengths: Lengths,
        index: Index,
        words: Optional[Tuple[FeatureExtractor, Columns, PairRows]],
    ) -> FirstAndOthers:
        """words: what knows those of the text, and remembers rows of pairs; None = no template has any."""
        n_tokens, lattice = int(lengths.sum()), ShortLattice(labels, lengths, self._margin)
        rows, places, q, are_first, last_labels, shapes = self._written_down(lattice, index)
        counts = self._sizes.take(shapes)
        ngram = np.repeat(np.arange(len(places)), counts)
        slots = np.arange(len(ngram)) - np.repeat(np.cumsum(counts) - counts - self._starts.take(shapes), counts)
        tokens = lattice.token_at.take(np.array(places, np.intp).take(ngram) - self._firsts.take(slots))
        all_rows = np.concatenate(rows)
        if words is not None:
            paired = np.flatnonzero((self._pairs.take(slots) >= 0) & (tokens >= 0))
            of_pairs = slots.take(paired)
            at = words[1].positions.take(tokens.take(paired)) + self._word_at.take(of_pairs)
            number = {key: i for i, key in enumerate(labels.keys.tolist())}
            ids = np.array([number[key] for key in last_labels], np.intp).take(ngram.take(paired))
            all_rows[paired] = self._pair_rows(self._pairs.take(of_pairs), at, ids, labels, index, words)
        all_rows[tokens < 0] = index.n_rows
        cells = self._numbers.take(slots) * n_tokens + np.maximum(tokens, 0)
        laid = Laid(cells, all_rows, np.array(q, float).take(ngram), np.array(are_first, bool).take(ngram))
        return self._active(laid, n_tokens, index.n_rows)

    def _written_down(self, lattice: ShortLattice, index: Index) -> WrittenDown:
        all_ngrams = WrittenDown([np.zeros(0, np.int32)], [], [], [], [], [])
        rows, places, q, are_first, last_labels, shapes = all_ngrams
        for shape, of in enumerate(self._shapes):
            ngrams = lattice.ngrams(of.shape)
            known = of.rows(index, [string for here in ngrams for string, _, _ in here])
            for place, here in enumerate(ngrams, self._margin):
                is_first = True
                for string, value, _ in here:
                    rows.append(known[string])
                    places.append(place)
                    q.append(value)
                    are_first.append(is_first)
                    last_labels.append(string[-1])
                    shapes.append(shape)
                    is_first = False
        return all_ngrams

    def _active(self, every: Laid, n_tokens: int, nothing: int) -> FirstAndOthers:
        shape, has_weight = (len(self._numbers), n_tokens), every.rows < nothing
        first = np.flatnonzero(every.are_first & has_weight)
        others = np.flatnonzero(has_weight > every.are_first)
        others = others[every.cells.take(others).argsort(kind="stable")]
        rows, values = np.full(shape, nothing, np.int32), np.zeros(shape)
        rows.reshape(-1)[every.cells.take(first)] = every.rows.take(first)
        values.reshape(-1)[every.cells.take(first)] = every.values.take(first)
        templates, tokens = np.divmod(every.cells.take(others), n_tokens)
        return FirstAndOthers(rows, values, tokens, templates, every.rows.take(others), every.values.take(others))

    def _pair_rows(
        self,
        pairs: Ints,
        places: Ints,
        ids: Ints,
        labels: UpstreamLabels,
        index: Index,
        words: Tuple[FeatureExtractor, Columns, PairRows],
    ) -> Rows:
        """Of words with a label: templates, places of words, and numbers of labels. All (m,)."""
        extractor, columns, kept = words

        def find(some: Ints) -> Rows:
            which = pairs.take(some)
            keys = extractor.type_keys(columns, self._words, columns.types.take(places.take(some)))
            of_words = keys[which, np.arange(len(some))]
            state = mix(mix(self._seeds.take(which), of_words), labels.keys.take(ids.take(some)))
            return index.lookup(np.where(of_words != ABSENT, state, ABSENT))

        return kept.of(index, columns, labels.keys).of(pairs, places, ids, find)
