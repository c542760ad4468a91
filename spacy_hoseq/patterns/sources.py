"""Definitions of higher-order features, where they fire, and several sources as one.

A higher-order feature = an observation test b(x, t) + a label pattern + a weight (Qian & Liu,
"Problem Definition"). The test is either "everywhere" or a numbered rule that fires at tokens of a
Doc; features may share a weight ("tied"). Features with label sets and gaps are configurations
(Qian et al. 2009, section 2).
"""

from itertools import pairwise
from typing import (
    Any,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Ints, Mask
from ..decoders.problem import Pattern, check_pattern, ranges
from ..errors import Errors
from ..features.sequences import sentence_starts

EVERYWHERE = -1  # rule number of features without an observation test
NONE = np.zeros(0, np.intp)


class FiredRules(NamedTuple):
    """Where rules fire.

    tokens (M,): flat index (over all docs) of the LAST token of each match. rules (M,): the rule's
        number.
    sizes (M,): tokens of each match, 0 for a rule whose match has one token for each of its labels.
    slots: for each token of a match, all matches end to end, which slot of the rule's
    configurations it belongs to.
    """

    tokens: Ints
    rules: Ints
    sizes: Ints
    slots: Ints


def fired_rules(tokens: Ints, rules: Ints) -> FiredRules:
    """Matches of rules that have one token for each label. tokens, rules (M,)."""
    return FiredRules(tokens, rules, np.zeros(len(tokens), np.intp), NONE)


NOTHING_FIRED = fired_rules(NONE, NONE)


class ConfigurationFeatures(NamedTuple):
    """Features with label sets and gaps: feature c gives weight `weight_of[c]` where rule
    `rule_of[c]` fires and the label of every token of the match lies in the set of its slot.

    sets (Z, L) bool: sets of labels. slots: row of `sets` for each slot, all features end to end.
    n_slots (C,).
    """

    sets: Mask
    slots: Ints
    n_slots: Ints
    weight_of: Ints
    rule_of: Ints

    def expand(self, fired: FiredRules) -> Tuple[Ints, Ints, Ints, Ints]:
        """RETURNS features (M,), first tokens (M,), sizes (M,), and rows of `sets`, all spans end
        to end.

        RAISES ValueError [HS058]: a rule has more slots than the features were defined with.
        """
        spans = np.flatnonzero(fired.sizes)
        features, which = _features_of(self.rule_of, fired.rules[spans])
        match = spans[which]
        sizes = fired.sizes[match]
        slots = fired.slots[ranges((np.cumsum(fired.sizes) - fired.sizes)[match], sizes)]
        if (slots >= np.repeat(self.n_slots[features], sizes)).any():
            raise ValueError(Errors.HS058)
        first_slots = np.repeat((np.cumsum(self.n_slots) - self.n_slots)[features], sizes)
        return features, fired.tokens[match] - sizes + 1, sizes, self.slots[first_slots + slots]


class PatternFeatures(NamedTuple):
    """Definitions of features: feature f gives weight `weight_of[f]` to `patterns[f]` where rule
    `rule_of[f]` fires.

    patterns: label ids, oldest first. weight_of (P,), rule_of (P,) intp: EVERYWHERE or the number
        of a rule.
    configurations: features that are no sequences of single labels; None if there are none. Their
    weights are numbered together with those of the patterns.
    """

    patterns: List[Pattern]
    weight_of: Ints
    rule_of: Ints
    configurations: Optional[ConfigurationFeatures] = None

    @property
    def n_weights(self) -> int:
        spanning = NONE if self.configurations is None else self.configurations.weight_of
        return int(max(self.weight_of.max(initial=-1), spanning.max(initial=-1))) + 1

    def expand(self, fired: FiredRules) -> Tuple[Ints, Ints]:
        """From fired rules to fired label patterns. RETURNS features (M,), their last tokens
        (M,)."""
        matches = np.flatnonzero(fired.sizes == 0)
        features, which = _features_of(self.rule_of, fired.rules[matches])
        return features, fired.tokens[matches[which]]

    def without(self, weights: Mask) -> "PatternFeatures":
        """Without the label patterns of the marked weights; weights and rules keep their numbers.
        weights (W,) bool."""
        kept = np.flatnonzero(~weights[self.weight_of])
        patterns = [self.patterns[i] for i in kept.tolist()]
        return PatternFeatures(
            patterns, self.weight_of[kept], self.rule_of[kept], self.configurations
        )

    def to_arrays(self) -> Dict[str, Any]:
        """For the model file."""
        numbers = {
            "labels": np.array([y for p in self.patterns for y in p]),
            "lengths": np.array([len(p) for p in self.patterns]),
            "weight_of": self.weight_of,
            "rule_of": self.rule_of,
        }
        arrays: Dict[str, Any] = {}
        if self.configurations is not None:
            sets, *others = self.configurations
            numbers.update(zip(_CONFIGURATION_ARRAYS, others, strict=True))
            arrays["sets"] = sets.astype(np.uint8)
        return arrays | {name: array.astype(np.int32) for name, array in numbers.items()}

    @classmethod
    def from_arrays(cls, arrays: Dict[str, Any]) -> "PatternFeatures":
        ends = np.cumsum(arrays["lengths"]).tolist()
        labels = arrays["labels"].tolist()
        patterns = [tuple(labels[start:end]) for start, end in pairwise([0, *ends])]
        weight_of, rule_of = (arrays[name].astype(np.intp) for name in ("weight_of", "rule_of"))
        configurations = None
        if "sets" in arrays:
            numbers = [arrays[name].astype(np.intp) for name in _CONFIGURATION_ARRAYS]
            configurations = ConfigurationFeatures(arrays["sets"].astype(bool), *numbers)
        return cls(patterns, weight_of, rule_of, configurations)


_CONFIGURATION_ARRAYS = ("slots", "n_slots", "configuration_weight_of", "configuration_rule_of")


def _features_of(rule_of: Ints, rules: Ints) -> Tuple[Ints, Ints]:
    """Features of fired rules, rule by rule. rule_of (F,): of each feature. rules (M,). RETURNS
    features (N,), and the place of the rule of each in `rules` (N,)."""
    order = np.argsort(rule_of, kind="stable")
    ordered = np.append(rule_of[order], np.iinfo(np.intp).max)  # (no rule has this number)
    sizes = np.searchsorted(ordered, ordered, side="right") - np.arange(len(ordered))
    first = np.searchsorted(ordered, rules)
    counts = np.where(ordered.take(first) == rules, sizes.take(first), 0)
    return order[ranges(first, counts)], np.repeat(np.arange(len(rules)), counts)


@runtime_checkable
class PatternSource(Protocol):
    """Write your own: register a function that returns such an object in `spacy.registry.misc`.

    n_rules (int): how many rules `fire` can name; 0 if all patterns fire everywhere. A source that
    remembers words has a method `forget_words()`, too, called at the end of a memory zone; one that
    counts words of the training corpus a method `see(docs)`, called for its docs in order, before
    `define`; one whose rules the config gives a method `digest()`: weights of other rules are
    refused.
    """

    @property
    def n_rules(self) -> int: ...

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """The features, found once in initialization. sequences: gold label ids, -1 where
        unknown."""

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """Where rules fire; `fired_rules` makes the result for rules with one token for each
        label."""


class PatternSources:
    """Several sources as one. Weights and rules of each are numbered after those of the sources
    before it."""

    def __init__(self, *sources: PatternSource) -> None:
        for source in sources:
            check_source(source)
        self.sources = sources
        self._first_rules = np.cumsum([0, *(source.n_rules for source in sources)]).tolist()

    @property
    def n_rules(self) -> int:
        return int(self._first_rules[-1])

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        patterns: List[Pattern] = []
        weights = [NONE]
        rules = [NONE]
        spanning = [ConfigurationFeatures(np.zeros((0, len(labels)), bool), NONE, NONE, NONE, NONE)]
        n_weights = n_sets = 0
        for source, n_rules in zip(self.sources, self._first_rules, strict=False):
            part = source.define(labels, sequences)
            patterns += part.patterns
            weights.append(part.weight_of + n_weights)
            rules.append(np.where(part.rule_of < 0, EVERYWHERE, part.rule_of + n_rules))
            if part.configurations is not None:
                sets, slots, n_slots, weight_of, rule_of = part.configurations
                moved = slots + n_sets, n_slots, weight_of + n_weights, rule_of + n_rules
                spanning.append(ConfigurationFeatures(sets, *moved))
                n_sets += len(sets)
            n_weights += part.n_weights
        joined = ConfigurationFeatures(*map(np.concatenate, zip(*spanning, strict=True)))
        return PatternFeatures(
            patterns,
            np.concatenate(weights),
            np.concatenate(rules),
            joined if len(joined.rule_of) else None,
        )

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        parts = [NOTHING_FIRED]
        for source, n_rules in zip(self.sources, self._first_rules, strict=False):
            part = source.fire(docs)
            parts.append(part._replace(rules=part.rules + n_rules))
        return joined_matches(parts)

    def see(self, docs: Sequence[Doc]) -> None:
        """For those sources that count words."""
        for source in self.sources:
            asked(source, "see", docs)

    def forget_words(self) -> None:
        """For those sources that remember words."""
        for source in self.sources:
            asked(source, "forget_words")

    def digest(self) -> List[Any]:
        """Digests of those sources that have rules."""
        return [asked(source, "digest") for source in self.sources]


def joined_matches(parts: Sequence[FiredRules]) -> FiredRules:
    """Matches of several sources, at least one."""
    return FiredRules(*map(np.concatenate, zip(*parts, strict=True)))


def asked(source: Optional[PatternSource], name: str, *given: Any) -> Any:
    """The answer of a method that not every source has; without it None."""
    method = getattr(source, name, None)
    return None if method is None else method(*given)


def sequences_of(docs: Sequence[Doc]) -> Iterator[Tuple[int, Doc, int, int]]:
    """Each sequence of some Docs: tokens of the Docs before, its Doc, and its first token and end
    there."""
    before = 0
    for doc in docs:
        starts = np.flatnonzero(sentence_starts(doc)).tolist()
        for start, end in pairwise([*starts, len(doc)]):
            yield before, doc, start, end
        before += len(doc)


METHODS = "an object with `n_rules`, `define(labels, sequences)` and `fire(docs)`"


def check_source(source: Any) -> None:
    """RAISES ValueError [HS027]: no pattern source."""
    if not isinstance(source, PatternSource):
        raise ValueError(
            Errors.HS027.format(name="pattern source", value=repr(source), expected=METHODS)
        )


def check_features(
    features: PatternFeatures, labels: Sequence[str], sequences: List[NDArray[np.int32]]
) -> None:
    """Check what a source has defined, before weights are made for it.

    RAISES ValueError [HS027]: a pattern of fewer than two labels, or an unknown label;
        [HS037]: a pattern given twice for one rule, or longer than every training sequence, so that
        it could never be learnt.
    """
    longest = max(map(len, sequences), default=0)
    seen = set()
    for feature in zip(features.patterns, features.rule_of.tolist(), strict=True):
        pattern, _ = feature
        check_pattern(pattern, len(labels))
        problem = ""
        if feature in seen:
            problem = (
                "is given twice for the same rule. Give it once, or tie the weights of two rules"
            )
        elif sequences and len(pattern) > longest:
            problem = f"has {len(pattern)} labels, more than any of the training sequences (at most {longest})"
        if problem:
            name = "pattern " + "-".join(labels[y] for y in pattern)
            raise ValueError(Errors.HS037.format(feature=name, problem=problem))
        seen.add(feature)


def check_number(name: str, value: int, least: int, most: Optional[int] = None) -> None:
    """A setting of a source. RAISES ValueError [HS027]: it is not from `least` to `most`."""
    if value < least or (most is not None and value > most):
        expected = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(Errors.HS027.format(name=name, value=value, expected=expected))


def refused(rule: str, problem: str) -> ValueError:
    """[HS034]: what is wrong with a rule, or with the settings of a source."""
    return ValueError(Errors.HS034.format(rule=rule, problem=problem))
