"""Features made of the labels of an earlier component, with their probabilities as values.

Each n-gram of probable labels around a token fires in every template of its shape: a template says
at which offsets it looks at labels, and perhaps at words.
"""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Keys, Lengths
from ..decoders.answers import LabelLattice, NGrams
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex
from ..features.keys import ABSENT, bits_of, label_values, mix
from ..features.sequences import sequence_lengths
from ..features.templates import UPSTREAM, parse_templates, split_templates
from ..kept import Kept
from .listener import UpstreamLabels

Offsets = Tuple[int, ...]  # at which a template looks at labels
Shape = Tuple[int, ...]  # the same, seen from the first
BLOCK = 2_048  # tokens that are worked on together: what is made stays in the processor's cache


class HeardBatch(NamedTuple):
    """lengths (S,): of the sequences. lattice: of the labels, whose ids are their entries. values
    (E + 2,): what stands for each in feature keys, then before and after a sequence. words (P, N):
    keys of the word parts of templates. threshold (float): the least probability of an n-gram."""

    lengths: Lengths
    lattice: LabelLattice
    values: Keys
    words: Keys
    threshold: float

    def between(self, start: int, stop: int) -> "HeardBatch":
        """The tokens start <= n < stop and what is around them."""
        return self._replace(lattice=self.lattice.between(start, stop))

    def ngrams(self, shapes: Iterable[Shape]) -> List[NGrams]:
        """Those of each shape that are probable enough."""
        return [self.lattice.ngrams(shape, self.threshold) for shape in shapes]


class Fired(NamedTuple):
    """Features, template by template. templates, tokens (M,): where each fires. ngrams (M,): of
    which n-gram, counted over all shapes. values (M,): its probability. keys (M,): what stands for
    the feature; or its row in the table."""

    templates: Ints
    tokens: Ints
    ngrams: Ints
    values: Floats
    keys: NDArray[Any]

    def at(self, places: Ints) -> "Fired":
        """places (m,): numbers from 0 to below M."""
        columns: Any = (column.take(places) for column in self)
        return Fired(*columns)


class Seen(NamedTuple):
    """N-grams seen from tokens at one place. tokens, ngrams, values (M,): as `Fired`. labels: at
    each offset, what stands in keys for the label (M,)."""

    tokens: Ints
    ngrams: Ints
    values: Floats
    labels: List[Keys]

    def parts(self, words: Optional[Keys]) -> List[Keys]:
        """Parts that keys are made of. words (N,): of the template's part about words."""
        return self.labels if words is None else [words.take(self.tokens), *self.labels]


class MarginalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use."""

    def __init__(self, templates: List[str]) -> None:
        parsed = parse_templates(templates)
        self.names = sorted(map(str, parsed))
        self.templates = split_templates(parsed, UPSTREAM)
        self.words = FeatureExtractor(self.templates.words)
        labels = self.templates.labels
        self.shapes = [*dict.fromkeys(shape_of(template.offsets) for template in labels)]
        self._margin = max(abs(offset) for template in labels for offset in template.offsets)
        order = sorted(
            range(len(labels)), key=lambda k: -(labels[k].word >= 0) - len(labels[k].offsets)
        )
        self._order = np.array(order, np.intp)
        self._seeds = np.array([template.seed for template in labels], np.uint64)
        self._words_of = [labels[k].word for k in order]
        self._places = [labels[k].offsets for k in order]
        self._index: Kept[ExactIndex] = Kept()

    def index(self, known: Dict[str, Any]) -> ExactIndex:
        """known: what the weights save of their features. RAISES ValueError [HS052]: no features
        yet."""
        if "keys" not in known:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        keys = known["keys"]
        return self._index.of((known,), lambda: ExactIndex(keys, bits_of(keys)))

    @property
    def reach(self) -> int:
        """How many words away templates look."""
        return max(self.words.reach, self._margin)

    def batch(self, docs: Sequence[Doc], labels: UpstreamLabels) -> HeardBatch:
        lengths = sequence_lengths(docs)
        entries = np.arange(len(labels.values))
        probable = labels.probable._replace(labels=entries)
        lattice = LabelLattice(probable, lengths, self._margin)
        values = np.concatenate([labels.values, label_values([])])
        return HeardBatch(lengths, lattice, values, self._word_keys(docs), labels.threshold)

    def fired(self, batch: HeardBatch) -> Fired:
        """Of all templates."""
        seen = self._seen(batch)
        of_templates = [seen[place] for place in self._places]
        parts = [
            of.parts(None if word < 0 else batch.words[word])
            for word, of in zip(self._words_of, of_templates, strict=True)
        ]
        tokens, ngrams, values, _ = zip(*of_templates, strict=True)
        templates = self._order.repeat(list(map(len, tokens)))
        keys = self._seeds.take(templates)
        for depth in range(len(parts[0])):  # the templates of most parts come first
            column = np.concatenate([of[depth] for of in parts if len(of) > depth])
            keys[: len(column)] = mix(keys[: len(column)], column)
        keys[np.concatenate([of[0] for of in parts]) == ABSENT] = ABSENT
        places = np.concatenate(tokens)
        return Fired(templates, places, np.concatenate(ngrams), np.concatenate(values), keys)

    def _seen(self, batch: HeardBatch) -> Dict[Offsets, Seen]:
        cell_values = batch.values[batch.lattice.labels]  # -2 and -1: before and after a sequence
        of_shapes = batch.ngrams(self.shapes)
        first = np.cumsum([0, *(len(ngrams.values) for ngrams in of_shapes)])
        seen = {}
        for place in dict.fromkeys(self._places):
            shape = self.shapes.index(shape_of(place))
            ngrams = of_shapes[shape]
            tokens = batch.lattice.tokens_at(ngrams.places - place[0])
            there = (tokens >= 0).nonzero()[0]
            labels = [cell_values.take(cells.take(there)) for cells in ngrams.cells]
            values = ngrams.values.take(there)
            seen[place] = Seen(tokens.take(there), there + first[shape], values, labels)
        return seen

    def weighted(self, batch: HeardBatch, index: ExactIndex) -> Fired:
        """Those that have a row in the table."""
        fired = self.fired(batch)
        rows = index.lookup(fired.keys)
        return fired._replace(keys=rows).at(np.flatnonzero(rows < index.n_rows))

    def _word_keys(self, docs: Sequence[Doc]) -> Keys:
        if not self.templates.words:
            return np.zeros((0, sum(map(len, docs))), np.uint64)
        return self.words.keys(docs)


def shape_of(offsets: Offsets) -> Shape:
    return tuple(offset - offsets[0] for offset in offsets)
