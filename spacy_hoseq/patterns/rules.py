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
at words alone are matched for whole batches (`word_rules.py`).

A rule may say more: "note", "example", "count" are for its readers, and an "optional" rule is left
out where the component lacks one of its labels.
"""

import itertools
import json
import math
from functools import partial
from hashlib import sha256
from typing import Any, Dict, FrozenSet, List, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints
from ..decoders.problem import Pattern, ranges
from ..errors import Errors
from ..features.sequences import sentence_starts
from ..kept import Kept
from .sources import ConfigurationFeatures, FiredRules, PatternFeatures
from .word_rules import WordRules, looks_at_words

MAX_VARIABLES = 2  # L^3 patterns for one rule would be too many for the trie
MAX_EXPANDED = 64  # label sequences up to which a rule with label sets is written out in the trie
ANY = "*"
NEEDED = frozenset(["name", "tokens", "labels"])
MEANT = frozenset(["tokens", "labels", "tied", "optional"])
POSSIBLE = NEEDED | {"tied", "optional", "note", "example", "count"}

LabelSet = FrozenSet[int]


class RulePatterns:
    """Patterns that fire where rules match.

    rules: dictionaries with "name", "tokens", "labels" and, if wanted, "tied" (default true),
        "optional" (default false), "note", "example", "count". From a file:
        `rules = {"@readers": "srsly.read_json.v1", "path": "rules.json"}`.
    RAISES ValueError [HS034]: a rule that cannot work, by name.
    """

    def __init__(self, rules: List[Dict[str, Any]]) -> None:
        for number, rule in enumerate(rules):
            _check_rule(rule)
            if rule in rules[:number]:
                raise ValueError(
                    Errors.HS034.format(rule=rule["name"], problem="it is given twice")
                )
        self.rules = rules
        self._matcher: Kept[Matcher] = Kept()  # which belongs to a vocabulary
        self._number_of = {int(get_string_id(str(number))): number for number in range(len(rules))}
        self._spanning = {number for number, rule in enumerate(rules) if not _is_contiguous(rule)}
        of_words = [number for number, rule in enumerate(rules) if looks_at_words(rule["tokens"])]
        self._of_words = np.array(of_words, np.intp)
        self._word_rules = (
            WordRules([rules[number]["tokens"] for number in of_words]) if of_words else None
        )
        self._others = sorted(set(range(len(rules))) - set(of_words))

    @property
    def n_rules(self) -> int:
        return len(self.rules)

    def digest(self) -> str:
        """Of what the rules match and what they say of labels, in their order."""
        settled = {"tied": True, "optional": False}
        said = [
            {**settled, **{key: rule[key] for key in MEANT & set(rule)}} for rule in self.rules
        ]
        return sha256(json.dumps(said, sort_keys=True, default=repr).encode("ascii")).hexdigest()

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a rule names a label that the component does not have."""
        ids = {label: i for i, label in enumerate(labels)}
        patterns: List[Pattern] = []
        weight_of: List[int] = []
        rule_of: List[int] = []
        spanning: List[Tuple[List[LabelSet], int, int]] = []  # label sets, weight, rule
        n_weights = 0
        for number, rule in enumerate(self.rules):
            instances = _instances(rule, ids)
            tied = rule.get("tied", True)
            for i, sets in enumerate(instances):
                weight = n_weights + (0 if tied else i)
                if number not in self._spanning:
                    expanded = list(itertools.product(*map(sorted, sets)))
                    patterns += expanded
                    weight_of += [weight] * len(expanded)
                    rule_of += [number] * len(expanded)
                else:
                    spanning.append((sets, weight, number))
            n_weights += min(1, len(instances)) if tied else len(instances)
        configurations = _configurations(spanning, len(labels)) if spanning else None
        return PatternFeatures(
            patterns, np.array(weight_of, np.intp), np.array(rule_of, np.intp), configurations
        )

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches that lie within one sequence, each rule at most once at a token."""
        parts = []
        if self._word_rules is not None:
            parts.append(self._fire_word_rules(self._word_rules, docs))
        if self._others or not parts:
            parts.append(self._fire_others(docs))
        return FiredRules(*map(np.concatenate, zip(*parts, strict=True)))

    def _fire_word_rules(self, word_rules: WordRules, docs: Sequence[Doc]) -> FiredRules:
        tokens, numbers = word_rules.fire(docs)
        rules = self._of_words[numbers]
        n_words = np.array(
            [len(rule["tokens"]) if i in self._spanning else 0 for i, rule in enumerate(self.rules)]
        )
        sizes = n_words[rules]
        return FiredRules(tokens, rules, sizes, ranges(np.zeros_like(sizes), sizes))

    def _fire_others(self, docs: Sequence[Doc]) -> FiredRules:
        tokens: List[int] = []
        rules: List[int] = []
        sizes: List[int] = []
        slots: List[int] = []
        start = 0
        for doc in docs:
            for key, first, end, alignment in sorted(
                self._matches(doc, np.flatnonzero(sentence_starts(doc)))
            ):
                number = self._number_of[key]
                tokens.append(start + end - 1)
                rules.append(number)
                spans = number in self._spanning
                sizes.append(end - first if spans else 0)
                slots += alignment if spans else []
            start += len(doc)
        return FiredRules(*(np.array(column, np.intp) for column in (tokens, rules, sizes, slots)))

    def _matches(self, doc: Doc, starts: Ints) -> List[Tuple[int, int, int, List[int]]]:
        """Rule, first token, end and slots of all matches. starts (S,): first tokens of the Doc's
        sequences."""
        if not self._others or not len(doc):
            return []
        make = partial(_matcher, self.rules, self._others, doc.vocab)
        matcher = self._matcher.of((doc.vocab,), make)
        slots_of: Dict[Tuple[int, int, int], List[int]] = {}
        ends = [*starts[1:].tolist(), len(doc)]
        for start, end in zip(
            starts.tolist(), ends, strict=True
        ):  # a longest match must not reach beyond
            part = doc if len(starts) == 1 else doc[start:end]
            matches: List[Any] = matcher(part, with_alignments=True)
            for key, first, stop, slots in matches:
                slots_of[key, start + first, start + stop] = list(slots)
        return [(*match, slots) for match, slots in slots_of.items()]

    def forget_words(self) -> None:
        """Drop what is remembered of words (at the end of a memory zone)."""
        if self._word_rules is not None:
            self._word_rules.forget_words()


def _matcher(rules: List[Dict[str, Any]], numbers: List[int], vocab: Vocab) -> Matcher:
    matcher = Matcher(vocab)
    for number in numbers:
        rule = rules[number]
        matcher.add(
            str(number), [rule["tokens"]], greedy="LONGEST" if _has_operators(rule) else None
        )
    return matcher


def _has_operators(rule: Dict[str, Any]) -> bool:
    return any(key.upper() == "OP" for token in rule["tokens"] for key in token)


def _is_contiguous(rule: Dict[str, Any]) -> bool:
    """Whether the rule is written out as label patterns."""
    sizes = [len(label) if isinstance(label, list) else 1 for label in rule["labels"]]
    return (
        not _has_operators(rule) and ANY not in rule["labels"] and math.prod(sizes) <= MAX_EXPANDED
    )


def _instances(rule: Dict[str, Any], ids: Dict[str, int]) -> "List[List[LabelSet]]":
    """The label sets of the rule's tokens, for each value of its variables."""
    for label in _names(rule):
        if label not in ids and rule.get("optional", False):
            return []
        if label not in ids:
            raise ValueError(
                Errors.HS034.format(rule=rule["name"], problem=f'the label "{label}" is unknown')
            )
    variables = _variables(rule)
    result = []
    for values in itertools.product(range(len(ids)), repeat=len(variables)):
        assigned = dict(zip(variables, values, strict=True))
        sets: List[LabelSet] = []
        for label in rule["labels"]:
            if isinstance(label, list):
                sets.append(frozenset(ids[name] for name in label))
            elif label == ANY:
                sets.append(frozenset(ids.values()))
            else:
                sets.append(frozenset([assigned[label] if label in assigned else ids[label]]))
        result.append(sets)
    return result


def _names(rule: Dict[str, Any]) -> List[str]:
    """Labels that the rule names."""
    alone = [
        label
        for label in rule["labels"]
        if isinstance(label, str) and label != ANY and label[0] != "?"
    ]
    return alone + [name for label in rule["labels"] if isinstance(label, list) for name in label]


def _variables(rule: Dict[str, Any]) -> List[str]:
    return list(
        dict.fromkeys(
            label for label in rule["labels"] if isinstance(label, str) and label[:1] == "?"
        )
    )


def _configurations(
    spanning: "List[Tuple[List[LabelSet], int, int]]", n_labels: int
) -> ConfigurationFeatures:
    distinct = {
        labels: row
        for row, labels in enumerate(dict.fromkeys(s for sets, _, _ in spanning for s in sets))
    }
    table = np.zeros((len(distinct), n_labels), bool)
    for labels, row in distinct.items():
        table[row, list(labels)] = True
    slots = np.array([distinct[s] for sets, _, _ in spanning for s in sets], np.intp)
    n_slots = np.array([len(sets) for sets, _, _ in spanning], np.intp)
    weight_of, rule_of = (np.array([entry[i] for entry in spanning], np.intp) for i in (1, 2))
    return ConfigurationFeatures(table, slots, n_slots, weight_of, rule_of)


def _check_rule(rule: Any) -> None:
    problem = None
    name = rule.get("name", "?") if isinstance(rule, dict) else repr(rule)
    if not isinstance(rule, dict) or not NEEDED <= set(rule) <= POSSIBLE:
        others = ", ".join(f'"{key}"' for key in sorted(POSSIBLE - NEEDED))
        problem = f'a rule has the keys "name", "tokens", "labels" and, if wanted, {others}'
    elif not isinstance(rule["tokens"], list) or not all(
        isinstance(token, dict) for token in rule["tokens"]
    ):
        problem = f'"tokens" must be a list of Matcher token patterns (dictionaries), got {rule["tokens"]!r}'
    elif not isinstance(rule["labels"], list) or not all(map(_is_description, rule["labels"])):
        problem = f'"labels" must be a list of strings, or of lists of strings, none empty, got {rule["labels"]!r}'
    elif len(rule["labels"]) < 2:
        problem = "a rule needs at least two labels"
    elif len(rule["tokens"]) != len(rule["labels"]):
        problem = f"{len(rule['tokens'])} tokens but {len(rule['labels'])} labels; each token needs one label"
    elif len(_variables(rule)) > MAX_VARIABLES:
        problem = f"at most {MAX_VARIABLES} different variables are possible"
    elif any(
        token.get(key) == "!" for token in rule["tokens"] for key in token if key.upper() == "OP"
    ):
        problem = '"OP": "!" matches no token and so can have no label'
    else:
        try:
            Matcher(Vocab(), validate=True).add("rule", [rule["tokens"]])
        except Exception as error:  # a token pattern that spaCy cannot read
            problem = str(error)
    if problem:
        raise ValueError(Errors.HS034.format(rule=name, problem=problem))


def _is_description(label: Any) -> bool:
    names = label if isinstance(label, list) else [label]
    return bool(names) and all(isinstance(name, str) and name for name in names)
