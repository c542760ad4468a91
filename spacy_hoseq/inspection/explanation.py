"""Why a label, and not another one: exact accounts of the difference of two labellings.

The best labelling y and the best one y' that decides otherwise are compared term by term,

    score(x, y) - score(x, y') = sum of features + transitions + label patterns + configurations

so that what is said adds up to what the decoder saw (a max-marginal difference). What the decision
would be without something is found by taking it away: by decoding, and by sums over all labellings,
once more.

Counterfactual sets of features. A feature of word t adds its weight w(y_t) to every labelling with
y_t, and so to the max-marginal of that label. So to make y' overtake y the fewest features are
those of largest w(y) - w(y'), and the smallest set over all y' is the smallest there is.

Checked against enumeration in tests/inspection/test_explanation.py.
"""

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Labels, Mask
from ..decoders import decode_exact
from ..decoders.answers import best_labels
from ..decoders.problem import Potentials, matching, path_score
from ..errors import Errors
from .alternatives import Change, Turn, changes_at, neighbour_turns, smallest_set
from .features import Feature, features_at
from .reading import Reading

OTHERWISE = "(otherwise)"  # of what the other labelling has
Piece = Tuple[str, str, int, float]  # kind, name, place, value
ROUNDING = 1e-4  # of scores in single precision, and of how large they are


class Term(NamedTuple):
    """One reason. kind: "feature", "transition" or "pattern". name: in words. token: where it is,
    of the Doc. value: what it adds to the difference; above 0 speaks for the label."""

    kind: str
    name: str
    token: int
    value: float


class Explanation(NamedTuple):
    """Of one decision.

    first, end: the tokens that it is about. text: theirs. label, against: what was compared. p,
    p_against: probability of both (of a span: that all its tokens have these tags). difference:
    best score with the label, less the best score with the other one; terms: what it is the sum of,
    the weightiest first.
    labels, others: the two labellings of the sentence, tokens start <= i < start + len(labels).
    changes: the log-odds, log p(label) - log p(against), without something, largest change first.
    fewest: names of the smallest set of features at the token without which another label
    (`instead`) would be best; empty if there is none. turns: labels of neighbours that would turn
    the decision, most probable first.
    """

    component: str
    first: int
    end: int
    text: str
    label: str
    against: str
    p: float
    p_against: float
    difference: float
    terms: List[Term]
    start: int
    labels: List[str]
    others: List[str]
    changes: List[Change]
    fewest: List[str]
    instead: str
    turns: List[Turn]

    @property
    def log_odds(self) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(self.p) - np.log(self.p_against))


def explain(pipe: object, doc: Doc, token: int, against: Optional[str] = None) -> Explanation:
    """Why a token has its label, which the decoder of the config chooses. pipe: a `hoseq_tagger` or
    `hoseq_chunker` (whose labels are tags).

    doc: with what earlier components have set. token (int): of the Doc. against (str): a label to
    compare with; None = the one that comes next: that of the next best labelling, or with
    `max_marginal_decoder` the next most probable one.
    RAISES ValueError [HS140, HS141]; [HS146]: a label that is none, or cannot stand there.
    """
    return explain_word(Reading(pipe, [doc]), token, against)


def explain_word(reading: Reading, token: int, against: Optional[str] = None) -> Explanation:
    """Of the first Doc of a reading."""
    word = reading.word(0, token)
    best = reading.best_with[word]
    ranking = reading.ranking[word]
    label = int(reading.best[word])
    other = _other_label(reading, ranking, label, against)
    one, words, labels = sentence_at(reading, word)
    if reading.pipe.decoder is not decode_exact:
        labels = labels_with(one, word - words.start, label)
    others = labels_with(one, word - words.start, other)
    p = reading.posterior.nodes[word]
    fewest, instead = smallest_set(
        features_at(reading.pipe.model.layers[0], reading, [word]), ranking, label
    )
    names = reading.labels
    return Explanation(
        component=reading.pipe.name,
        first=token,
        end=token + 1,
        text=reading.text(word),
        label=names[label],
        against=names[other],
        p=float(p[label]),
        p_against=float(p[other]),
        difference=float(best[label] - best[other]),
        terms=terms_between(reading, word, labels, others),
        start=reading.token(words.start)[1],
        labels=[names[y] for y in labels.tolist()],
        others=[names[y] for y in others.tolist()],
        changes=changes_at(reading, one, word, label, other),
        fewest=[feature.name for feature in fewest],
        instead=names[instead] if fewest else "",
        turns=neighbour_turns(reading, one, word, label),
    )


def terms_between(reading: Reading, word: int, labels: Labels, others: Labels) -> List[Term]:
    """What the scores of two labellings of the sentence of a word differ by. RAISES ValueError
    [HS147]: it does not add up, which is an error of this package."""
    one, words, _ = sentence_at(reading, word)
    differing = [words[i] for i in np.flatnonzero(labels != others)]
    features = features_at(reading.pipe.model.layers[0], reading, differing)
    place = {w: i for i, w in enumerate(words)}

    def gain(feature: Feature) -> float:
        i = place[feature.word]
        return float(feature.weights[labels[i]] - feature.weights[others[i]])

    terms = [
        Term("feature", feature.name, reading.token(feature.word)[1], gain(feature))
        for feature in features
    ]
    for kind, name, i, value in structure_terms(one, labels, others, reading.labels):
        terms.append(Term(kind, name, reading.token(words[i])[1], value))
    expected = float((path_score(one, labels) - path_score(one, others))[0])
    total = sum(term.value for term in terms)
    size = sum(abs(term.value) for term in terms)
    if abs(total - expected) > ROUNDING * (1 + size):
        raise ValueError(Errors.HS147.format(total=total, expected=expected))
    return sorted((term for term in terms if term.value), key=lambda term: -abs(term.value))


def labels_with(one: Potentials, place: int, label: int) -> Labels:
    """The best labelling of one sentence that has a label at a place."""
    mask: Mask = np.ones(one.scores.shape, bool)
    mask[place] = False
    mask[place, label] = True
    return best_labels(one.permitting(mask))


def sentence_at(reading: Reading, word: int) -> Tuple[Potentials, range, Labels]:
    """The sentence of a word as a batch of its own, its words, and its best labels."""
    words = reading.sentence(word)
    one = reading.potentials.select(reading.sentence_of[[word]]).potentials
    return one, words, reading.best[words.start : words.stop]


def _other_label(reading: Reading, best: Floats, label: int, against: Optional[str]) -> int:
    if against is None:
        rest = best.copy()
        rest[label] = -np.inf
        other = int(rest.argmax())
    elif against in reading.labels:
        other = reading.labels.index(against)
    else:
        raise ValueError(Errors.HS146.format(label=against, known=", ".join(reading.labels)))
    if other == label or best[other] == -np.inf:
        raise ValueError(
            Errors.HS146.format(
                label=against or reading.labels[label], known="another label that can stand there"
            )
        )
    return other


def structure_terms(
    one: Potentials, labels: Labels, others: Labels, names: Sequence[str]
) -> List[Piece]:
    """One sentence. Of what both labellings have nothing is said; what only the others have is said
    to be so."""
    totals: Dict[Tuple[str, str, int], float] = {}
    own = set()
    for sign, of in ((1.0, labels), (-1.0, others)):
        for kind, name, place, value in [
            *_pairs(one, of, names),
            *_patterns(one, of, names),
            *_spans(one, of, names),
        ]:
            totals[kind, name, place] = totals.get((kind, name, place), 0.0) + sign * value
            if sign > 0:
                own.add((kind, name, place))
    return [
        (kind, name if (kind, name, place) in own else f"{name} {OTHERWISE}", place, value)
        for (kind, name, place), value in totals.items()
        if value
    ]


def _pairs(one: Potentials, labels: Labels, names: Sequence[str]) -> Iterator[Piece]:
    for t in range(1, len(labels)):
        a = int(labels[t - 1])
        b = int(labels[t])
        yield "transition", f"{names[a]} {names[b]}", t, float(one.trans[a, b])
        if one.edge_scores is not None:
            yield (
                "transition",
                f"{names[a]} {names[b]}, by these words",
                t,
                float(one.edge_scores[t, a, b]),
            )


def _patterns(one: Potentials, labels: Labels, names: Sequence[str]) -> Iterator[Piece]:
    weights = one.weights
    fired = one.fired
    if not weights.has_patterns:
        return

    def said(node: int) -> str:
        return " ".join(names[y] for y in weights.trie.string(node))

    places = weights.trie.occurrences(labels, one.lengths)
    for token, node in zip(places.tokens.tolist(), places.nodes.tolist(), strict=True):
        if weights.node_weights[node]:
            yield "pattern", said(node), token, float(weights.node_weights[node])
    if fired is not None:
        sequence = np.zeros(len(labels), np.intp)
        here = np.flatnonzero(
            matching(fired, weights.trie, sequence, lambda token, label: labels[token] == label)
        )
        for i in here.tolist():
            yield (
                "pattern",
                f"{said(int(fired.nodes[i]))}, by a rule",
                int(fired.tokens[i]),
                float(fired.weights[i]),
            )


def _spans(one: Potentials, labels: Labels, names: Sequence[str]) -> Iterator[Piece]:
    configurations = one.configurations
    if configurations is None:
        return
    starts = np.cumsum(configurations.sizes) - configurations.sizes
    for i in np.flatnonzero(configurations.matched(labels)).tolist():
        slots = configurations.slots[starts[i] : starts[i] + configurations.sizes[i]]
        said = " ".join(_set(configurations.sets[slot].nonzero()[0], names) for slot in slots)
        yield (
            "pattern",
            f"{said}, by a rule",
            int(configurations.last[i]),
            float(configurations.weights[i]),
        )


def _set(ids: Ints, names: Sequence[str]) -> str:
    if len(ids) == len(names):
        return "*"
    return names[ids[0]] if len(ids) == 1 else "{" + ",".join(names[y] for y in ids[:6]) + "}"
