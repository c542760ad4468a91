"""Higher-order features: their definitions, where they fire, and several sources as one.

A higher-order feature is an observation test b(x, t), a label pattern and a weight (Qian & Liu,
"Problem Definition"). The test is either "everywhere" or a numbered rule that fires at tokens of a
Doc; features may share a weight ("tied"). Features with label sets and gaps are configurations
(Qian et al. 2009, section 2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc, Span

from ..arrays import Floats, Ints, Labels, Mask
from ..caches import cached_property
from ..decoders.problem import Configurations, Pattern, ranges
from ..errors import Errors, wrong_value
from ..features.sequences import sentence_starts

EVERYWHERE = -1  # rule number of features without an observation test


class FiredRules(NamedTuple):
    """Matches of rules.

    tokens (M,): the LAST token of each match, counted over all docs. rules (M,): number of its rule.
    sizes (M,): tokens of each match, 0 = one for each label of the rule's patterns.
    slots: which label of the patterns a token has: for each token of the matches that have a size,
        end to end.
    """

    tokens: Ints
    rules: Ints
    sizes: Ints
    slots: Ints


def fired_rules(tokens: Ints, rules: Ints) -> FiredRules:
    """Matches that have one token for each label. tokens, rules (M,)."""
    return FiredRules(tokens, rules, np.zeros(len(tokens), np.intp), np.zeros(0, np.intp))


def fired_spans(matches: Sequence[tuple[int, int, int]], slots: Sequence[int]) -> FiredRules:
    """Matches with their sizes. matches: token, rule and size of each. slots: as in `FiredRules`."""
    tokens, rules, sizes = np.array(matches, np.intp).reshape(-1, 3).T.copy()
    return FiredRules(tokens, rules, sizes, np.array(slots, np.intp))


NOTHING_FIRED = fired_spans([], [])


@dataclass(eq=False)
class PatternFeatures:
    """Feature f gives weight `weight_of[f]` where rule `rule_of[f]` fires and the labels are those of
    `patterns[f]`.

    patterns: labels of each feature, oldest first: label ids y < L, or L + i for any label of
        `sets[i]`. Those with sets are configurations.
    weight_of (F,), rule_of (F,) intp: EVERYWHERE or the number of a rule. sets (Z, L) bool.
    """

    patterns: Sequence[Pattern]
    weight_of: Ints
    rule_of: Ints
    sets: Mask = field(default_factory=lambda: np.zeros((0, 0), bool))

    @property
    def n_weights(self) -> int:
        return int(self.weight_of.max(initial=-1)) + 1

    @cached_property
    def is_span(self) -> Mask:
        """True for configurations (F,); all others are label patterns."""
        if not len(self.sets):
            return np.zeros(len(self.patterns), bool)
        n_labels = self.sets.shape[1]
        return np.array([max(pattern, default=0) >= n_labels for pattern in self.patterns], bool)

    @cached_property
    def everywhere(self) -> Ints:
        """Label patterns without an observation test."""
        return np.flatnonzero((self.rule_of < 0) & ~self.is_span)

    def expand(self, fired: FiredRules) -> tuple[Ints, Ints]:
        """Features whose rules fire (M,), match by match, and the match of each (M,)."""
        # features by rule, so that those of one rule are a range
        order = np.argsort(self.rule_of, kind="stable")
        ordered = self.rule_of[order]
        first = np.searchsorted(ordered, fired.rules)
        counts = np.searchsorted(ordered, fired.rules, side="right") - first
        return order[ranges(first, counts)], np.repeat(np.arange(len(fired.rules)), counts)

    def configurations(
        self, fired: FiredRules, features: Ints, matches: Ints, weights: Floats
    ) -> Configurations:
        """Configurations of features (M,) at matches (M,), with weights (M,).

        RAISES ValueError [HS058]: a rule has more slots than the features were defined with.
        """
        lengths, labels = self._end_to_end
        n_slots = lengths[features]
        has_size = fired.sizes[matches] > 0
        sizes = np.where(has_size, fired.sizes[matches], n_slots)
        # a match without a size has the slots 0, 1, 2, ..., which stand behind those of the others
        in_order = np.arange(n_slots.max(initial=0))
        start = np.where(has_size, _starts(fired.sizes)[matches], len(fired.slots))
        slots = np.append(fired.slots, in_order)[ranges(start, sizes)]
        if (slots >= np.repeat(n_slots, sizes)).any():
            raise ValueError(Errors.HS058)
        rows = labels[np.repeat(_starts(lengths)[features], sizes) + slots]
        # label ids are rows of `sets` too: each label is a set of its own
        sets = np.concatenate([np.eye(self.sets.shape[1], dtype=bool), self.sets])
        return Configurations(fired.tokens[matches] - sizes + 1, sizes, rows, sets, weights)

    def chosen(self, which: Ints) -> "PatternFeatures":
        """Some of the features, `which` (F',). Weights and rules keep their numbers."""
        patterns = [self.patterns[f] for f in which.tolist()]
        return PatternFeatures(patterns, self.weight_of[which], self.rule_of[which], self.sets)

    @property
    def _end_to_end(self) -> tuple[Ints, Ints]:
        """Number of labels of each pattern (F,), and the labels of all patterns."""
        lengths = np.array([len(pattern) for pattern in self.patterns], np.intp)
        return lengths, np.array([*chain.from_iterable(self.patterns)], np.intp)

    def to_arrays(self) -> dict[str, Any]:
        """Arrays for the model file."""
        lengths, labels = self._end_to_end
        return {
            "labels": labels.astype(np.int32),
            "lengths": lengths.astype(np.int32),
            "weight_of": self.weight_of.astype(np.int32),
            "rule_of": self.rule_of.astype(np.int32),
            "sets": self.sets.astype(np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "PatternFeatures":
        """Features from the arrays of `to_arrays`."""
        ends = np.cumsum(arrays["lengths"]).tolist()
        labels = arrays["labels"].tolist()
        patterns = [tuple(labels[start:end]) for start, end in pairwise([0, *ends])]
        weight_of = arrays["weight_of"].astype(np.intp)
        rule_of = arrays["rule_of"].astype(np.intp)
        return cls(patterns, weight_of, rule_of, arrays["sets"].astype(bool))


class PatternSource:
    """A source of label patterns. Inherit from it to write your own, and register a function that
    returns it in `spacy.registry.misc`.

    n_rules (int): how many rules `fire` can name; 0 if all patterns fire everywhere.
    """

    n_rules: int = 0

    def see(self, docs: Sequence[Doc]) -> None:
        """Called for the texts of the training corpus, in order, before `define`."""

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        """The features, found once in initialization. sequences: gold label ids, -1 where
        unknown."""
        raise NotImplementedError

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches of the rules in docs. For rules with one token for each label, `fired_rules` makes
        the result."""
        return NOTHING_FIRED

    def digest(self) -> Any:
        """A digest of the rules; None: their number is enough. Weights are refused if they were
        learnt with another digest."""


class PatternSources(PatternSource):
    """Several sources as one. Weights and rules of each are numbered after those of the sources
    before it."""

    def __init__(self, *sources: PatternSource) -> None:
        self.sources = sources
        self.n_rules = 0
        self._first_rules: list[int] = []  # of each source
        for source in sources:
            check_source(source)
            self._first_rules.append(self.n_rules)
            self.n_rules += source.n_rules

    def see(self, docs: Sequence[Doc]) -> None:
        for source in self.sources:
            source.see(docs)

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        nothing = np.zeros(0, np.intp)
        joined = PatternFeatures([], nothing, nothing, np.zeros((0, len(labels)), bool))
        for source, first_rule in zip(self.sources, self._first_rules, strict=True):
            joined = _joined_features(joined, source.define(labels, sequences), first_rule)
        return joined

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        parts = [NOTHING_FIRED]
        for source, first_rule in zip(self.sources, self._first_rules, strict=True):
            part = source.fire(docs)
            parts.append(part._replace(rules=part.rules + first_rule))
        return joined_matches(parts)

    def digest(self) -> list[Any]:
        return [source.digest() for source in self.sources]


def _joined_features(
    ours: PatternFeatures, more: PatternFeatures, first_rule: int
) -> PatternFeatures:
    """Features of several sources. more: of the next one. first_rule: number of its first rule."""
    n_labels = ours.sets.shape[1]
    n_sets = len(ours.sets)
    patterns = [*ours.patterns]
    for pattern in more.patterns:
        # the label sets of the next source follow ours
        patterns.append(tuple(y + n_sets * (y >= n_labels) for y in pattern))
    rules = np.where(more.rule_of < 0, EVERYWHERE, more.rule_of + first_rule)
    return PatternFeatures(
        patterns,
        np.concatenate([ours.weight_of, more.weight_of + ours.n_weights]),
        np.concatenate([ours.rule_of, rules]),
        np.concatenate([ours.sets, more.sets.reshape(-1, n_labels)]),
    )


def joined_matches(parts: Sequence[FiredRules]) -> FiredRules:
    """Matches of several sources, at least one."""
    return FiredRules(*map(np.concatenate, zip(*parts, strict=True)))


def sequences_of(docs: Sequence[Doc]) -> Iterator[tuple[int, Doc | Span]]:
    """The sequences of the docs: the number of tokens before each in all docs, and its words."""
    before = 0
    for doc in docs:
        starts = np.flatnonzero(sentence_starts(doc)).tolist()
        if len(starts) == 1:
            yield before, doc
        else:
            for start, end in pairwise([*starts, len(doc)]):
                yield before + start, doc[start:end]
        before += len(doc)


def check_source(source: Any) -> None:
    """Check the type of a pattern source. RAISES ValueError [HS027]."""
    if not isinstance(source, PatternSource):
        raise wrong_value("pattern source", repr(source), "a `PatternSource`")


def check_number(name: str, value: int, minimum: int, maximum: int | None = None) -> None:
    """Check the range of a setting. RAISES ValueError [HS027]."""
    expected = f"{minimum} or more" if maximum is None else f"{minimum} to {maximum}"
    if value < minimum or (maximum is not None and value > maximum):
        raise wrong_value(name, value, expected)


def refused(rule: str, problem: str) -> ValueError:
    """The error [HS034] about a rule, or about the settings of a source."""
    return ValueError(Errors.HS034.format(rule=rule, problem=problem))


def _starts(sizes: Ints) -> Ints:
    """First places of stretches that lie end to end. sizes: of the stretches."""
    return np.cumsum(sizes) - sizes
