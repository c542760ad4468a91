"""What a decision would be if something were not there: exact, by decoding and by sums once more.

All variants of a sentence are decoded as one batch: copies that differ in emissions, or in what is
permitted.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..arrays import AnyFloats, Floats, Mask
from ..decoders.answers import posterior
from ..decoders.problem import Potentials
from ..layers.scorer import scorer_of
from .features import Feature, features_at
from .reading import Reading

CHANGES = 24  # of the features, those that change most
LIKELY = 12  # labels of a neighbour that are tried
NEAR = 2  # words on each side whose labels and texts are varied


class Change(NamedTuple):
    """kind: "feature", "word", "constraint", "neighbour". name: what is taken away. log_odds: what
    they are then.
    difference: how much less than before; above 0 = it speaks for the label."""

    kind: str
    name: str
    log_odds: float
    difference: float


class Turn(NamedTuple):
    """A neighbour's label that would turn the decision. token: of the neighbour. p: how probable
    its label is. instead: the label of the decided token then. cost: by how much the labels of
    the sentence score less then."""

    token: int
    text: str
    label: str
    p: float
    instead: str
    cost: float


def copies(one: Potentials, scores: AnyFloats, allowed: Optional[Mask] = None) -> Potentials:
    """Variants of one sentence as a batch. scores (M, T, L). allowed (M, T, L): None = as in the
    sentence."""
    m, t, n_labels = scores.shape
    shift = np.arange(m) * t
    fired = one.fired
    configurations = one.configurations
    if fired is not None:
        tokens = (shift[:, None] + fired.tokens).reshape(-1)
        fired = fired._replace(
            tokens=tokens, nodes=np.tile(fired.nodes, m), weights=np.tile(fired.weights, m)
        )
    if configurations is not None:
        configurations = configurations._replace(
            first=(shift[:, None] + configurations.first).reshape(-1),
            sizes=np.tile(configurations.sizes, m),
            slots=np.tile(configurations.slots, m),
            weights=np.tile(configurations.weights, m),
        )
    if allowed is None and one.allowed is not None:
        allowed = np.broadcast_to(one.allowed, scores.shape)
    return one._replace(
        scores=scores.reshape(-1, n_labels),
        lengths=np.full(m, t),
        fired=fired,
        configurations=configurations,
        edge_scores=None if one.edge_scores is None else np.tile(one.edge_scores, (m, 1, 1)),
        allowed=None if allowed is None else allowed.reshape(-1, n_labels),
    )


def changes_at(
    reading: Reading, one: Potentials, word: int, label: int, other: int
) -> List[Change]:
    """The log-odds of two labels without each feature of a word, without each word around it (all
    features that look at it), and without what constrains the sentence. What a feature of the word
    says is the same for all labellings with a label there, so without it the log-odds are less by
    just that."""
    words = reading.sentence(word)
    start = words.start
    end = words.stop
    here = features_at(reading.pipe.model.layers[0], reading, [word])
    here.sort(key=lambda f: -abs(f.weights[label] - f.weights[other]))
    odds = _log_odds(reading.posterior.nodes[word], label, other)
    changes = []
    # p(y_t) of all labellings with y_t is divided by exp(w(y_t)), and normalised
    for feature in here[:CHANGES]:
        gain = float(feature.weights[label] - feature.weights[other])
        changes.append(Change("feature", feature.name, odds - gain, gain))
    near = range(max(start, word - NEAR), min(end, word + NEAR + 1))
    for at, nodes in zip(near, nodes_without(reading, one, start, near, word), strict=True):
        where = f" ({at - word:+d})" if at != word else ""
        without = _log_odds(nodes, label, other)
        changes.append(Change("word", reading.text(at) + where, without, odds - without))
    if one.allowed is not None and not one.allowed.all():
        free = _log_odds(posterior(one._replace(allowed=None)).nodes[word - start], label, other)
        changes.append(Change("constraint", "labels that cannot stand here", free, odds - free))
    return sorted(changes, key=lambda change: -abs(change.difference))


def nodes_without(
    reading: Reading, one: Potentials, start: int, near: range, word: int
) -> List[Floats]:
    """p(y_t = .) of a word without each of some words around it, that is, without all features that
    look at them.

    one: the sentence, whose first word is `start`. They are kept with the reading: of each word
    that is taken away, for all words around it.
    """
    known = reading.without.setdefault("nodes", {})
    missing = [at for at in near if at not in known]
    if missing:
        end = start + len(one.scores)
        layer = reading.pipe.model.layers[0]
        reach = scorer_of(layer).reach
        first = max(start, missing[0] - reach)
        around = features_at(layer, reading, range(first, min(end, missing[-1] + reach + 1)))
        scores = np.tile(one.scores.astype(np.float64), (len(missing), 1, 1))
        for row, at in zip(scores, missing, strict=True):
            for feature in around:
                if at in feature.looks_at:
                    row[feature.word - start] -= feature.weights
        nodes = posterior(copies(one, scores)).nodes.reshape(scores.shape)
        for of_sentence, at in zip(nodes, missing, strict=True):
            begin = max(start, at - NEAR)
            known[at] = begin, of_sentence[begin - start : at + NEAR + 1 - start].copy()
    return [known[at][1][word - known[at][0]] for at in near]


def _log_odds(p: Floats, label: int, other: int) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(p[label]) - np.log(p[other]))


def smallest_set(
    features: Sequence[Feature], best: Floats, label: int
) -> "tuple[List[Feature], int]":
    """The fewest features of a word without which another label has the better labelling, and that
    label. best (L,): max-marginals. RETURNS none, and the label itself, if no set does that."""
    weights = np.reshape([feature.weights for feature in features], (len(features), len(best)))
    smallest: Tuple[List[Feature], int] = ([], label)
    for other in np.flatnonzero(np.isfinite(best)).tolist():
        if other == label:
            continue
        gains = weights[:, label] - weights[:, other]
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > 0]
        gaps = np.subtract.accumulate([best[label] - best[other], *gains[order]])
        sizes = np.flatnonzero(gaps < 0)
        if len(sizes) and (not smallest[0] or sizes[0] < len(smallest[0])):
            smallest = [features[i] for i in order[: sizes[0]]], other
    return smallest


def neighbour_turns(reading: Reading, one: Potentials, word: int, label: int) -> List[Turn]:
    """For each near neighbour, the most probable of its LIKELY labels with which another one would
    be best at the word."""
    start = reading.sentence(word).start
    nodes = reading.posterior.nodes
    cases = _likely_around(reading, word)
    if not cases:
        return []
    n_tokens, n_labels = one.scores.shape
    allowed = np.ones((len(cases), n_tokens, n_labels), bool)
    if one.allowed is not None:
        allowed &= one.allowed
    for i, (w, y) in enumerate(cases):
        allowed[i, w - start] = np.arange(n_labels) == y
    variants = copies(one, np.tile(one.scores, (len(cases), 1, 1)), allowed)
    decoded = reading.pipe.decoder(variants)
    at_word = decoded.labels[word - start :: n_tokens]
    costs = reading.best_scores[reading.sentence_of[word]] - decoded.scores
    names = reading.labels
    most_probable: Dict[int, int] = {}  # neighbour -> case
    for i, (w, _) in enumerate(cases):
        earlier = cases[most_probable.get(w, i)]
        if at_word[i] != label and (w not in most_probable or nodes[cases[i]] > nodes[earlier]):
            most_probable[w] = i
    turns = []
    for w, i in most_probable.items():
        y = cases[i][1]
        place = reading.token(w)[1], reading.text(w), names[y], float(nodes[w, y])
        turns.append(Turn(*place, names[int(at_word[i])], float(costs[i])))
    return sorted(turns, key=lambda turn: -turn.p)


def _likely_around(reading: Reading, word: int) -> List[Tuple[int, int]]:
    """The near neighbours of a word, each with its LIKELY labels but the best one."""
    words = reading.sentence(word)
    possible = np.isfinite(reading.best_with)
    cases = []
    for w in range(max(words.start, word - NEAR), min(words.stop, word + NEAR + 1)):
        likely = np.argsort(-reading.posterior.nodes[w], kind="stable")[: LIKELY + 1].tolist()
        others = [(w, y) for y in likely if y != reading.best[w] and possible[w, y]]
        cases += others if w != word else []
    return cases
