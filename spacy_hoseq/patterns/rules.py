"""Rule patterns: spaCy `Matcher` patterns over the Doc, with the labels that the matched tokens are
likely to have.

    {"name": "from-to", "tokens": [{"LOWER": "from"}, {}, {"LOWER": "to"}, {}], "labels": ["IN", "?y", "TO", "?y"],
    "tied": true}

Where the token pattern matches, labelling the matched tokens so earns the rule's weight. One label
description for each token description:

    "NN"                  this label
    ["B-PER", "I-PER"]    any of these labels
    "*"                   any label at all
    "?name"               a variable: any label, the same one wherever it is repeated; "tied" rules have one weight for
                          all values of their variables, others one weight for each (Qian & Liu, Figure 9)

A token description with "OP" may match several tokens or none; all tokens that it matches have its
label description, so that a rule can span a gap ("professor" ... "said"). Of several matches of
such a rule that overlap, the longest counts. Rules without "OP" and "*" that stand for few label
sequences become label patterns in the trie, all others configurations. Rules without "OP" that look
at words alone are matched for whole batches (`matchers.py`).

A rule may say more: "note", "example", "count" are for its readers, and an "optional" rule is left
out where the component lacks one of its labels.
"""

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..decoders.problem import Pattern
from .matchers import (
    Description,
    TokenMatcher,
    WordRules,
    looks_at_words,
    operators_of,
    problem_of_tokens,
)
from .sources import (
    FiredRules,
    PatternFeatures,
    PatternSource,
    fired_rules,
    joined_matches,
    refused,
    sequences_of,
)

MAX_VARIABLES = 2  # L^3 patterns for one rule would be too many for the trie
MAX_EXPANDED = 64  # label sequences up to which a rule with label sets is written out in the trie
ANY = "*"
FOR_READERS = ("note", "example", "count")
KEYS = 'a rule has the keys "name", "tokens", "labels" and, if wanted, "tied", "optional", "note", "example", "count"'


@dataclass(frozen=True)
class Rule:
    """A rule as it is given, without what is for its readers."""

    name: str
    tokens: list[Description]
    labels: list[str | list[str]]
    tied: bool = True
    optional: bool = False

    @property
    def variables(self) -> list[str]:
        """Distinct variables, with their question marks."""
        alone = [label for label in self.labels if isinstance(label, str)]
        return [*dict.fromkeys(label for label in alone if label[:1] == "?")]

    @property
    def is_span(self) -> bool:
        """True for configurations, False if it is written out as label patterns."""
        n_sequences = math.prod(len(_names(label)) for label in self.labels)
        return bool(operators_of(self.tokens)) or ANY in self.labels or n_sequences > MAX_EXPANDED

    def instances(self, ids: dict[str, int]) -> Iterator[list[frozenset[int]]]:
        """The label sets of its tokens, for each value of its variables. RAISES ValueError [HS034]:
        an unknown label."""
        named = [label for label in self.labels if label != ANY and label not in self.variables]
        unknown = [name for label in named for name in _names(label) if name not in ids]
        if unknown and not self.optional:
            raise refused(self.name, f'the label "{unknown[0]}" is unknown')
        if unknown:
            return
        every = frozenset(ids.values())
        for values in itertools.product(range(len(ids)), repeat=len(self.variables)):
            known = {**ids, **dict(zip(self.variables, values, strict=True))}
            yield [
                every if label == ANY else frozenset(known[name] for name in _names(label))
                for label in self.labels
            ]


class RulePatterns(PatternSource):
    """Patterns that fire where rules match.

    rules: dictionaries with "name", "tokens", "labels" and, if wanted, "tied" (default true),
        "optional" (default false), "note", "example", "count". From a file:
        `rules = {"@readers": "srsly.read_json.v1", "path": "rules.json"}`.
    RAISES ValueError [HS034]: a rule that cannot work, by name.
    """

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        self.rules = [*map(checked_rule, rules)]
        self.n_rules = len(rules)
        tokens = {number: rule.tokens for number, rule in enumerate(self.rules)}
        of_words = [number for number in tokens if looks_at_words(tokens[number])]
        self._of_words = np.array(of_words, np.intp)
        self._word_rules = WordRules([tokens.pop(number) for number in of_words])
        self._others = TokenMatcher(tokens)

    def digest(self) -> str:
        """SHA-256 of what rules match and say of labels, in their order."""
        said = [(rule.tokens, rule.labels, rule.tied, rule.optional) for rule in self.rules]
        return sha256(json.dumps(said, sort_keys=True, default=repr).encode("ascii")).hexdigest()

    def define(self, labels: Sequence[str], sequences: list[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a rule names a label that the component does not have."""
        ids = {label: i for i, label in enumerate(labels)}
        patterns: list[Pattern] = []
        owners: list[tuple[int, int]] = []  # weight and rule of each
        number_of: dict[frozenset[int], int] = {}  # of each label set
        n_weights = 0
        for number, rule in enumerate(self.rules):
            first = n_weights
            for i, sets in enumerate(rule.instances(ids)):
                if rule.is_span:
                    numbers = [number_of.setdefault(each, len(number_of)) for each in sets]
                    expanded = [tuple(len(labels) + each for each in numbers)]
                else:
                    expanded = [*itertools.product(*map(sorted, sets))]
                weight = first if rule.tied else first + i
                patterns += expanded
                owners += [(weight, number)] * len(expanded)
                n_weights = weight + 1
        weight_of, rule_of = np.array(owners, np.intp).reshape(-1, 2).T.copy()
        table = np.array([[y in each for y in ids.values()] for each in number_of], bool)
        return PatternFeatures(patterns, weight_of, rule_of, table.reshape(-1, len(labels)))

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches that lie within one sequence, each rule at most once at a token."""
        tokens, numbers = self._word_rules.fire(docs)
        of_words = fired_rules(tokens, self._of_words[numbers])
        return (
            joined_matches([of_words, self._fire_others(docs)]) if self._others.rules else of_words
        )

    def _fire_others(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches of rules that look at more than words, sentence by sentence: a longest match must
        not reach beyond."""
        rows: list[tuple[int, int, int]] = []  # token, rule, size
        slots: list[int] = []
        for before, words in sequences_of(docs):
            for (number, first, stop), descriptions in self._others.matches(words):
                has_size = bool(operators_of(self.rules[number].tokens))
                rows.append((before + stop - 1, number, (stop - first) * has_size))
                slots += descriptions * has_size
        tokens, rules, sizes = np.array(rows, np.intp).reshape(-1, 3).T.copy()
        return FiredRules(tokens, rules, sizes, np.array(slots, np.intp))


def checked_rule(given: Any) -> Rule:
    """RAISES ValueError [HS034]: it cannot work."""
    try:
        rule = Rule(**{key: value for key, value in given.items() if key not in FOR_READERS})
    except (AttributeError, TypeError) as error:
        name = given.get("name", "?") if isinstance(given, dict) else repr(given)
        raise refused(name, KEYS) from error
    problem = next((problem for is_wrong, problem in _problems(rule) if is_wrong), "")
    if problem:
        raise refused(rule.name, problem)
    return rule


def _problems(rule: Rule) -> Iterator[tuple[bool, str]]:
    """Conditions that are wrong, with their messages; each is read if none before it holds."""
    problem = problem_of_tokens(rule.tokens)
    yield problem != "" and rule.tokens != [], problem
    yield (
        not isinstance(rule.labels, list) or not all(map(_is_description, rule.labels)),
        f'"labels" must be a list of strings, or of lists of strings, none empty, got {rule.labels!r}',
    )
    yield len(rule.labels) < 2, "a rule needs at least two labels"
    yield (
        len(rule.tokens) != len(rule.labels),
        f"{len(rule.tokens)} tokens but {len(rule.labels)} labels; each token needs one label",
    )
    yield (
        len(rule.variables) > MAX_VARIABLES,
        f"at most {MAX_VARIABLES} different variables are possible",
    )
    yield "!" in operators_of(rule.tokens), '"OP": "!" matches no token and so can have no label'


def _is_description(label: Any) -> bool:
    """True if it is a label or a list of labels, none of them empty."""
    return bool(label) and all(isinstance(name, str) and name for name in _names(label))


def _names(label: Any) -> list[str]:
    """Labels of a description."""
    return label if isinstance(label, list) else [label]
