"""Features of local classifiers: templates about words, and templates that also look at the labels
of neighbours.

All classifiers share the features; one that sees fewer neighbours uses fewer of them. GROUPS keep
them apart: group 0 holds the features of all templates about words, group j > 0 those of one label
template. In the weight table of a classifier the groups that it uses follow each other, each closed
by a row of zeros for "no such feature". There are two
indexes: of group 0, and of all label templates.
"""

from typing import Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc

from ...arrays import Ints, Keys, Rows
from ...decoders.bidirectional.local import OFFSETS
from ...features.extract import FeatureExtractor
from ...features.index import ExactIndex, KeyCounter
from ...features.keys import ABSENT, LABEL, LabelTemplate, label_keys, mix, split_templates
from ...features.sequences import by_doc, sentence_starts
from ...features.templates import Part, parse_templates
from ...kept import Kept
from ..named_features import names_fired
from ..text_rows import TextRows
from ..tuning import TUNING, Tuning
from .stacked_scores import LocalTypeScores, StackedWeights


class TrainingRows(NamedTuple):
    """Rows of a batch in each group. plain (K, n), by template; labels (J, n), by label template
    (gold neighbours)."""

    plain: Rows
    labels: Rows


class FeatureIndexes(NamedTuple):
    """words: of group 0. labels: of all label templates, end to end; starts (J + 1,): where their
    groups begin."""

    words: ExactIndex
    labels: ExactIndex
    starts: Ints

    def label_rows(self, keys: Keys) -> Rows:
        """Rows in the group of each label template. keys (J, n). RETURNS (J, n)."""
        rows = self.labels.lookup(keys) - self.starts[:-1, None].astype(np.int32)
        sizes = np.diff(self.starts)[:, None].astype(np.int32)
        return np.where(
            (rows >= 0) & (rows < sizes), rows, sizes
        )  # a key of another group, by chance, is no feature


class WordFeatures(NamedTuple):
    """What is known of a batch before any label. type_scores: of the words; codes (offsets, N):
    what to ask them for at each token. rows (K, N) int32: features of the other templates. words
    (P, N): keys of the word parts of label templates."""

    type_scores: LocalTypeScores
    codes: Ints
    rows: Rows
    words: Keys


class LocalFeatures:
    """Extracts features, and holds the indexes that belong to the weights in use.

    templates: template strings. order (int): of inference; label templates that look further are
        not used.
    """

    def __init__(self, templates: List[str], order: int, tuning: Tuning = TUNING) -> None:
        self.tuning = tuning
        parsed = parse_templates(templates)
        self.names = [str(template) for template in parsed]
        split = split_templates(parsed)
        distinct = [*split.plain, *(word for word in split.words if word not in split.plain)]
        self._extractor = FeatureExtractor(distinct, tuning.word_types)
        self.tables = self._extractor.tables
        self._n_plain = len(split.plain)
        self._of_more = [k for k in self._extractor.of_more if k < self._n_plain]
        self._word_at = [self._extractor.templates.index(word) for word in split.words]
        slot_of = {offset: slot for slot, offset in enumerate(OFFSETS[order])}
        self.label_templates = [t for t in split.labels if set(t.offsets) <= set(slot_of)]
        self.slots = [[slot_of[offset] for offset in t.offsets] for t in self.label_templates]
        self.masks = [sum(1 << slot for slot in set(slots)) for slots in self.slots]
        self.label_groups = label_groups(self.label_templates, self.slots)
        self._indexes: Kept[FeatureIndexes] = Kept()
        self._types: Kept[LocalTypeScores] = Kept()
        self._text_rows: Kept[TextRows] = Kept()

    @property
    def reads_annotation(self) -> bool:
        return not self._extractor.is_lexical

    def forget_words(self) -> None:
        self._extractor.forget_words()
        self._types.forget()

    def names_fired(self, docs: List[Doc], keys: Keys) -> Dict[int, str]:
        """What features of words are called that fire in some docs; keys: those that are asked
        for."""
        return names_fired(self._extractor, docs, keys)

    def groups_of(self, visible: int) -> List[int]:
        """The groups that a classifier uses: of the label templates, those whose neighbours it
        sees."""
        return [0, *(j + 1 for j, mask in enumerate(self.masks) if mask & ~visible == 0)]

    def count(
        self, versions: Sequence[Iterable[Tuple[List[Doc], Ints]]], values: Keys, min_count: int
    ) -> List[Keys]:
        """Features of training texts seen at least `min_count` times in one of the versions, group
        by group.

        versions: the texts, perhaps with several annotations, in batches of docs and the contexts
        of their tokens (N, 2k), -1 = not known. values: of the labels (`label_values`).
        """
        groups: List[Keys] = [np.zeros(0, np.uint64) for _ in range(1 + len(self.label_templates))]
        for batches in versions:
            counters = [KeyCounter() for _ in groups]
            for docs, contexts in batches:
                keys = self._extractor.keys(docs)
                counters[0].add(keys[: self._n_plain])
                for j, of_template in enumerate(
                    self._label_keys(keys[self._word_at], contexts, values)
                ):
                    counters[j + 1].add(of_template)
            for g, counter in enumerate(counters):
                groups[g] = np.union1d(groups[g], counter.frequent(min_count))
        return groups

    def indexes(self, keys: List[Keys]) -> FeatureIndexes:
        """Made when first needed and when other keys are in use."""
        return self._indexes.of((keys,), lambda: _indexes_of(keys))

    def word_features(
        self, docs: Sequence[Doc], keys: List[Keys], weights: StackedWeights
    ) -> WordFeatures:
        """Features of the words of all docs, those of more than one word computed in blocks of
        tokens."""
        index = self.indexes(keys).words
        extractor = self._extractor
        columns = extractor.columns(docs)
        made_from = (weights, columns.numbering)

        def make() -> LocalTypeScores:
            return LocalTypeScores(weights, extractor, index, self._n_plain, self.tuning)

        type_scores = self._types.of(made_from, make)
        if type_scores.is_full:
            self._types.forget()
            type_scores = self._types.of(made_from, make)
        rows = np.empty((len(self._of_more), columns.n_tokens), np.int32)
        words = np.empty((len(self._word_at), columns.n_tokens), np.uint64)
        for start in range(0, columns.n_tokens, self.tuning.key_tokens):
            stop = start + self.tuning.key_tokens
            of_words = extractor.keys_between(
                columns, start, stop, [*self._of_more, *self._word_at]
            )
            rows[:, start:stop] = index.lookup(of_words[: len(rows)])
            words[:, start:stop] = of_words[len(rows) :]
        return WordFeatures(type_scores, type_scores.codes(columns), rows, words)

    def fired(
        self,
        docs: Sequence[Doc],
        token: int,
        context: Ints,
        visible: int,
        values: Keys,
        keys: List[Keys],
    ) -> Iterator[Tuple[Tuple[Part, ...], int]]:
        """The parts of each template that a classifier uses at one token, and its feature's number
        as in `StackedWeights.rows`. context (2k,): labels in the slots."""
        indexes = self.indexes(keys)
        of_words = self._extractor.keys(docs)[:, token : token + 1]
        words = of_words[self._word_at]
        first = indexes.words.n_rows + 1
        numbers = indexes.words.lookup(of_words[: self._n_plain])[:, 0].tolist()
        yield from (
            (template.parts, number)
            for template, number in zip(self._extractor.templates, numbers, strict=False)
        )
        for of_labels, slots, mask in zip(
            self.label_templates, self.slots, self.masks, strict=True
        ):
            if mask & ~visible == 0:
                key = label_keys(
                    of_labels, words, [values.take(context[slot : slot + 1]) for slot in slots]
                )
                at = (
                    self._word_at[of_labels.word : of_labels.word + 1]
                    if of_labels.word >= 0
                    else []
                )
                parts = [part for k in at for part in self._extractor.templates[k].parts]
                parts += [Part(LABEL, offset) for offset in of_labels.offsets]
                yield tuple(parts), first + int(indexes.labels.lookup(key)[0])

    def training_rows(
        self, docs: Sequence[Doc], contexts: Ints, values: Keys, keys: List[Keys]
    ) -> TrainingRows:
        """Rows of all features at all tokens; contexts (N, 2k): gold labels in the slots, -1 = not
        known.

        Texts with the same words, sentences, annotation (if read) and gold labels come from the
        cache.
        """
        indexes = self.indexes(keys)
        sizes = [len(doc) for doc in docs]
        parts = by_doc(contexts, docs)

        def make(numbers: List[int]) -> List[Rows]:
            of_words = self._extractor.keys([docs[i] for i in numbers])
            plain = indexes.words.lookup(of_words[: self._n_plain])
            some = np.concatenate([parts[i] for i in numbers])
            of_labels = np.array(self._label_keys(of_words[self._word_at], some, values), np.uint64)
            labels = indexes.label_rows(
                of_labels.reshape(len(self.label_templates), plain.shape[1])
            )
            return [plain, labels]

        names = [self._name(doc, part) for doc, part in zip(docs, parts, strict=True)]
        text_rows = self._text_rows.of((keys,), lambda: TextRows(self.tuning.local_cache_bytes))
        return TrainingRows(*text_rows.of(names, sizes, make))

    def _name(self, doc: Doc, contexts: Ints) -> bytes:
        seen = [
            doc.to_array(["ORTH"]),
            sentence_starts(doc),
            contexts,
            *self._extractor.contextual_values(doc),
        ]
        return b"".join(array.tobytes() for array in seen)

    def _label_keys(self, words: Keys, contexts: Ints, values: Keys) -> List[Keys]:
        """Keys of each label template, 0 where a label that it looks at is not known."""
        result = []
        for template, slots in zip(self.label_templates, self.slots, strict=True):
            labels = [contexts[:, slot] for slot in slots]
            known = np.logical_and.reduce([label >= 0 for label in labels])
            result.append(
                np.where(known, label_keys(template, words, [values[label] for label in labels]), 0)
            )
        return result


def _indexes_of(keys: List[Keys]) -> FeatureIndexes:
    starts = np.cumsum([0, *map(len, keys[1:])])
    labels = ExactIndex(np.concatenate([np.zeros(0, np.uint64), *keys[1:]]))
    return FeatureIndexes(ExactIndex(keys[0]), labels, starts)


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
        result.append(
            LabelGroup(looked_at, sum(1 << slot for slot in set(looked_at)), seeds, words)
        )
    return result
