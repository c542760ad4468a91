"""Features made of the labels of an earlier component, with their probabilities as values.

What templates look at is found once for each shape of n-grams: "upstream[-1]+upstream[0]" and
"upstream[1]+upstream[2]" have the same ones. Most places have one n-gram of a shape that is
probable; that one, or where there are several the first, has its row in a table with a column for
each template, and only what else there is needs lists.
"""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union, cast

import numpy as np
from numpy.typing import DTypeLike
from spacy.tokens import Doc

from ...arrays import Floats, Ints, Keys, Lengths, Rows
from ...decoders.answers import LabelLattice, NGrams
from ...errors import Errors
from ...features.extract import Columns, FeatureExtractor, laid_apart, positions_of
from ...features.index import ExactIndex
from ...features.keys import AFTER, BEFORE, KeyFolds, LabelTemplate, bits_of, label_keys
from ...features.sequences import by_doc, sequence_lengths
from ...features.templates import parse_templates
from ...features.upstream_templates import split_upstream
from ...kept import Kept
from ..tuning import TUNING, Tuning
from .listener import Heard

NO_LABEL = np.uint64(0)
NO_WORDS = np.zeros((0, 0), np.uint64)


class HeardBatch(NamedTuple):
    """What the features of a batch are made of. lengths (S,): of its sequences. columns: of its
    words, if there are templates about them. ids (C,): the labels of the lattice's cells, as
    numbers of `labels.keys`."""

    lengths: Lengths
    columns: Optional[Columns]
    labels: Heard
    lattice: LabelLattice
    ids: Ints


class CertainBatch(NamedTuple):
    """The same where each word has one label, which is certain. positions (N,): where each word lies
    among `padded` (P,), what stands for labels in keys, with places between the sequences."""

    lengths: Lengths
    columns: Optional[Columns]
    positions: Ints
    padded: Keys


class Others(NamedTuple):
    """N-grams beside the first of their template and token, where the feature has a weight. tokens,
    templates, rows,
    values, ngrams (M,): by template, then by token. ngrams: numbers of those of the template's
        shape."""

    tokens: Ints
    templates: Ints
    rows: Rows
    values: Floats
    ngrams: Ints

    def at(self, some: Ints) -> "Others":
        """some (m,): numbers from 0 to below M."""
        return Others(*(column.take(some) for column in cast(Tuple[Any, ...], self)))


class SeenNGrams(NamedTuple):
    """What n tokens see at one offset. Tokens are counted from the first of the n.

    values (n,): q of the first n-gram there. tokens, again, more_values (A,): of the others, the
    token, the number of the n-gram, and its q. at, strings (n + A,): of first ones and then of
    others, the token and the string.
    """

    values: Floats
    tokens: Ints
    again: Ints
    more_values: Floats
    at: Ints
    strings: Ints


class LabelStrings(NamedTuple):
    """The n-grams of one shape (M of them), and strings of labels, each once (U of them). distinct:
    for each place, the labels (U,). which (M,): the string of each n-gram. again (A,): n-grams
    beside the first at their place. first_at (P,): the first one at each place, M = none. number_at
    (P,): its string, U = none. value_at (P,): its q."""

    ngrams: NGrams
    distinct: List[Ints]
    which: Ints
    again: Ints
    first_at: Ints
    number_at: Ints
    value_at: Floats

    @classmethod
    def of(
        cls, ngrams: NGrams, ids: Ints, n_labels: int, n_places: int, tuning: Tuning = TUNING
    ) -> "LabelStrings":
        """ids (C,): the label of each cell."""
        distinct, which = distinct_strings(
            [ids.take(cells) for cells in ngrams.cells], n_labels, tuning
        )
        is_first = np.diff(ngrams.places, prepend=-1) > 0
        first = np.flatnonzero(is_first)
        first_at = np.full(n_places, len(which))
        first_at[ngrams.places.take(first)] = first
        number_at = np.append(which, len(distinct[0])).take(first_at)
        value_at = np.append(ngrams.values, 0.0).take(first_at)
        return cls(
            ngrams, distinct, which, np.flatnonzero(~is_first), first_at, number_at, value_at
        )

    def around(self, lattice: LabelLattice, first: int, start: int) -> "SeenNGrams":
        """What tokens of the lattice see whose templates begin at an offset. start (int): their
        first token."""
        places = lattice.places + first
        tokens = lattice.tokens_at(self.ngrams.places.take(self.again) - first)
        seen = np.flatnonzero(tokens >= 0)
        again = self.again.take(seen)
        tokens = tokens.take(seen) - start
        at = np.concatenate([np.arange(len(places)), tokens])
        strings = np.concatenate([self.number_at.take(places), self.which.take(again)])
        return SeenNGrams(
            self.value_at.take(places), tokens, again, self.ngrams.values.take(again), at, strings
        )

    def keys(self, values: Keys) -> List[Keys]:
        """Of the labels of each string, and at last what is no label, for no string: no feature has
        a key made of it.
        values: of each label. RETURNS (U + 1,) each."""
        return [np.append(values.take(ids), NO_LABEL) for ids in self.distinct]


class Active(NamedTuple):
    """Features of n tokens. rows, values (K, n): of each template, those of the first n-gram; the
    last row of the table where there is none or it has no weight. others: all other n-grams.
    strings: what both were made of."""

    rows: Rows
    values: Floats
    others: Others
    strings: Dict[Tuple[int, ...], LabelStrings]


class WeightedFeatures(NamedTuple):
    """Features of one template that have a weight. ngrams (m,): numbers of those of the shape.
    tokens, rows, values (m,)."""

    shape: Tuple[int, ...]
    ngrams: Ints
    tokens: Ints
    rows: Rows
    values: Floats


class MarginalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use."""

    def __init__(self, templates: List[str], tuning: Tuning = TUNING) -> None:
        self.tuning = tuning
        parsed = parse_templates(templates)
        self.names = sorted(map(str, parsed))
        self.templates = split_upstream(parsed)
        words = self.templates.words
        self.words = FeatureExtractor(words, tuning.word_types) if words else None
        self._placed = list(zip(self.templates.labels, self.templates.places, strict=True))
        # templates without words
        self._of_labels = [k for k, (of, _) in enumerate(self._placed) if of.word < 0]
        self._margin = self.templates.margin
        offsets = sorted({offset for of, _ in self._placed for offset in of.offsets})
        row_of = {offset: row for row, offset in enumerate(offsets, len(words))}
        self._offsets = np.array(offsets, np.intp)[:, None]
        self._folds = KeyFolds(
            [int(of.seed) for of, _ in self._placed],
            [
                [*([of.word] if of.word >= 0 else []), *(row_of[offset] for offset in of.offsets)]
                for of, _ in self._placed
            ],
        )
        self._index: Kept[ExactIndex] = Kept()

    def index(self, known: Dict[str, Any]) -> ExactIndex:
        """known: what the weights save of their features. RAISES ValueError [HS052]: no features
        yet."""
        if "keys" not in known:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        keys = known["keys"]
        return self._index.of((known,), lambda: ExactIndex(keys, bits_of(keys)))

    def certain(self, docs: List[Doc], labels: Heard) -> Optional[CertainBatch]:
        """RETURNS None if a word has no label, or one that is not certain."""
        best = labels.best(sum(map(len, docs)))
        if best is None:
            return None
        columns = self.words.columns(docs) if self.words is not None else None
        lengths = sequence_lengths(docs) if columns is None else columns.lengths
        positions = positions_of(lengths, self._margin)
        padded = laid_apart(best, positions, lengths, self._margin, (BEFORE, AFTER))
        return CertainBatch(lengths, columns, positions, padded)

    def certain_rows(self, batch: CertainBatch, index: ExactIndex, start: int, stop: int) -> Rows:
        """Of each template at the tokens start <= n < stop. RETURNS (K, n)."""
        parts = batch.padded.take(batch.positions[start:stop] + self._offsets)
        if batch.columns is not None:
            parts = np.concatenate([self._words(batch, start, stop), parts])
        return index.lookup(self._folds.keys(parts))

    def batch(self, docs: List[Doc], labels: Heard) -> HeardBatch:
        columns = self.words.columns(docs) if self.words is not None else None
        lengths = sequence_lengths(docs) if columns is None else columns.lengths
        lattice = LabelLattice(labels.probable, lengths, self._margin)
        return HeardBatch(lengths, columns, labels, lattice, lattice.labels % len(labels.keys))

    def keys(self, batch: HeardBatch) -> Iterator[Keys]:
        """Those of each template, with as many of each as there are n-grams."""
        words = self._words(batch, 0, int(batch.lengths.sum()))
        keys = batch.labels.keys
        for template, at in self._placed:
            ngrams = batch.lattice.ngrams(at.shape, batch.labels.threshold)
            tokens = batch.lattice.tokens_at(ngrams.places - at.first)
            kept = np.flatnonzero(tokens >= 0)
            labels = [keys.take(batch.ids.take(cells.take(kept))) for cells in ngrams.cells]
            yield label_keys(template, words.take(tokens.take(kept), axis=1), labels)

    def strings(
        self, batch: HeardBatch, lattice: LabelLattice
    ) -> Dict[Tuple[int, ...], LabelStrings]:
        """Of each shape. lattice: that of the batch, or a part of it."""
        threshold = batch.labels.threshold
        n_labels = len(batch.labels.keys)
        return {
            shape: LabelStrings.of(
                lattice.ngrams(shape, threshold), batch.ids, n_labels, lattice.n_places, self.tuning
            )
            for shape in self.templates.shapes
        }

    def active(
        self, batch: HeardBatch, index: ExactIndex, start: int, stop: int, dtype: DTypeLike
    ) -> Active:
        """Around the tokens start <= n < stop. dtype: of the values of first n-grams."""
        lattice = batch.lattice.between(start, stop)
        strings = self.strings(batch, lattice)
        keys = {shape: of.keys(batch.labels.keys) for shape, of in strings.items()}
        words = self._words(batch, start, stop)
        distinct = dict.fromkeys(at for _, at in self._placed)
        around_at = {at: strings[at.shape].around(lattice, at.first, start) for at in distinct}
        around = [around_at[at] for _, at in self._placed]
        rows_of = self._rows_of_labels(index, keys)
        n_first = stop - start
        asked = [
            rows_of[k].take(seen.strings)
            if k in rows_of
            else index.lookup(_keys(of, words[of.word].take(seen.at), keys[at.shape], seen.strings))
            for k, ((of, at), seen) in enumerate(zip(self._placed, around, strict=True))
        ]
        rows = np.array([of_template[:n_first] for of_template in asked])
        values = np.array([seen.values for seen in around], dtype)
        of_more = np.concatenate([of_template[n_first:] for of_template in asked])
        templates = np.repeat(np.arange(len(around)), [len(seen.tokens) for seen in around])
        tokens, again, q = (
            np.concatenate(parts)
            for parts in zip(
                *((seen.tokens, seen.again, seen.more_values) for seen in around), strict=True
            )
        )
        others = Others(tokens, templates, of_more, q, again).at(
            np.flatnonzero(of_more < index.n_rows)
        )
        return Active(rows, values, others, strings)

    def _rows_of_labels(
        self, index: ExactIndex, labels: Dict[Tuple[int, ...], List[Keys]]
    ) -> Dict[int, Rows]:
        """Of templates without words, by number: the row of each string (U + 1,). labels: of all
        strings, by shape."""
        keys = [
            label_keys(of, NO_WORDS, labels[at.shape]) for of, at in self._placed if of.word < 0
        ]
        rows = index.lookup(np.concatenate(keys)) if keys else np.zeros(0, np.int32)
        return dict(zip(self._of_labels, by_doc(rows, keys), strict=True))

    def used(
        self, active: Active, lattice: LabelLattice, tokens: Ints, nothing: int
    ) -> Iterator[WeightedFeatures]:
        """Template by template, at some tokens. active, lattice: of a whole batch. nothing (int):
        the last row."""
        rows, values, others, strings = active
        places = lattice.places.take(tokens)
        wanted = np.zeros(rows.shape[1], bool)
        wanted[tokens] = True
        for k, (_, at) in enumerate(self._placed):
            first_rows = rows[k].take(tokens)
            first = np.flatnonzero(first_rows < nothing)
            more = np.flatnonzero((others.templates == k) & wanted.take(others.tokens))
            ngrams = strings[at.shape].first_at.take(places.take(first) + at.first)
            at_first = tokens.take(first)
            yield WeightedFeatures(
                at.shape,
                np.concatenate([ngrams, others.ngrams.take(more)]),
                np.concatenate([at_first, others.tokens.take(more)]),
                np.concatenate([first_rows.take(first), others.rows.take(more)]),
                np.concatenate([values[k].take(at_first), others.values.take(more)]),
            )

    def _words(self, batch: Union[HeardBatch, CertainBatch], start: int, stop: int) -> Keys:
        """Keys of the word parts of templates (P, n)."""
        if self.words is None or batch.columns is None:
            return np.zeros((0, stop - start), np.uint64)
        return self.words.keys_at(batch.columns, batch.columns.positions[start:stop])


def _keys(template: LabelTemplate, words: Keys, labels: List[Keys], strings: Ints) -> Keys:
    """Of a template that words are part of. words, strings (n,). labels: for each place, those of
    all strings."""
    return label_keys(
        template._replace(word=0), words[None], [values.take(strings) for values in labels]
    )


def distinct_strings(
    labels: List[Ints], n: int, tuning: Tuning = TUNING
) -> Tuple[List[Ints], Ints]:
    """Strings of labels, each once: there are far fewer than tokens. labels: for each place (M,),
    from 0 to below n.
    RETURNS the same for the distinct ones, (U,) each, and which of these the M are; all as they are
    where the strings that there could be are too many.
    """
    n_codes = n ** len(labels)
    if n_codes > tuning.label_strings:
        return labels, np.arange(len(labels[0]))
    codes = labels[0]
    for at in labels[1:]:
        codes = codes * n + at
    present = np.zeros(n_codes, bool)
    present[codes] = True
    distinct = np.flatnonzero(present)
    number = np.empty(n_codes, np.intp)
    number[distinct] = np.arange(len(distinct))
    powers = [n**i for i in reversed(range(len(labels)))]
    return [distinct // power % n for power in powers], number.take(codes)
