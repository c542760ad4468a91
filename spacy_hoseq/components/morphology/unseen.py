"""Labels that training never saw, made of features that it did.

A feature of a label is changed if it has another value, goes, or comes; the part of speech is one,
the tag is not. An unseen label qualifies if changes of two or more of its features each lead to a
seen one: seen "Case=Nom|Number=Sing", "Case=Ine|Number=Sing" and "Case=Nom|Number=Plur" speak for
"Case=Ine|Number=Plur".
"""

from collections import defaultdict
from typing import Dict, FrozenSet, List, Sequence, Set, Tuple

from spacy.morphology import Morphology

from .labels import POS, TAG, features_of

Features = FrozenSet[Tuple[str, str]]


def unseen_labels(labels: Sequence[str], most: int) -> List[str]:
    """Labels that are not among these, as above, at most so many: those first that more features
    speak for, and among them those that more labels do. Takes time O(labels * features of a part of
    speech)."""
    seen = {frozenset(features_of(label).items()) for label in labels}
    with_pos: Dict[str, Set[Tuple[str, str]]] = defaultdict(set)  # features of each part of speech
    for label in seen:
        with_pos[dict(label).get(POS, "")] |= {
            feature for feature in label if feature[0] not in (POS, TAG)
        }
    # a feature for each label that speaks for it
    spoken_for: Dict[Features, List[str]] = defaultdict(list)
    for label in seen:
        for name, other in _changed(label, with_pos):
            if other not in seen:
                spoken_for[other].append(name)
    ranks = {
        Morphology.dict_to_feats(dict(label)): (-len(set(names)), -len(names))
        for label, names in spoken_for.items()
        if len(set(names)) > 1
    }
    return sorted(ranks, key=lambda label: (ranks[label], label))[:most]


def _changed(
    label: Features, with_pos: Dict[str, Set[Tuple[str, str]]]
) -> List[Tuple[str, Features]]:
    """The feature that is changed, and the label then."""
    values = dict(label)
    pos = values.get(POS, "")
    changed = [(name, label - {(name, value)}) for name, value in label if name not in (POS, TAG)]
    for name, value in with_pos[pos] - label:
        changed.append((name, frozenset({**values, name: value}.items())))
    of_both = {feature for feature in label if feature[0] not in (POS, TAG)}
    for other in with_pos:
        if other != pos and other and pos and of_both <= with_pos[other]:
            changed.append((POS, frozenset({**values, POS: other}.items())))
    return changed
