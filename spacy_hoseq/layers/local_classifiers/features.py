"""Features of local classifiers: templates about words, and templates that also look at the labels
of neighbours.

All classifiers share the features; one that sees fewer neighbours uses fewer of them. GROUPS keep
them apart in what is saved: group 0 holds the features of all templates about words, group j > 0
those of one label template. Features are numbered group by group, and the number of all of them
stands for "no such feature".
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...arrays import Ints, Keys, Rows
from ...caches import IdentityCache
from ...decoders.bidirectional.local import OFFSETS
from ...features.extract import FeatureExtractor
from ...features.index import ExactIndex, KeyCounter
from ...features.keys import ABSENT, KeyFolds
from ...features.templates import LabelTemplate, Part, parse_templates, split_templates
from ...features.type_cache import TypeCache


class SlotTemplate(NamedTuple):
    """A label template that looks no further than inference does.

    mask (int): the slots at which it looks, a bit each. seed (int): of its keys. rows: what its keys
        are made of, in this order: numbers of word parts and, after all of these, of slots.
    parts: of the template.
    """

    mask: int
    seed: int
    rows: list[int]
    parts: tuple[Part, ...]


class LocalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use.

    templates: template strings. order (int): of inference; label templates that look further are
        not used.
    n_plain (int): templates about words alone, which come first. places: those about one word, by
    its offset. other_templates: those about more. word_parts: the template of each word part of a
    label template. label_templates: those that are used. seen_by: of each classifier, the templates
    whose neighbours it sees. type_scores: sums of `places` (`BatchScores`).
    """

    def __init__(self, templates: list[str], order: int) -> None:
        parsed = parse_templates(templates)
        self.names = [str(template) for template in parsed]
        plain, words, labels = split_templates(parsed)
        # word parts that are no templates themselves are extracted too, after all templates
        self.extractor = FeatureExtractor([*plain, *(word for word in words if word not in plain)])
        self.word_parts = [self.extractor.templates.index(word) for word in words]
        self.n_plain = len(plain)
        self.places = {
            offset: [k for k in numbers if k < self.n_plain]
            for offset, numbers in self.extractor.of_one_word.items()
        }
        self.other_templates = [k for k in self.extractor.of_more if k < self.n_plain]
        self.label_templates = _slot_templates(labels, len(words), OFFSETS[order])
        self._parts = [template.parts for template in plain]
        self._parts += [template.parts for template in self.label_templates]
        self.seen_by: list[list[int]] = []
        self._folds: list[KeyFolds] = []
        for visible in range(1 << 2 * order):
            # a classifier uses a template if it sees all labels at which the template looks
            seen = [j for j, label in enumerate(self.label_templates) if not label.mask & ~visible]
            used = [self.label_templates[j] for j in seen]
            self.seen_by.append([*range(self.n_plain), *(self.n_plain + j for j in seen)])
            self._folds.append(KeyFolds([t.seed for t in used], [t.rows for t in used]))
        self._index: IdentityCache[ExactIndex] = IdentityCache()
        self.type_scores: IdentityCache[TypeCache] = IdentityCache()

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
            counters = [KeyCounter() for _ in range(1 + len(self.label_templates))]
            for docs, contexts in batches:
                keys = self._keys(docs, contexts, values)
                groups = [keys[: self.n_plain], *keys[self.n_plain :]]
                for counter, group in zip(counters, groups, strict=True):
                    counter.add(group)
            frequent.append([counter.frequent(min_count) for counter in counters])
        # the union of the versions, group by group
        return [reduce(np.union1d, groups) for groups in zip(*frequent, strict=True)]

    def index(self, keys: list[Keys]) -> ExactIndex:
        """Rows of the features of all groups."""
        return self._index.of((keys,), lambda: ExactIndex(np.concatenate(keys)))

    def training_rows(self, docs: Sequence[Doc], contexts: Ints, known: dict[str, Any]) -> Rows:
        """Rows of the features at all tokens (K, N), by template, those about words first.

        contexts (N, 2k): gold labels in the slots, -1 = not known. known: what the weights save of
        their features.
        """
        return self.index(known["keys"]).lookup(self._keys(docs, contexts, known["values"]))

    def _keys(self, docs: Sequence[Doc], contexts: Ints, values: Keys) -> Keys:
        """Keys of all templates (K, N), 0 where a label at which one looks is not known."""
        words = self.extractor.keys(docs)
        all_slots = len(self._folds) - 1  # the classifier that sees all neighbours
        labels = self.label_keys(words[self.word_parts], contexts, values, all_slots)
        return np.concatenate([words[: self.n_plain], labels])

    def label_keys(self, words: Keys, contexts: Ints, values: Keys, visible: int) -> Keys:
        """Keys of the label templates that a classifier uses. words (P, n): of their parts about
        words. contexts (n, 2k): labels in the slots, -1 = not known. RETURNS (J, n), 0 where one is
        not known."""
        labels = np.append(values, ABSENT).take(contexts.T)  # (2k, n); the id -1 is the last value
        return self._folds[visible].keys(np.concatenate([words, labels]))

    def fired(
        self, docs: Sequence[Doc], token: int, context: Ints, visible: int, known: dict[str, Any]
    ) -> Iterator[tuple[tuple[Part, ...], int]]:
        """The parts of each template that a classifier uses at one token, and the row of its
        feature. context (2k,): labels in the slots."""
        contexts = np.broadcast_to(context, (sum(map(len, docs)), len(context)))
        rows = self.training_rows(docs, contexts, known)[:, token]
        for k in self.seen_by[visible]:
            yield self._parts[k], int(rows[k])


def _slot_templates(
    templates: Sequence[LabelTemplate], n_words: int, offsets: Sequence[int]
) -> list[SlotTemplate]:
    """Label templates that look at no other neighbours than those of the slots. n_words (int): word
    parts of all templates. offsets: of the slots."""
    slot_of = {offset: slot for slot, offset in enumerate(offsets)}
    used = []
    for template in templates:
        if not set(template.offsets) <= slot_of.keys():
            continue
        slots = [slot_of[offset] for offset in template.offsets]
        mask = sum(1 << slot for slot in set(slots))
        rows = [template.word] if template.word >= 0 else []
        rows += [n_words + slot for slot in slots]
        used.append(SlotTemplate(mask, int(template.seed), rows, template.parts))
    return used
