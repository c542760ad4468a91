"""Rule patterns: spaCy `Matcher` patterns over the Doc, with the labels that the matched tokens are
likely to have.

    {"name": "from-to", "tokens": [{"LOWER": "from"}, {}, {"LOWER": "to"}, {}], "labels": ["IN", "?y", "TO", "?y"],
    "tied": true}

Where the token pattern matches, labels of the matched tokens that fit the rule get its weight. Each
token description has one label description:

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

"note", "example" and "count" are for people who read the rules. An "optional" rule is left out if
the component lacks one of its labels.
"""

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..arrays import Labels
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
    fired_spans,
    joined_matches,
    refused,
    sequences_of,
)


@dataclass(frozen=True)
class Rule:
    """A rule as it is given, without notes for people."""

    name: str
    tokens: list[Description]
    labels: list[str | list[str]]
    tied: bool = True
    optional: bool = False

    @property
    def variables(self) -> list[str]:
        """Distinct variables, with their question marks."""
        variables: list[str] = []
        for label in self.labels:
            if isinstance(label, str) and label[:1] == "?" and label not in variables:
                variables.append(label)
        return variables

    @property
    def is_span(self) -> bool:
        """True for configurations, False if it is written out as label patterns."""
        if operators_of(self.tokens) or "*" in self.labels:
            return True
        n_sequences = math.prod(len(_names(label)) for label in self.labels)
        return n_sequences > 64  # more would make the trie large

    def instances(self, ids: dict[str, int]) -> Iterator[list[frozenset[int]]]:
        """The label sets of its tokens, for each value of its variables; none for an optional rule
        with an unknown label. RAISES ValueError [HS034]: an unknown label."""
        variables = self.variables
        for label in self.labels:
            for name in _names(label):
                if name in ids or label == "*" or label in variables:
                    continue
                if self.optional:
                    return
                raise refused(self.name, f'the label "{name}" is unknown')
        for values in itertools.product(range(len(ids)), repeat=len(variables)):
            known = {**ids, **dict(zip(variables, values, strict=True))}
            sets = []
            for label in self.labels:
                names = ids if label == "*" else _names(label)
                sets.append(frozenset(known[name] for name in names))
            yield sets


class RulePatterns(PatternSource):
    """Patterns that fire where rules match.

    rules: dictionaries with "name", "tokens", "labels" and, if wanted, "tied" (default true),
        "optional" (default false), "note", "example", "count". From a file:
        `rules = {"@readers": "srsly.read_json.v1", "path": "rules.json"}`.
    RAISES ValueError [HS034]: a rule that cannot work, by name.
    """

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        self.rules: list[Rule] = []
        self.n_rules = len(rules)
        word_rules = {}
        other_rules = {}
        for number, given in enumerate(rules):
            rule = checked_rule(given)
            self.rules.append(rule)
            if looks_at_words(rule.tokens):
                word_rules[number] = rule.tokens
            else:
                other_rules[number] = rule.tokens
        self._word_rule_numbers = np.array([*word_rules], np.intp)
        self._word_rules = WordRules([*word_rules.values()])
        self._other_rules = TokenMatcher(other_rules)

    def digest(self) -> str:
        """SHA-256 of the tokens, labels and settings of all rules, in their order."""
        rules = [(rule.tokens, rule.labels, rule.tied, rule.optional) for rule in self.rules]
        return sha256(json.dumps(rules, sort_keys=True, default=repr).encode("ascii")).hexdigest()

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a rule names a label that the component does not have."""
        ids = {label: i for i, label in enumerate(labels)}
        patterns: list[Pattern] = []
        owners: list[tuple[int, int]] = []  # weight and rule of each pattern
        id_of: dict[frozenset[int], int] = {}  # of each label set: ids follow those of labels
        n_weights = 0
        for number, rule in enumerate(self.rules):
            first = n_weights
            for i, sets in enumerate(rule.instances(ids)):
                # a configuration, or one pattern for each choice of labels
                if rule.is_span:
                    set_ids = [id_of.setdefault(each, len(labels) + len(id_of)) for each in sets]
                    expanded = [tuple(set_ids)]
                else:
                    expanded = [*itertools.product(*map(sorted, sets))]
                weight = first if rule.tied else first + i
                patterns += expanded
                owners += [(weight, number)] * len(expanded)
                n_weights = weight + 1
        weight_of, rule_of = np.array(owners, np.intp).reshape(-1, 2).T.copy()
        table = np.zeros((len(id_of), len(labels)), bool)
        for row, label_set in zip(table, id_of, strict=True):
            row[[*label_set]] = True
        return PatternFeatures(patterns, weight_of, rule_of, table)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches that lie within one sequence, each rule at most once at a token."""
        tokens, numbers = self._word_rules.fire(docs)
        fired = fired_rules(tokens, self._word_rule_numbers[numbers])
        if not self._other_rules.rules:
            return fired
        return joined_matches([fired, self._fire_others(docs)])

    def _fire_others(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches of rules that look at more than words, sentence by sentence: a longest match must
        not reach beyond."""
        matches: list[tuple[int, int, int]] = []  # token, rule, size
        slots: list[int] = []
        for before, words in sequences_of(docs):
            for (number, first, stop), descriptions in self._other_rules.matches(words):
                size = 0
                if operators_of(self.rules[number].tokens):
                    size = stop - first
                    slots += descriptions
                matches.append((before + stop - 1, number, size))
        return fired_spans(matches, slots)


def checked_rule(given: Any) -> Rule:
    """A rule that was read from a file or a config. RAISES ValueError [HS034]: it cannot work."""
    for_people = ("note", "example", "count")
    try:
        rule = Rule(**{key: value for key, value in given.items() if key not in for_people})
    except (AttributeError, TypeError) as error:
        name = given.get("name", "?") if isinstance(given, dict) else repr(given)
        problem = (
            'a rule has the keys "name", "tokens", "labels" and, if wanted, "tied", "optional", '
            '"note", "example", "count"'
        )
        raise refused(name, problem) from error
    problem = _problem_of(rule)
    if problem:
        raise refused(rule.name, problem)
    return rule


def _problem_of(rule: Rule) -> str:
    """Why a rule cannot work; "": it can."""
    problem = problem_of_tokens(rule.tokens)
    if problem and rule.tokens != []:
        return problem
    if not isinstance(rule.labels, list) or not all(map(_is_description, rule.labels)):
        return (
            '"labels" must be a list of strings, or of lists of strings, none empty, '
            f"got {rule.labels!r}"
        )
    n_tokens = len(rule.tokens)
    n_labels = len(rule.labels)
    if n_labels < 2:
        return "a rule needs at least two labels"
    if n_tokens != n_labels:
        return f"{n_tokens} tokens but {n_labels} labels; each token needs one label"
    if len(rule.variables) > 2:  # L^3 patterns for one rule would be too many for the trie
        return "at most 2 different variables are possible"
    if "!" in operators_of(rule.tokens):
        return '"OP": "!" matches no token and so can have no label'
    return ""


def _is_description(label: Any) -> bool:
    """True if it is a label or a list of labels, none of them empty."""
    return bool(label) and all(isinstance(name, str) and name for name in _names(label))


def _names(label: Any) -> list[str]:
    """Labels of a description."""
    return label if isinstance(label, list) else [label]
