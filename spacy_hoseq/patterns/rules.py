"""Rule patterns: spaCy `Matcher` patterns over the Doc, with the labels that the matched tokens are likely to have.

    {"name": "from-to", "tokens": [{"LOWER": "from"}, {}, {"LOWER": "to"}, {}], "labels": ["IN", "?y", "TO", "?y"],
    "tied": true}

Where the token pattern matches, labelling the matched tokens so earns the rule's weight. "?name" is a variable: it
stands for any label, the same one wherever it is repeated; "tied" rules have one weight for all values of their
variables, others one weight for each (Qian & Liu, Figure 9). One token description for each label: operators ("OP")
are refused.
"""

import itertools
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..decoders.trie import Pattern
from ..errors import Errors
from ..features.sequences import sentence_starts
from .sources import Ints, PatternFeatures

MAX_VARIABLES = 2  # L^3 patterns for one rule would be too many for the trie


class RulePatterns:
    """Patterns that fire where rules match.

    rules: dictionaries with "name", "tokens", "labels" and, if wanted, "tied" (default true). From a file:
        `rules = {"@readers": "srsly.read_json.v1", "path": "rules.json"}`.
    RAISES ValueError [HS034]: a rule that cannot work, by name.
    """

    def __init__(self, rules: List[Dict[str, Any]]) -> None:
        for rule in rules:
            _check_rule(rule)
        self.rules = rules
        self._matcher: Optional[Matcher] = None
        self._vocab: Optional[Vocab] = None
        self._number_of = {int(get_string_id(str(number))): number for number in range(len(rules))}

    @property
    def n_rules(self) -> int:
        return len(self.rules)

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a rule names a label that the component does not have."""
        ids = {label: i for i, label in enumerate(labels)}
        patterns: List[Pattern] = []
        weight_of: List[int] = []
        rule_of: List[int] = []
        n_weights = 0
        for number, rule in enumerate(self.rules):
            instances = _instances(rule, ids)
            tied = rule.get("tied", True)
            patterns += instances
            rule_of += [number] * len(instances)
            weight_of += [n_weights + (0 if tied else i) for i in range(len(instances))]
            n_weights += 1 if tied else len(instances)
        return PatternFeatures(patterns, np.array(weight_of, np.intp), np.array(rule_of, np.intp))

    def fire(self, docs: Sequence[Doc]) -> Tuple[Ints, Ints]:
        """Matches that lie within one sequence, each rule at most once at a token."""
        tokens: List[int] = []
        rules: List[int] = []
        start = 0
        for doc in docs:
            sequence = np.cumsum(sentence_starts(doc))
            for key, first, end in sorted(set(self._matches(doc))):
                if sequence[first] == sequence[end - 1]:
                    tokens.append(start + end - 1)
                    rules.append(self._number_of[key])
            start += len(doc)
        return np.array(tokens, np.intp), np.array(rules, np.intp)

    def _matches(self, doc: Doc) -> List[Tuple[int, int, int]]:
        if not self.rules or not len(doc):
            return []
        if self._matcher is None or self._vocab is not doc.vocab:
            self._matcher, self._vocab = _matcher(self.rules, doc.vocab), doc.vocab
        return self._matcher(doc)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_matcher": None, "_vocab": None}  # a Matcher belongs to a vocabulary


def _matcher(rules: List[Dict[str, Any]], vocab: Vocab) -> Matcher:
    matcher = Matcher(vocab)
    for number, rule in enumerate(rules):
        matcher.add(str(number), [rule["tokens"]])
    return matcher


def _instances(rule: Dict[str, Any], ids: Dict[str, int]) -> List[Pattern]:
    """The rule's label patterns, one for each value of its variables."""
    for label in rule["labels"]:
        if not label.startswith("?") and label not in ids:
            raise ValueError(Errors.HS034.format(rule=rule["name"], problem=f"the label \"{label}\" is unknown"))
    variables = list(dict.fromkeys(label for label in rule["labels"] if label.startswith("?")))
    result = []
    for values in itertools.product(range(len(ids)), repeat=len(variables)):
        assigned = {**ids, **dict(zip(variables, values, strict=True))}
        result.append(tuple(assigned[label] for label in rule["labels"]))
    return result


def _check_rule(rule: Any) -> None:
    problem = None
    name = rule.get("name", "?") if isinstance(rule, dict) else repr(rule)
    needed = {"name", "tokens", "labels"}
    if not isinstance(rule, dict) or not needed <= set(rule) <= needed | {"tied"}:
        problem = "a rule has the keys \"name\", \"tokens\", \"labels\" and, if wanted, \"tied\""
    elif not isinstance(rule["tokens"], list) or not all(isinstance(token, dict) for token in rule["tokens"]):
        problem = f"\"tokens\" must be a list of Matcher token patterns (dictionaries), got {rule['tokens']!r}"
    elif not isinstance(rule["labels"], list) or not all(isinstance(label, str) for label in rule["labels"]):
        problem = f"\"labels\" must be a list of strings, got {rule['labels']!r}"
    elif len(rule["labels"]) < 2:
        problem = "a rule needs at least two labels"
    elif len(rule["tokens"]) != len(rule["labels"]):
        problem = f"{len(rule['tokens'])} tokens but {len(rule['labels'])} labels; each token needs one label"
    elif any(key.upper() == "OP" for token in rule["tokens"] for key in token):
        problem = "\"OP\" is not possible, since each token needs one label; write one rule for each length"
    elif len({label for label in rule["labels"] if label.startswith("?")}) > MAX_VARIABLES:
        problem = f"at most {MAX_VARIABLES} different variables are possible"
    else:
        try:
            Matcher(Vocab(), validate=True).add("rule", [rule["tokens"]])
        except Exception as error:  # a token pattern that spaCy cannot read
            problem = str(error)
    if problem:
        raise ValueError(Errors.HS034.format(rule=name, problem=problem))
