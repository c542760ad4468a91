"""Features of local classifiers: templates about words, and templates that also look at the labels
of neighbours.

All classifiers share the features; one that sees fewer neighbours uses fewer of them. GROUPS keep
them apart in what is saved: group 0 holds the features of all templates about words, group j > 0
those of one label template. Features are numbered group by group, and the number of all of them
stands for "no such feature".
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Rows
from ..caches import IdentityCache
from ..decoders.bidirectional.local import OFFSETS
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex, GrowingTable, KeyCounter
from ..features.keys import ABSENT, KeyFolds
from ..features.templates import Part, parse_templates, split_templates


class LocalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use.

    templates: template strings. order (int): of inference; label templates that look further are
        not used.
    n_plain (int): templates about words alone, which come first. places: those about one word, by
    its offset. of_more: the others. word_parts: what label templates say of words. masks: the slots
    that each label template looks at. seen_by: of each classifier, the templates whose neighbours
    it sees. type_scores: sums of `places` (`BatchScores`).
    """

    def __init__(self, templates: list[str], order: int) -> None:
        parsed = parse_templates(templates)
        self.names = [str(template) for template in parsed]
        split = split_templates(parsed)
        distinct = [*split.plain, *(word for word in split.words if word not in split.plain)]
        self.extractor = FeatureExtractor(distinct)
        self.n_plain = len(split.plain)
        of_one_word = self.extractor.of_one_word.items()
        self.places = {o: [k for k in found if k < self.n_plain] for o, found in of_one_word}
        self.of_more = [k for k in self.extractor.of_more if k < self.n_plain]
        self.word_parts = [self.extractor.templates.index(word) for word in split.words]
        slot_of = {offset: slot for slot, offset in enumerate(OFFSETS[order])}
        self._parts = [template.parts for template in split.plain]
        self.masks: list[int] = []
        seeds = []
        rows = []  # what keys are made of: of the word part if there is one, then of the labels
        for label in split.labels:
            if {*label.offsets} <= {*slot_of}:
                word = [label.word] if label.word >= 0 else []
                slots = [slot_of[offset] for offset in label.offsets]
                self.masks.append(sum(1 << slot for slot in {*slots}))
                seeds.append(int(label.seed))
                rows.append([*word, *(len(split.words) + slot for slot in slots)])
                self._parts.append(label.parts)
        self.seen_by = []
        self._folds = []
        for visible in range(1 << 2 * order):
            seen = [j for j, mask in enumerate(self.masks) if mask & ~visible == 0]
            self.seen_by.append([*range(self.n_plain), *(self.n_plain + j for j in seen)])
            self._folds.append(KeyFolds([seeds[j] for j in seen], [rows[j] for j in seen]))
        self._index: IdentityCache[ExactIndex] = IdentityCache()
        self.type_scores: IdentityCache[GrowingTable] = IdentityCache()

    def forget_words(self) -> None:
        self.extractor.forget_words()
        self.type_scores.forget()

    def count(
        self, versions: Sequence[Iterable[tuple[list[Doc], Ints]]], values: Keys, min_count: int
    ) -> list[Keys]:
        """Features of training texts seen at least `min_count` times in one of the versions, group
        by group.

        versions: the texts, perhaps with several annotations, in batches of docs and the contexts
        of their tokens (N, 2k), -1 = not known. values: of the labels (`label_values`).
        """
        frequent = []
        for batches in versions:
            counters = [KeyCounter() for _ in range(1 + len(self.masks))]
            for docs, contexts in batches:
                keys = self._keys(docs, contexts, values)
                groups = [keys[: self.n_plain], *keys[self.n_plain :]]
                for counter, group in zip(counters, groups, strict=True):
                    counter.add(group)
            frequent.append([counter.frequent(min_count) for counter in counters])
        return [reduce(np.union1d, of_versions) for of_versions in zip(*frequent, strict=True)]

    def index(self, keys: list[Keys]) -> ExactIndex:
        """Of all groups. Made when first needed and when other keys are in use."""
        return self._index.of((keys,), lambda: ExactIndex(np.concatenate(keys)))

    def training_rows(self, docs: Sequence[Doc], contexts: Ints, known: dict[str, Any]) -> Rows:
        """Numbers of the features at all tokens (K, N), by template, those about words first;
        contexts (N, 2k): gold labels in the slots, -1 = not known. known: what the weights save of
        their features."""
        return self.index(known["keys"]).lookup(self._keys(docs, contexts, known["values"]))

    def _keys(self, docs: Sequence[Doc], contexts: Ints, values: Keys) -> Keys:
        """Of each template, 0 where a label that it looks at is not known. RETURNS (K, N)."""
        words = self.extractor.keys(docs)
        of_labels = self.label_keys(words[self.word_parts], contexts, values, len(self._folds) - 1)
        return np.concatenate([words[: self.n_plain], of_labels])

    def label_keys(self, words: Keys, contexts: Ints, values: Keys, visible: int) -> Keys:
        """Keys of the label templates that a classifier uses. words (P, n): of their parts about
        words. contexts (n, 2k): labels in the slots, -1 = not known. RETURNS (J, n), 0 where one is
        not known."""
        labels = np.append(values, ABSENT).take(contexts.T)
        return self._folds[visible].keys(np.concatenate([words, labels]))

    def fired(
        self, docs: Sequence[Doc], token: int, context: Ints, visible: int, known: dict[str, Any]
    ) -> Iterator[tuple[tuple[Part, ...], int]]:
        """The parts of each template that a classifier uses at one token, and the number of its
        feature. context (2k,): labels in the slots."""
        contexts = np.broadcast_to(context, (sum(map(len, docs)), len(context)))
        rows = self.training_rows(docs, contexts, known)[:, token]
        for k in self.seen_by[visible]:
            yield self._parts[k], int(rows[k])
