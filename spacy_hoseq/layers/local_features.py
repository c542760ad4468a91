"""Features of local classifiers: templates about words, and templates that also look at the labels
of neighbours.

All classifiers share the features; one that sees fewer neighbours uses fewer of them. GROUPS keep
them apart: group 0 holds the features of all templates about words, group j > 0 those of one label
template. Features are numbered group by group, and the number of all of them stands for "no such
feature".
"""

from typing import Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Rows
from ..decoders.bidirectional.local import OFFSETS
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex, KeyCounter
from ..features.keys import ABSENT, label_keys, mix
from ..features.templates import LabelTemplate, Part, parse_templates, split_templates
from ..kept import Kept
from .scorer import names_fired


class LocalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use.

    templates: template strings. order (int): of inference; label templates that look further are
        not used.
    n_plain (int): templates about words alone, which come first. masks: the slots that each label
    template looks at. groups: label templates that are looked up together.
    """

    def __init__(self, templates: List[str], order: int) -> None:
        parsed = parse_templates(templates)
        self.names = [str(template) for template in parsed]
        split = split_templates(parsed)
        distinct = [*split.plain, *(word for word in split.words if word not in split.plain)]
        self.extractor = FeatureExtractor(distinct)
        self.n_plain = len(split.plain)
        self.word_parts = [self.extractor.templates.index(word) for word in split.words]
        slot_of = {offset: slot for slot, offset in enumerate(OFFSETS[order])}
        self._labels = [t for t in split.labels if set(t.offsets) <= set(slot_of)]
        self._slots = [[slot_of[offset] for offset in t.offsets] for t in self._labels]
        self.masks = [sum(1 << slot for slot in set(slots)) for slots in self._slots]
        self.groups = label_groups(self._labels, self._slots)
        self._index: Kept[ExactIndex] = Kept()

    def names_fired(self, docs: List[Doc], keys: Keys) -> Dict[int, str]:
        """Names of features of words that fire in some docs; keys: those that are asked
        for."""
        return names_fired(self.extractor, docs, keys)

    def groups_of(self, visible: int) -> List[int]:
        """The groups that a classifier uses: of the label templates, those whose neighbours it
        sees."""
        return [0, *(j + 1 for j, mask in enumerate(self.masks) if mask & ~visible == 0)]

    def seen_by(self, visible: int) -> List[int]:
        """The rows of `training_rows` that a classifier sees."""
        _, *of_labels = self.groups_of(visible)
        return [*range(self.n_plain), *(self.n_plain + group - 1 for group in of_labels)]

    def count(
        self, versions: Sequence[Iterable[Tuple[List[Doc], Ints]]], values: Keys, min_count: int
    ) -> List[Keys]:
        """Features of training texts seen at least `min_count` times in one of the versions, group
        by group.

        versions: the texts, perhaps with several annotations, in batches of docs and the contexts
        of their tokens (N, 2k), -1 = not known. values: of the labels (`label_values`).
        """
        groups: List[Keys] = [np.zeros(0, np.uint64) for _ in range(1 + len(self._labels))]
        for batches in versions:
            counters = [KeyCounter() for _ in groups]
            for docs, contexts in batches:
                keys = self._keys(docs, contexts, values)
                counters[0].add(keys[: self.n_plain])
                for counter, of_template in zip(counters[1:], keys[self.n_plain :], strict=True):
                    counter.add(of_template)
            for g, counter in enumerate(counters):
                groups[g] = np.union1d(groups[g], counter.frequent(min_count))
        return groups

    def index(self, keys: List[Keys]) -> ExactIndex:
        """Of all groups. Made when first needed and when other keys are in use."""
        return self._index.of((keys,), lambda: ExactIndex(np.concatenate(keys)))

    def training_rows(
        self, docs: Sequence[Doc], contexts: Ints, values: Keys, keys: List[Keys]
    ) -> Rows:
        """Numbers of the features at all tokens (K, N), by template, those about words first;
        contexts (N, 2k): gold labels in the slots, -1 = not known."""
        return self.index(keys).lookup(self._keys(docs, contexts, values))

    def _keys(self, docs: Sequence[Doc], contexts: Ints, values: Keys) -> Keys:
        """Of each template, 0 where a label that it looks at is not known. RETURNS (K, N)."""
        of_words = self.extractor.keys(docs)
        words = of_words[self.word_parts]
        keys = [of_words[: self.n_plain]]
        for template, slots in zip(self._labels, self._slots, strict=True):
            labels = contexts[:, slots].T
            known = (labels >= 0).all(axis=0)
            keys.append(label_keys(template, words, values[labels])[None] * known)
        return np.concatenate(keys)

    def fired(
        self,
        docs: Sequence[Doc],
        token: int,
        context: Ints,
        visible: int,
        values: Keys,
        keys: List[Keys],
    ) -> Iterator[Tuple[Tuple[Part, ...], int]]:
        """The parts of each template that a classifier uses at one token, and the number of its
        feature. context (2k,): labels in the slots."""
        n_tokens = sum(map(len, docs))
        contexts = np.broadcast_to(context, (n_tokens, len(context)))
        rows = self.index(keys).lookup(self._keys(docs, contexts, values)[:, token])
        for k in self.seen_by(visible):
            yield self._parts(k), int(rows[k])

    def _parts(self, k: int) -> Tuple[Part, ...]:
        """Of a template, those about words first."""
        if k < self.n_plain:
            return self.extractor.templates[k].parts
        return self._labels[k - self.n_plain].parts


class LabelGroup(NamedTuple):
    """Label templates that look at the same slots, to be looked up together; those with a part
    about words first.

    mask (int): of the slots. seeds (J, 1): of their keys. words: of those with such a part, which
        of the parts.
    """

    slots: Tuple[int, ...]
    mask: int
    seeds: Keys
    words: List[int]

    def keys(self, words: Keys, labels: Sequence[Keys]) -> Keys:
        """As `label_keys` has them. words (P, n), labels: for each slot (n,). RETURNS (J, n)."""
        parts = words[self.words]
        state = np.empty((len(self.seeds), words.shape[1]), np.uint64)
        state[: len(parts)] = mix(self.seeds[: len(parts)], parts)
        state[len(parts) :] = self.seeds[len(parts) :]
        for values in labels:
            state = mix(state, values)
        state[: len(parts)][parts == ABSENT] = ABSENT
        return state


def label_groups(
    templates: Sequence[LabelTemplate], slots: Sequence[Sequence[int]]
) -> List[LabelGroup]:
    """Label templates by the slots that they look at. slots: of each template."""
    groups: Dict[Tuple[int, ...], List[LabelTemplate]] = {}
    for template, looked_at in zip(templates, slots, strict=True):
        groups.setdefault(tuple(looked_at), []).append(template)
    result = []
    for looked_at, found in groups.items():
        found.sort(key=lambda template: template.word < 0)
        seeds = np.array([[template.seed] for template in found], np.uint64)
        words = [template.word for template in found if template.word >= 0]
        mask = sum(1 << slot for slot in set(looked_at))
        result.append(LabelGroup(looked_at, mask, seeds, words))
    return result
