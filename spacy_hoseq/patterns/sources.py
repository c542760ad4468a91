"""What a source of higher-order features provides, and several sources as one.

A higher-order feature = an observation test b(x, t) + a label pattern + a weight (Qian & Liu,
"Problem Definition"). The test is either "everywhere" or a numbered rule that fires at tokens of a
Doc; features may share a weight ("tied"). Features with label sets and gaps are configurations
(Qian et al. 2009, section 2).
"""

from typing import (
    Any,
    Dict,
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

EVERYWHERE = -1  # rule number of features without an observation test


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
    return FiredRules(tokens, rules, np.zeros(len(tokens), np.intp), np.zeros(0, np.intp))


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
        order = np.argsort(self.rule_of, kind="stable")
        spans = np.flatnonzero(fired.sizes)
        first = np.searchsorted(self.rule_of[order], fired.rules[spans], side="left")
        counts = np.searchsorted(self.rule_of[order], fired.rules[spans], side="right") - first
        features = order[ranges(first, counts)]
        match = np.repeat(spans, counts)
        sizes = fired.sizes[match]
        slots = fired.slots[ranges((np.cumsum(fired.sizes) - fired.sizes)[match], sizes)]
        if (slots >= np.repeat(self.n_slots[features], sizes)).any():
            raise ValueError(Errors.HS058)
        first_slots = np.repeat((np.cumsum(self.n_slots) - self.n_slots)[features], sizes)
        return features, fired.tokens[match] - sizes + 1, sizes, self.slots[first_slots + slots]


def no_configurations(n_labels: int) -> ConfigurationFeatures:
    nothing = np.zeros(0, np.intp)
    return ConfigurationFeatures(np.zeros((0, n_labels), bool), nothing, nothing, nothing, nothing)


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
        spanning = (
            -1
            if self.configurations is None
            else int(self.configurations.weight_of.max(initial=-1))
        )
        return max(int(self.weight_of.max(initial=-1)), spanning) + 1

    @property
    def n_rules(self) -> int:
        """As many as are named."""
        spanning = (
            -1 if self.configurations is None else int(self.configurations.rule_of.max(initial=-1))
        )
        return max(int(self.rule_of.max(initial=-1)), spanning) + 1

    def expand(self, fired: FiredRules) -> Tuple[Ints, Ints]:
        """From fired rules to fired label patterns. RETURNS features (M,), their last tokens
        (M,)."""
        order = np.argsort(self.rule_of, kind="stable")
        rules = np.append(self.rule_of[order], np.iinfo(np.intp).max)  # (no rule has this number)
        sizes = np.searchsorted(rules, rules, side="right") - np.arange(len(rules))
        first = np.searchsorted(rules, fired.rules, side="left")
        counts = np.where(rules.take(first) == fired.rules, sizes.take(first), 0)
        counts[fired.sizes > 0] = 0
        return order[ranges(first, counts)], np.repeat(fired.tokens, counts)

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
        labels = np.array([y for p in self.patterns for y in p], np.int32)
        lengths = np.array([len(p) for p in self.patterns], np.int32)
        weights = self.weight_of.astype(np.int32)
        rules = self.rule_of.astype(np.int32)
        arrays: Dict[str, Any] = {
            "labels": labels,
            "lengths": lengths,
            "weight_of": weights,
            "rule_of": rules,
        }
        if self.configurations is not None:
            sets, *numbers = self.configurations
            arrays["sets"] = sets.astype(np.uint8)
            arrays.update(
                zip(_CONFIGURATION_ARRAYS, (n.astype(np.int32) for n in numbers), strict=True)
            )
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Dict[str, Any]) -> "PatternFeatures":
        ends = np.cumsum(arrays["lengths"])
        patterns = (
            [tuple(part.tolist()) for part in np.split(arrays["labels"], ends[:-1])]
            if len(ends)
            else []
        )
        configurations = None
        if "sets" in arrays:
            numbers = [arrays[name].astype(np.intp) for name in _CONFIGURATION_ARRAYS]
            configurations = ConfigurationFeatures(arrays["sets"].astype(bool), *numbers)
        weight_of = arrays["weight_of"].astype(np.intp)
        return cls(patterns, weight_of, arrays["rule_of"].astype(np.intp), configurations)


_CONFIGURATION_ARRAYS = ("slots", "n_slots", "configuration_weight_of", "configuration_rule_of")


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
        self._n_rules = [source.n_rules for source in sources]

    @property
    def n_rules(self) -> int:
        return sum(self._n_rules)

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        patterns: List[Pattern] = []
        weights = [np.zeros(0, np.intp)]
        rules = [np.zeros(0, np.intp)]
        spanning = [no_configurations(len(labels))]
        n_weights = n_rules = n_sets = 0
        for source, n in zip(self.sources, self._n_rules, strict=True):
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
            n_rules += n
        joined = ConfigurationFeatures(*map(np.concatenate, zip(*spanning, strict=True)))
        configurations = joined if len(joined.rule_of) else None
        return PatternFeatures(
            patterns, np.concatenate(weights), np.concatenate(rules), configurations
        )

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        parts = [fired_rules(np.zeros(0, np.intp), np.zeros(0, np.intp))]
        n_rules = 0
        for source, n in zip(self.sources, self._n_rules, strict=True):
            part = source.fire(docs)
            parts.append(part._replace(rules=part.rules + n_rules))
            n_rules += n
        return FiredRules(*map(np.concatenate, zip(*parts, strict=True)))

    def see(self, docs: Sequence[Doc]) -> None:
        """For those sources that count words."""
        for source in self.sources:
            asked(source, "see", docs)

    def forget_words(self) -> None:
        """Of those sources that remember words."""
        for source in self.sources:
            asked(source, "forget_words")

    def digest(self) -> List[Any]:
        """Of those sources that have rules."""
        return [asked(source, "digest") for source in self.sources]


def asked(source: Optional[PatternSource], name: str, *given: Any) -> Any:
    """The answer of a method that not every source has; without it None."""
    method = getattr(source, name, None)
    return None if method is None else method(*given)


def check_source(source: Any) -> None:
    """RAISES ValueError [HS035]: no pattern source."""
    if not isinstance(source, PatternSource):
        raise ValueError(Errors.HS035.format(source=repr(source)))


def check_features(
    features: PatternFeatures, labels: Sequence[str], sequences: List[NDArray[np.int32]]
) -> None:
    """What a source has defined, before weights are made for it.

    RAISES ValueError [HS030]: a pattern of fewer than two labels; [HS031]: an unknown label;
        [HS037]: a pattern given twice for one rule, or longer than every training sequence, so that
        it could never be learnt.
    """
    longest = max(map(len, sequences), default=0)
    seen = set()
    for pattern, rule in zip(features.patterns, features.rule_of.tolist(), strict=True):
        check_pattern(pattern, len(labels))
        name = "pattern " + "-".join(labels[y] for y in pattern)
        if (pattern, rule) in seen:
            problem = (
                "is given twice for the same rule. Give it once, or tie the weights of two rules"
            )
            raise ValueError(Errors.HS037.format(feature=name, problem=problem))
        if sequences and len(pattern) > longest:
            problem = f"has {len(pattern)} labels, more than any of the training sequences (at most {longest})"
            raise ValueError(Errors.HS037.format(feature=name, problem=problem))
        seen.add((pattern, rule))
