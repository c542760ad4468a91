"""What a source of higher-order features provides, and several sources as one.

A higher-order feature = an observation test b(x, t) + a label pattern + a weight (Qian & Liu, "Problem Definition").
The test is either "everywhere" or a numbered rule that fires at tokens of a Doc; features may share a weight
("tied").
"""

from typing import Any, Dict, List, NamedTuple, Protocol, Sequence, Tuple, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..decoders.layout import ranges
from ..decoders.trie import Pattern
from ..errors import Errors

Ints = NDArray[np.intp]
EVERYWHERE = -1  # rule number of features without an observation test


class PatternFeatures(NamedTuple):
    """Definitions of features: feature f gives weight `weight_of[f]` to `patterns[f]` where rule `rule_of[f]` fires.

    patterns: label ids, oldest first. weight_of (P,), rule_of (P,) intp: EVERYWHERE or the number of a rule.
    """

    patterns: List[Pattern]
    weight_of: Ints
    rule_of: Ints

    @property
    def n_weights(self) -> int:
        return int(self.weight_of.max(initial=-1)) + 1

    def expand(self, rules: Ints, tokens: Ints) -> Tuple[Ints, Ints]:
        """From fired rules to fired features. RETURNS features (M,), their last tokens (M,)."""
        order = np.argsort(self.rule_of, kind="stable")
        first = np.searchsorted(self.rule_of[order], rules, side="left")
        counts = np.searchsorted(self.rule_of[order], rules, side="right") - first
        return order[ranges(first, counts)], np.repeat(tokens, counts)

    def to_arrays(self) -> Dict[str, Any]:
        """For the model file."""
        labels = np.array([y for p in self.patterns for y in p], np.int32)
        lengths = np.array([len(p) for p in self.patterns], np.int32)
        weights, rules = self.weight_of.astype(np.int32), self.rule_of.astype(np.int32)
        return {"labels": labels, "lengths": lengths, "weight_of": weights, "rule_of": rules}

    @classmethod
    def from_arrays(cls, arrays: Dict[str, Any]) -> "PatternFeatures":
        ends = np.cumsum(arrays["lengths"])
        patterns = [tuple(part.tolist()) for part in np.split(arrays["labels"], ends[:-1])] if len(ends) else []
        return cls(patterns, arrays["weight_of"].astype(np.intp), arrays["rule_of"].astype(np.intp))


@runtime_checkable
class PatternSource(Protocol):
    """Write your own: register a function that returns such an object in `spacy.registry.misc`.

    n_rules (int): how many rules `fire` can name; 0 if all patterns fire everywhere.
    """

    @property
    def n_rules(self) -> int: ...

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """The features, found once in initialization. sequences: gold label ids, -1 where unknown."""

    def fire(self, docs: Sequence[Doc]) -> Tuple[Ints, Ints]:
        """Where rules fire: flat index (over all docs) of the LAST token of each match, and the rule's number."""


class PatternSources:
    """Several sources as one. Weights and rules of each are numbered after those of the sources before it."""

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
        weights, rules = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        n_weights = n_rules = 0
        for source, n in zip(self.sources, self._n_rules, strict=True):
            part = source.define(labels, sequences)
            patterns += part.patterns
            weights.append(part.weight_of + n_weights)
            rules.append(np.where(part.rule_of < 0, EVERYWHERE, part.rule_of + n_rules))
            n_weights += part.n_weights
            n_rules += n
        return PatternFeatures(patterns, np.concatenate(weights), np.concatenate(rules))

    def fire(self, docs: Sequence[Doc]) -> Tuple[Ints, Ints]:
        tokens, rules = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        n_rules = 0
        for source, n in zip(self.sources, self._n_rules, strict=True):
            at, which = source.fire(docs)
            tokens.append(at)
            rules.append(which + n_rules)
            n_rules += n
        return np.concatenate(tokens), np.concatenate(rules)


def check_source(source: Any) -> None:
    """RAISES ValueError [HS035]: no pattern source."""
    if not isinstance(source, PatternSource):
        raise ValueError(Errors.HS035.format(source=repr(source)))
