"""Why a bidirectional tagger decided as it did: its turn, what it knew of the neighbours, and the
features by name."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats
from ..decoders.bidirectional import OFFSETS
from ..errors import Errors
from ..features.keys import LABEL
from ..layers.local.classifiers import shim_of
from ..layers.scorer import scorer_of
from .alternatives import Change, Turn, smallest_set
from .decisions import Decisions
from .explanation import ROUNDING, Explanation, Term
from .features import Feature, Names


def explain_decision(
    pipe: Any, doc: Doc, token: int, against: Optional[str] = None
) -> Tuple[int, Explanation]:
    """The turn of a token, 1 = decided first in its sentence, and why it got its label.

    doc, token, against: as of `explain`. The explanation's log-odds are of local probabilities,
    given the neighbours decided before; without a feature they change by what the feature adds.
    `turns`: other labels of decided neighbours that would have turned the decision. RAISES
    ValueError [HS141, HS142, HS146, HS147].
    """
    decisions = Decisions(pipe, [doc])
    word = decisions.word(0, token)
    log_p = decisions.log_probabilities[word]
    label = int(decisions.best[word])
    names = decisions.labels
    other = _other(log_p, label, names, against)
    features = _features(decisions, word)
    terms = [
        Term("feature", f.name, token, float(f.weights[label] - f.weights[other])) for f in features
    ]
    total = sum(term.value for term in terms)
    expected = float(log_p[label] - log_p[other])
    if abs(total - expected) > ROUNDING * (1 + sum(abs(term.value) for term in terms)):
        raise ValueError(Errors.HS147.format(total=total, expected=expected))
    terms = sorted((term for term in terms if term.value), key=lambda term: -abs(term.value))
    changes = [Change("feature", term.name, expected - term.value, term.value) for term in terms]
    near = _known_neighbours(decisions, word)
    turns, of_neighbours = _neighbours(decisions, word, label, other, near)
    fewest, instead = smallest_set(features, log_p, label)
    shown = range(min([word, *near.values()]), max([word, *near.values()]) + 1)
    labels = [names[decisions.best[w]] if w in near.values() or w == word else "" for w in shown]
    others = [names[other] if w == word else name for w, name in zip(shown, labels, strict=True)]
    return int(decisions.turns[word]), Explanation(
        component=pipe.name,
        first=token,
        end=token + 1,
        text=decisions.text(word),
        label=names[label],
        against=names[other],
        p=float(np.exp(log_p[label])),
        p_against=float(np.exp(log_p[other])),
        difference=expected,
        terms=terms,
        start=decisions.token(shown.start)[1],
        labels=labels,
        others=others,
        changes=sorted([*changes, *of_neighbours], key=lambda change: -abs(change.difference)),
        fewest=[feature.name for feature in fewest],
        instead=names[instead] if fewest else "",
        turns=turns,
    )


def _other(log_p: Floats, label: int, names: Sequence[str], against: Optional[str]) -> int:
    if against is not None and against not in names:
        raise ValueError(Errors.HS146.format(label=against, known=", ".join(names)))
    rest = log_p.copy()
    rest[label] = -np.inf
    other = int(rest.argmax()) if against is None else list(names).index(against)
    if other == label or log_p[other] == -np.inf:
        raise ValueError(
            Errors.HS146.format(label=names[other], known="another label that can stand there")
        )
    return other


def _features(decisions: Decisions, word: int) -> List[Feature]:
    """Those of the classifier that was asked; their weights add up to its scores."""
    shim = shim_of(decisions.pipe.model)
    stacked = shim.stacked()
    names = Names(decisions.docs)
    visible = int(decisions.visible[word])
    context = decisions.contexts[word]
    features = []
    fired = scorer_of(decisions.pipe.model).features.fired(
        decisions.docs, word, context, visible, shim.values(), shim.keys()
    )
    slot_of = {offset: slot for slot, offset in enumerate(OFFSETS[decisions.order])}
    labels = [*decisions.labels, "<s>", "</s>"]
    for parts, number in fired:
        weights = stacked.table[stacked.rows[visible, number]].astype(np.float64)
        if weights.any():
            given = [part for part in parts if part.attribute == LABEL]
            said = {part: labels[int(context[slot_of[part.offset]])] for part in given}
            features.append(names.feature(parts, word, weights, said))
    return features


def _known_neighbours(decisions: Decisions, word: int) -> Dict[int, int]:
    """Neighbours that were decided before, slot -> word."""
    slots = {}
    for slot, offset in enumerate(OFFSETS[decisions.order]):
        if decisions.visible[word] >> slot & 1 and decisions.contexts[word, slot] < len(
            decisions.labels
        ):
            slots[slot] = word + offset
    return slots


def _neighbours(
    decisions: Decisions, word: int, label: int, other: int, near: Dict[int, int]
) -> Tuple[List[Turn], List[Change]]:
    """What another label of each decided neighbour would have done, and what it would have been not
    to know it."""
    turns = []
    changes = []
    here = np.array([word])
    log_p = decisions.log_probabilities
    names = decisions.labels
    n_labels = len(names)
    before = float(log_p[word, label] - log_p[word, other])
    for slot, neighbour in near.items():
        contexts = np.repeat(decisions.contexts[here], n_labels, axis=0)
        contexts[:, slot] = np.arange(n_labels)
        visible = np.full(n_labels, decisions.visible[word])
        best_then = decisions.at(np.repeat(here, n_labels), visible, contexts).argmax(axis=1)
        turned = np.flatnonzero((best_then != label) & np.isfinite(log_p[neighbour]))
        text = decisions.text(neighbour)
        if len(turned):
            y = int(turned[log_p[neighbour, turned].argmax()])
            cost = float(log_p[neighbour, decisions.best[neighbour]] - log_p[neighbour, y])
            turns.append(
                Turn(
                    decisions.token(neighbour)[1],
                    text,
                    names[y],
                    float(np.exp(log_p[neighbour, y])),
                    names[best_then[y]],
                    cost,
                )
            )
        without = decisions.visible[here] & ~(1 << slot)
        if int(without[0]) in shim_of(decisions.pipe.model).masks:
            (row,) = decisions.at(here, without, decisions.contexts[here])
            odds = float(row[label] - row[other])
            changes.append(Change("neighbour", f"the label of {text}", odds, before - odds))
    return sorted(turns, key=lambda turn: -turn.p), changes
