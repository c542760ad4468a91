"""Matches of rules by regular expressions: words are single letters, each token description is one group; and names of
what sources define and fire."""

import re


def all_matches(groups, text):
    """Every (first, end, slots): which group each letter of text[first:end] belongs to. Groups must be unambiguous."""
    regex = re.compile("".join(f"({group})" for group in groups))
    found = []
    for first in range(len(text)):
        for end in range(first + 1, len(text) + 1):
            match = regex.fullmatch(text, first, end)
            if match:
                sizes = [len(part) for part in match.groups()]
                slots = [slot for slot, size in enumerate(sizes) for _ in range(size)]
                found.append((first, end, slots))
    return found


def longest_matches(groups, text):
    """Those that remain if of two that overlap the longer counts, of equal ones the first."""
    taken, found = set(), []
    matches = sorted(all_matches(groups, text), key=lambda match: (match[0] - match[1], match[0]))
    for first, end, slots in matches:
        if taken.isdisjoint(range(first, end)):
            taken.update(range(first, end))
            found.append((first, end, slots))
    return sorted(found)


def spans_of(fired):
    """What a source says has fired: (rule, first token, slots), sorted."""
    result, at = [], 0
    rows = zip(fired.tokens.tolist(), fired.rules.tolist(), fired.sizes.tolist(), strict=True)
    for token, rule, size in rows:
        first = token - size + 1 if size else token
        result.append((rule, first, fired.slots[at : at + size].tolist()))
        at += size
    assert at == len(fired.slots)
    return sorted(result)


def named_features(features, labels):
    """(weight, rule, labels) of each feature, a set of labels where there are several."""
    result = []
    rows = zip(features.patterns, features.weight_of, features.rule_of, strict=True)
    for pattern, weight, rule in rows:
        names = []
        for y in pattern:
            row = features.sets[y - len(labels)] if y >= len(labels) else None
            some = None if row is None else {labels[z] for z in range(len(labels)) if row[z]}
            names.append(labels[y] if some is None else some)
        result.append((int(weight), int(rule), names))
    return result
