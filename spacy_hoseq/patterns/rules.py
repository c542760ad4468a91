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
from typing import Any, Dict, FrozenSet, Iterator, List, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints
from ..decoders.problem import Pattern, ranges
from ..kept import Kept
from .same_word import problem_of_tokens
from .sources import (
    ConfigurationFeatures,
    FiredRules,
    PatternFeatures,
    joined_matches,
    refused,
    sequences_of,
)
from .word_rules import WordRules, looks_at_words

MAX_VARIABLES = 2  # L^3 patterns for one rule would be too many for the trie
MAX_EXPANDED = 64  # label sequences up to which a rule with label sets is written out in the trie
ANY = "*"
NEEDED = frozenset(["name", "tokens", "labels"])
SETTLED = {"tied": True, "optional": False}  # unless the rule says otherwise
POSSIBLE = NEEDED | {*SETTLED, "note", "example", "count"}

Rule = Dict[str, Any]
LabelSet = FrozenSet[int]


class RulePatterns:
    """Patterns that fire where rules match.

    rules: dictionaries with "name", "tokens", "labels" and, if wanted, "tied" (default true),
        "optional" (default false), "note", "example", "count". From a file:
        `rules = {"@readers": "srsly.read_json.v1", "path": "rules.json"}`.
    RAISES ValueError [HS034]: a rule that cannot work, by name.
    """

    def __init__(self, rules: List[Rule]) -> None:
        for number, rule in enumerate(rules):
            check_rule(rule)
            if rule in rules[:number]:
                raise refused(rule["name"], "it is given twice")
        self.rules = rules
        self._is_spanning = [not _is_contiguous(rule) for rule in rules]
        of_words = [number for number, rule in enumerate(rules) if looks_at_words(rule["tokens"])]
        self._word_rules = WordRules([rules[number]["tokens"] for number in of_words])
        self._of_words = np.array(of_words, np.intp)
        n_words = [len(rule["tokens"]) for rule in rules]
        self._sizes = np.array(n_words, np.intp) * np.array(self._is_spanning, bool)
        self._others = sorted({*range(len(rules))} - {*of_words})
        self._matcher: Kept[Matcher] = Kept()  # of the others, which belongs to a vocabulary
        # (strings of the vocabulary can vanish with the memory zone in which a matcher was made)
        self._number_of = {get_string_id(str(number)): number for number in self._others}

    @property
    def n_rules(self) -> int:
        return len(self.rules)

    def digest(self) -> str:
        """SHA-256 of what rules match and say of labels, in their order."""
        meant = {"tokens", "labels", *SETTLED}
        said = [{**SETTLED, **{key: rule[key] for key in meant & set(rule)}} for rule in self.rules]
        return sha256(json.dumps(said, sort_keys=True, default=repr).encode("ascii")).hexdigest()

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a rule names a label that the component does not have."""
        ids = {label: i for i, label in enumerate(labels)}
        patterns: List[Pattern] = []
        owners: List[Tuple[int, int]] = []  # weight and rule of each
        spanning: List[List[LabelSet]] = []
        spanning_owners: List[Tuple[int, int]] = []
        n_weights = 0
        for number, rule in enumerate(self.rules):
            instances = _instances(rule, ids)
            tied = rule.get("tied", True)
            for i, sets in enumerate(instances):
                owner = n_weights + (0 if tied else i), number
                if self._is_spanning[number]:
                    spanning.append(sets)
                    spanning_owners.append(owner)
                else:
                    expanded = [*itertools.product(*map(sorted, sets))]
                    patterns += expanded
                    owners += [owner] * len(expanded)
            n_weights += min(1, len(instances)) if tied else len(instances)
        configurations = (
            _configurations(spanning, spanning_owners, len(labels)) if spanning else None
        )
        return PatternFeatures(patterns, *_columns(owners), configurations)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """Matches that lie within one sequence, each rule at most once at a token."""
        tokens, numbers = self._word_rules.fire(docs)
        rules = self._of_words[numbers]
        sizes = self._sizes[rules]
        of_words = FiredRules(tokens, rules, sizes, ranges(np.zeros_like(sizes), sizes))
        return joined_matches([of_words, self._fire_others(docs)])

    def _fire_others(self, docs: Sequence[Doc]) -> FiredRules:
        """By spaCy's `Matcher`, sentence by sentence: a longest match must not reach beyond."""
        tokens: List[int] = []
        rules: List[int] = []
        sizes: List[int] = []
        slots: List[int] = []
        for before, doc, start, end in sequences_of(docs) if self._others else ():
            matcher = self._matcher.of((doc.vocab,), partial(self._make_matcher, doc.vocab))
            part = doc if end - start == len(doc) else doc[start:end]
            slots_of: Dict[Tuple[int, int, int], List[int]] = {}
            matches: List[Any] = matcher(part, with_alignments=True)
            for key, first, stop, alignment in matches:
                slots_of[self._number_of[key], first, stop] = list(alignment)
            for (rule, first, stop), alignment in sorted(slots_of.items()):
                tokens.append(before + start + stop - 1)
                rules.append(rule)
                sizes.append(stop - first if self._is_spanning[rule] else 0)
                slots += alignment if self._is_spanning[rule] else []
        return FiredRules(*(np.array(column, np.intp) for column in (tokens, rules, sizes, slots)))

    def _make_matcher(self, vocab: Vocab) -> Matcher:
        matcher = Matcher(vocab)
        for number in self._others:
            tokens = self.rules[number]["tokens"]
            matcher.add(str(number), [tokens], greedy="LONGEST" if _operators(tokens) else None)
        return matcher

    def forget_words(self) -> None:
        """Drop what is remembered of words (at the end of a memory zone)."""
        self._word_rules.forget_words()


def _operators(tokens: List[Dict[str, Any]]) -> List[Any]:
    return [value for token in tokens for key, value in token.items() if key.upper() == "OP"]


def _is_contiguous(rule: Rule) -> bool:
    """True if the rule is written out as label patterns."""
    n_sequences = math.prod(len(_names(label)) for label in rule["labels"])
    return (
        not _operators(rule["tokens"]) and ANY not in rule["labels"] and n_sequences <= MAX_EXPANDED
    )


def _names(label: Any) -> List[str]:
    return label if isinstance(label, list) else [label]


def _variables(rule: Rule) -> List[str]:
    alone = [label for label in rule["labels"] if isinstance(label, str)]
    return [*dict.fromkeys(label for label in alone if label[:1] == "?")]


def _instances(rule: Rule, ids: Dict[str, int]) -> List[List[LabelSet]]:
    """The label sets of the rule's tokens, for each value of its variables."""
    variables = _variables(rule)
    named = [label for label in rule["labels"] if label != ANY and label not in variables]
    unknown = [name for label in named for name in _names(label) if name not in ids]
    if unknown and rule.get("optional", False):
        return []
    if unknown:
        raise refused(rule["name"], f'the label "{unknown[0]}" is unknown')
    result = []
    for values in itertools.product(range(len(ids)), repeat=len(variables)):
        known = {**ids, **dict(zip(variables, values, strict=True))}
        result.append(
            [
                frozenset(ids.values())
                if label == ANY
                else frozenset(known[n] for n in _names(label))
                for label in rule["labels"]
            ]
        )
    return result


def _configurations(
    spanning: List[List[LabelSet]], owners: List[Tuple[int, int]], n_labels: int
) -> ConfigurationFeatures:
    row_of = {labels: row for row, labels in enumerate(dict.fromkeys(itertools.chain(*spanning)))}
    table = np.zeros((len(row_of), n_labels), bool)
    for labels, row in row_of.items():
        table[row, list(labels)] = True
    slots = np.array([row_of[labels] for sets in spanning for labels in sets], np.intp)
    n_slots = np.array([len(sets) for sets in spanning], np.intp)
    return ConfigurationFeatures(table, slots, n_slots, *_columns(owners))


def _columns(owners: List[Tuple[int, int]]) -> Tuple[Ints, Ints]:
    """Weights and rules, each (n,)."""
    weights, rules = np.array(owners, np.intp).reshape(-1, 2).T.copy()
    return weights, rules


def check_rule(rule: Any) -> None:
    """RAISES ValueError [HS034]."""
    problem = next((problem for is_wrong, problem in _problems(rule) if is_wrong), "")
    if problem:
        raise refused(rule.get("name", "?") if isinstance(rule, dict) else repr(rule), problem)


def _problems(rule: Any) -> Iterator[Tuple[bool, str]]:
    """Conditions that are wrong, with their messages; each is read if none before it holds."""
    others = ", ".join(f'"{key}"' for key in sorted(POSSIBLE - NEEDED))
    is_rule = isinstance(rule, dict) and NEEDED <= set(rule) <= POSSIBLE
    yield not is_rule, f'a rule has the keys "name", "tokens", "labels" and, if wanted, {others}'
    tokens = rule["tokens"]
    labels = rule["labels"]
    yield (
        not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens),
        f'"tokens" must be a list of Matcher token patterns (dictionaries), got {tokens!r}',
    )
    yield (
        not isinstance(labels, list) or not all(map(_is_description, labels)),
        f'"labels" must be a list of strings, or of lists of strings, none empty, got {labels!r}',
    )
    yield len(labels) < 2, "a rule needs at least two labels"
    yield (
        len(tokens) != len(labels),
        f"{len(tokens)} tokens but {len(labels)} labels; each token needs one label",
    )
    n_variables = len(_variables(rule))
    yield n_variables > MAX_VARIABLES, f"at most {MAX_VARIABLES} different variables are possible"
    yield "!" in _operators(tokens), '"OP": "!" matches no token and so can have no label'
    yield True, problem_of_tokens(tokens)


def _is_description(label: Any) -> bool:
    return bool(label) and all(isinstance(name, str) and name for name in _names(label))
