"""Features of local classifiers: templates about words, and templates that also look at the labels of neighbours.

All classifiers share the features; one that sees fewer neighbours uses fewer of them. GROUPS keep them apart: group 0
holds the features of all templates about words, group j > 0 those of one label template. Each has an index of its own
(those of label templates are small, so that looking up stays in the processor's cache), and in the weight table of a
classifier the groups that it uses follow each other, each closed by a row of zeros for "no such feature".
"""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..decoders.local import OFFSETS
from ..features.attributes import lexical_attribute
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex, KeyCounter
from ..features.keys import Keys
from ..features.label_templates import LabelTemplate, label_keys, split_templates
from ..features.sequences import sentence_starts
from ..features.templates import Template, parse_templates
from .sparse_linear import BLOCK_TOKENS

CACHE_BYTES = 1024 * 1024 * 1024  # feature rows of training texts kept between epochs

MOST_DENSE = 200_000  # combinations of labels whose rows are kept for a template

Rows = NDArray[np.int32]
Ints = NDArray[np.intp]


class TrainingRows(NamedTuple):
    """Rows of a batch in each group. plain (K, n), by template; labels (J, n), by label template (gold neighbours)."""

    plain: Rows
    labels: Rows


class WordFeatures(NamedTuple):
    """What is known of a batch before any label. rows (K, N) int32: plain features; words (P, N): keys of the word
    parts of label templates; types (N,): the token's word type, 0 <= type < N; own: those of the K features that are
    the same for all tokens of a type."""

    rows: Rows
    words: Keys
    types: Ints
    own: List[int]


class LocalFeatures:
    """Extracts features, and holds the indexes that belong to the weights in use.

    templates: template strings. order (int): of inference; label templates that look further are not used.
    """

    def __init__(self, templates: List[str], order: int) -> None:
        split = split_templates(parse_templates(templates))
        self._extractor = FeatureExtractor([*split.plain, *(word for word in split.words if word not in split.plain)])
        self._n_plain = len(split.plain)
        self._own = [k for k, template in enumerate(split.plain) if is_of_own_word(template)]
        self._word_at = [self._extractor.templates.index(word) for word in split.words]
        slot_of = {offset: slot for slot, offset in enumerate(OFFSETS[order])}
        self.label_templates = [t for t in split.labels if set(t.offsets) <= set(slot_of)]
        self.slots = [[slot_of[offset] for offset in t.offsets] for t in self.label_templates]
        self.masks = [sum(1 << slot for slot in set(slots)) for slots in self.slots]
        self._keys: List[Keys] = []
        self._indexes: List[ExactIndex] = []
        self._dense: List[Optional[Rows]] = []
        self._cache: Dict[bytes, TrainingRows] = {}
        self._cached_bytes = 0

    @property
    def reads_annotation(self) -> bool:
        return not self._extractor.is_lexical

    def forget_words(self) -> None:
        self._extractor.forget_words()

    def groups_of(self, visible: int) -> List[int]:
        """The groups that a classifier uses: of the label templates, those whose neighbours it sees."""
        return [0, *(j + 1 for j, mask in enumerate(self.masks) if mask & ~visible == 0)]

    def count(
        self, versions: Sequence[Iterable[Tuple[List[Doc], Ints]]], values: Keys, min_count: int
    ) -> List[Keys]:
        """Features of training texts seen at least `min_count` times in one of the versions, group by group.

        versions: the texts, perhaps with several annotations, in batches of docs and the contexts of their tokens
        (N, 2k), -1 = not known. values: of the labels (`label_values`).
        """
        groups: List[Keys] = [np.zeros(0, np.uint64) for _ in range(1 + len(self.label_templates))]
        for batches in versions:
            counters = [KeyCounter() for _ in groups]
            for docs, contexts in batches:
                keys = self._extractor.keys(docs)
                counters[0].add(keys[: self._n_plain])
                for j, found in enumerate(self._label_keys(keys[self._word_at], contexts, values)):
                    counters[j + 1].add(found)
            for g, counter in enumerate(counters):
                groups[g] = np.union1d(groups[g], counter.frequent(min_count))
        return groups

    def indexes(self, keys: List[Keys]) -> List[ExactIndex]:
        """One index for each group, made when first needed and when other keys are in use."""
        if self._keys is not keys:
            self._keys, self._indexes = keys, [ExactIndex(group) for group in keys]
            self._dense, self._cache, self._cached_bytes = [], {}, 0
        return self._indexes

    def dense(self, keys: List[Keys], values: Keys) -> "List[Optional[Rows]]":
        """For each label template `dense_rows`, if it has them. values: of the labels, which belong to the keys."""
        indexes = self.indexes(keys)
        if not self._dense:
            pairs = zip(self.label_templates, indexes[1:], strict=True)
            self._dense = [dense_rows(template, index, values) for template, index in pairs]
        return self._dense

    def word_features(self, docs: Sequence[Doc], keys: List[Keys]) -> WordFeatures:
        """Features of the words of all docs, computed in blocks of tokens."""
        index = self.indexes(keys)[0]
        columns = self._extractor.columns(docs)
        rows = np.empty((self._n_plain, columns.n_tokens), np.int32)
        words = np.empty((len(self._word_at), columns.n_tokens), np.uint64)
        for start in range(0, columns.n_tokens, BLOCK_TOKENS):
            found = self._extractor.keys_between(columns, start, start + BLOCK_TOKENS)
            rows[:, start : start + BLOCK_TOKENS] = index.lookup(found[: self._n_plain])
            words[:, start : start + BLOCK_TOKENS] = found[self._word_at]
        orths = [doc.to_array(["ORTH"]).reshape(len(doc)) for doc in docs]
        types = np.unique(np.concatenate(orths), return_inverse=True)[1] if orths else np.zeros(0, np.intp)
        return WordFeatures(rows, words, types, self._own)

    def training_rows(self, docs: Sequence[Doc], contexts: Ints, values: Keys, keys: List[Keys]) -> TrainingRows:
        """Rows of all features at all tokens; contexts (N, 2k): gold labels in the slots, -1 = not known.

        Texts with the same words, sentences, annotation (if read) and gold labels come from the cache.
        """
        indexes = self.indexes(keys)
        ends = np.cumsum([len(doc) for doc in docs])
        parts = np.split(contexts, ends[:-1])
        names = [self._name(doc, part) for doc, part in zip(docs, parts, strict=True)]
        fresh: Dict[bytes, TrainingRows] = {}
        new = [i for i, name in enumerate(names) if name not in self._cache]
        if new:
            found = self._extractor.keys([docs[i] for i in new])
            plain = indexes[0].lookup(found[: self._n_plain])
            label_keys_ = self._label_keys(found[self._word_at], np.concatenate([parts[i] for i in new]), values)
            labels = [index.lookup(keys_) for index, keys_ in zip(indexes[1:], label_keys_, strict=True)]
            stacked = np.stack(labels) if labels else np.zeros((0, plain.shape[1]), np.int32)
            cuts = np.cumsum([len(docs[i]) for i in new])[:-1]
            pairs = zip(np.split(plain, cuts, axis=1), np.split(stacked, cuts, axis=1), strict=True)
            whole = (TrainingRows(*map(np.ascontiguousarray, pair)) for pair in pairs)
            fresh = dict(zip((names[i] for i in new), whole, strict=True))
            if self._cached_bytes + plain.nbytes + stacked.nbytes <= CACHE_BYTES:
                self._cache.update(fresh)
                self._cached_bytes += plain.nbytes + stacked.nbytes
        rows = [fresh[name] if name in fresh else self._cache[name] for name in names]
        return TrainingRows(*(np.concatenate(part, axis=1) for part in zip(*rows, strict=True)))

    def _name(self, doc: Doc, contexts: Ints) -> bytes:
        seen = [doc.to_array(["ORTH"]), sentence_starts(doc), contexts, *self._extractor.contextual_values(doc)]
        return b"".join(array.tobytes() for array in seen)

    def _label_keys(self, words: Keys, contexts: Ints, values: Keys) -> List[Keys]:
        """Keys of each label template, 0 where a label that it looks at is not known."""
        result = []
        for template, slots in zip(self.label_templates, self.slots, strict=True):
            labels = [contexts[:, slot] for slot in slots]
            known = np.logical_and.reduce([label >= 0 for label in labels])
            result.append(np.where(known, label_keys(template, words, [values[label] for label in labels]), 0))
        return result

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_cache": {}, "_cached_bytes": 0}  # a worker process of `nlp.pipe` does not train


def is_of_own_word(template: Template) -> bool:
    """Whether a template looks at nothing but the token's own word: it is the same wherever the word stands."""
    lexical = all(part.attribute == "bias" or lexical_attribute(part.attribute) for part in template.parts)
    return lexical and all(part.offset == 0 for part in template.parts)


def dense_rows(template: LabelTemplate, index: ExactIndex, values: Keys) -> Optional[NDArray[np.int32]]:
    """Rows of a template that is about labels only, for all of their combinations: looked up once, then read off.

    values: of the labels. RETURNS (L + 2, ...) with one axis a label, or None: about words, too, or too many.
    """
    n_slots = len(template.offsets)
    if template.word >= 0 or len(values) ** n_slots > MOST_DENSE:
        return None
    labels = [axis.reshape(-1) for axis in np.meshgrid(*[values] * n_slots, indexing="ij")]
    rows = index.lookup(label_keys(template, np.zeros((0, len(labels[0])), np.uint64), labels))
    return rows.reshape([len(values)] * n_slots)
