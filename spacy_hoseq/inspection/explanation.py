"""Why a label or a chunk, and not what comes next: the terms of score(x, y) - score(x, y').

y is the best labelling of the sentence that decides so, y' the best one that decides otherwise:

    score(x, y) - score(x, y') = sum of features + transitions + label patterns + configurations

Weights of named features, in which alone the two differ, add up to what the decoder saw: a
difference of max-marginals. Of a bidirectional tagger the terms are those of the classifier that
decided, given the neighbours decided before. Checked against enumeration in
tests/inspection/test_explanation.py.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import (
    Any,
    NamedTuple,
)

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..arrays import Labels, Mask
from ..chunks import OUTSIDE, grammar
from ..components.expected_spans import growing_tags
from ..decoders import NoPath, Potentials, best_labels, path_score
from ..decoders.problem import matching
from ..errors import Errors
from .certainty import type_probabilities
from .reading import Reading, own_components, reading_of, stages, sums_of

OTHERWISE = "(otherwise)"  # of what the other labelling has
ROUNDING = 1e-4  # of scores in single precision, and of how large they are
ALTERNATIVES = 6  # labels
LEAST = 0.001  # probability of an alternative that is said
DIGITS = 5  # of numbers in JSON
NO_CHUNK = "no chunk of exactly these words"
ANOTHER = "another label that can stand there"
Item = tuple[int, int, str]  # tokens first <= i < end, and their label
Pieces = defaultdict[tuple[str, str, int], float]  # value by kind, name, place in the sentence


class Term(NamedTuple):
    """One reason. kind: "feature", "transition" or "pattern". name: in words. token: where it is,
    of the Doc. value: what it adds to the difference; above 0 speaks for the label."""

    kind: str
    name: str
    token: int
    value: float


class Explanation(NamedTuple):
    """Why one decision was made.

    first, end: the tokens that it is about. text: theirs. label, p: what was decided, and its
    probability (of a chunk: that exactly this one is there). alternatives: labels with their
    probabilities, most probable first. turn: of a bidirectional tagger, when it was decided.
    against, p_against: what it is compared with; "" = nothing else can stand there. difference: of
    the scores; terms: what it is the sum of, the weightiest first. labels, others: y and y', of the
    tokens from `start` on.
    """

    component: str
    first: int
    end: int
    text: str
    label: str
    p: float
    alternatives: list[tuple[str, float]]
    turn: int = 0
    against: str = ""
    p_against: float = 0.0
    difference: float = 0.0
    terms: Sequence[Term] = ()
    start: int = 0
    labels: Sequence[str] = ()
    others: Sequence[str] = ()


def explain(pipe: object, doc: Doc, token: int, against: str | None = None) -> Explanation:
    """Why a token has its label, as the pipeline sets it. pipe: a component of this package; of a
    `hoseq_chunker` labels are tags.

    doc: with what earlier components have set. against (str): a label to compare with; None = that
    of the next best labelling.
    RAISES ValueError [HS140]: it decides nothing label by label; [HS141]: no word; [HS161]: a label
    that is none, or nothing else can stand there.
    """
    return _required(reading_of(pipe, [doc]), (token, token + 1, ""), against, of_spans=False)


def explain_span(pipe: Any, span: Span, against: str | None = None) -> Explanation:
    """Why a chunk is there, or is not. span: with its label. against (str): compare with a chunk of
    this label over the same tokens, "O" = with none there; None = with the best labelling without
    this chunk, or, if the chunk was not found, with the best labelling.

    RAISES ValueError [HS140]: no chunker; [HS141, HS106]: as `span_certainties`; [HS161].
    """
    if not sums_of(pipe).target.labels_spans:
        raise ValueError(Errors.HS140.format(name=pipe.name, kind=type(pipe).__name__))
    chunk = (span.start, span.end, span.label_)
    return _required(Reading(pipe, [span.doc]), chunk, against, of_spans=True)


def explanations(
    pipe: object,
    doc: Doc,
    tokens: Iterable[int] | None = None,
    *,
    against: str | None = None,
    reasons: bool = True,
) -> Iterator[Explanation]:
    """Reasons of each word of a Doc, or of each chunk that was found; tokens: of these, or of the
    chunks that have one of them. pipe: of the pipeline that has annotated the Doc. reasons (bool):
    False = without terms, and what they compare. RAISES ValueError [HS140, HS141, HS161] as
    `explain`."""
    words = [token.i for token in doc if not token.is_space] if tokens is None else list(tokens)
    reading = reading_of(pipe, [doc])
    of_spans = bool(reading.target.labels_spans) and reading.turns is None
    items: list[Item] = [(token, token + 1, "") for token in words]
    if of_spans:
        items = [
            (start, end, label)
            for start, end, label in reading.items(0)
            if label in reading.pipe.labels  # (others can have been written by another component)
            and not set(words).isdisjoint(range(start, end))
        ]
    return _Decisions(reading, of_spans=of_spans).explained(items, against, reasons=reasons)


def explained(nlp: Language, names: Sequence[str] | None = None) -> list[str]:
    """Components of a pipeline whose decisions can be explained: those of these names, or all that
    do more than to find sentences. RAISES ValueError [HS140]: it makes no decisions one by one;
    [HS152]: there is no such component."""
    own = own_components(nlp, names or ())
    known = [name for name, pipe in own.items() if pipe.knows != "labels"]
    if not known or names and len(known) < len(own):
        name = next(name for name in own if name not in known)
        kind = f'the strategy "{own[name].cfg["strategy"]}"'
        raise ValueError(Errors.HS140.format(name=name, kind=kind))
    return known


def annotated(
    nlp: Language,
    doc: Doc,
    names: Sequence[str],
    check: Callable[[], object] | None = None,
) -> tuple[Doc, dict[str, Doc]]:
    """The annotated Doc, and copies with the tokens that these components see: later components may
    merge or split them. check: called before each component; what it raises ends the work."""
    seen: dict[str, Doc] = {}
    before = ""
    for name, _, (now,) in stages(nlp, [doc]):
        if check is not None:
            check()
        if before in names:
            seen[before] = now.copy()
        before = name
    return now, seen


def decisions(
    nlp: Language,
    doc: Doc,
    seen: Mapping[str, Doc],
    tokens: Sequence[int] | None = None,
    against: str | None = None,
) -> Iterator[tuple[Doc, Explanation]]:
    """Each decision of some components, with the Doc whose tokens it speaks of. doc, seen: as of
    `annotated`. tokens: of `doc`; those that a component has seen are found by their characters.
    RAISES ValueError as `explanations`."""
    for name, given in seen.items():
        asked = tokens
        if tokens is not None and len(given) != len(doc):
            asked = list(dict.fromkeys(i for token in tokens for i in _places(given, doc, token)))
        pipe = nlp.get_pipe(name)
        for one in explanations(pipe, given, asked, against=against):
            yield given, one


def as_data(one: Explanation, doc: Doc) -> dict[str, Any]:
    """An explanation for JSON, numbers rounded. doc: whose tokens it speaks of."""
    data = one._asdict()
    data["terms"] = [{**term._asdict(), "at": doc[term.token].text} for term in one.terms]
    return json.loads(json.dumps(data), parse_float=lambda digits: round(float(digits), DIGITS))


def _places(given: Doc, doc: Doc, token: int) -> range:
    """Tokens of another Doc of the same text in place of one. RAISES ValueError [HS141]."""
    if not 0 <= token < len(doc):
        raise ValueError(Errors.HS141.format(token=token, n=len(doc)))
    start = doc[token].idx
    span = given.char_span(start, start + len(doc[token]), alignment_mode="expand") or given[:0]
    return range(span.start, span.end)


def _required(reading: Reading, item: Item, against: str | None, *, of_spans: bool) -> Explanation:
    """The reasons of one decision. RAISES ValueError [HS161]: there is nothing to compare with."""
    decisions = _Decisions(reading, of_spans=of_spans)
    (one,) = decisions.explained([item], against, reasons=True)
    if not one.against:
        raise ValueError(Errors.HS161.format(name=one.label, known=ANOTHER))
    return one


class _Decisions:
    """Decisions on labels of words, or, with of_spans, of chunks, in the first Doc of a
    reading."""

    def __init__(self, reading: Reading, *, of_spans: bool) -> None:
        self.reading = reading
        self.of_spans = of_spans
        self.names = list(reading.pipe.labels if of_spans else reading.labels)
        self.tags = np.arange(len(reading.labels))

    def explained(
        self, items: Iterable[Item], against: str | None, *, reasons: bool
    ) -> Iterator[Explanation]:
        """Explanations, each when it is asked for; items: a label "" is the one that is set. RAISES
        ValueError [HS141, HS106]; [HS161]: a label that is none, or cannot stand there."""
        reading = self.reading
        for start, end, name in items:
            word, size = reading.span(0, start, end)
            label = name or reading.labels[reading.best[word]]
            self._check(label)
            p = self._probabilities(word, size)
            names = sorted(p, key=lambda name: -p[name])[:ALTERNATIVES]
            names = [name for name in names if p[name] >= LEAST or name == label]
            names += [] if label in names else [label]
            one = Explanation(
                component=reading.pipe.name,
                first=start,
                end=end,
                text=reading.texts[0][start:end].text,
                label=label,
                p=p[label],
                alternatives=[(name, p[name]) for name in names],
                turn=0 if reading.turns is None else int(reading.turns[word]),
            )
            yield self._compared(one, word, size, against, p) if reasons else one

    def _check(self, label: str) -> None:
        if label not in self.names and not (self.of_spans and label == OUTSIDE):
            raise ValueError(Errors.HS161.format(name=label, known=", ".join(self.names)))

    def _probabilities(self, word: int, size: int) -> dict[str, float]:
        """Probabilities of each label of a word, or of each type of a chunk of exactly these words
        and of none."""
        if not self.of_spans:
            return dict(zip(self.names, self.reading.posterior.nodes[word].tolist(), strict=True))
        place = np.array([word]), np.array([size])
        p = dict(
            zip(self.names, type_probabilities(self.reading, *place)[:, 0].tolist(), strict=True)
        )
        return {**p, NO_CHUNK: max(0.0, 1.0 - sum(p.values()))}

    def _compared(
        self, one: Explanation, word: int, size: int, against: str | None, p: dict[str, float]
    ) -> Explanation:
        """An explanation with the terms of score(y) - score(y'), if anything else can stand
        there."""
        reading = self.reading
        sentence = _Sentence(reading, word)
        exactly = self._exactly(one.label, size)
        labels = sentence.best_with(exactly)
        if against is not None:
            self._check(against)
            others = sentence.best_with(self._exactly(against, size))
        else:  # another label at one of its words, or the chunk goes on
            others = sentence.best_without(exactly)
        if labels is None or others is None or (labels == others).all():
            if labels is not None and against is None:
                return one
            name = one.label if labels is None else against
            raise ValueError(Errors.HS161.format(name=name, known=ANOTHER))
        if against == OUTSIDE and self.of_spans:
            place = np.array([word]), np.array([size])
            tags = np.full(size, reading.labels.index(OUTSIDE))
            p[OUTSIDE] = float(reading.posterior.segments(*place, tags)[0])
        said = [reading.labels[y] for y in others[sentence.at :][:size].tolist()]
        name = against or " ".join(said)
        difference, terms = sentence.difference(labels, others)
        return one._replace(
            against=name,
            p_against=p.get(name, 1.0 - one.p),
            difference=difference,
            terms=terms,
            start=int(reading.token_of[sentence.words.start]),
            labels=[reading.labels[y] for y in labels.tolist()],
            others=[reading.labels[y] for y in others.tolist()],
        )

    def _exactly(self, label: str, size: int) -> Mask:
        """The labels of the words of a decision (size, L), and those that can follow a chunk (size
        + 1, L)."""
        labels = self.reading.labels
        representation = str(self.reading.target.representation)
        if not self.of_spans or label == OUTSIDE:
            mask = np.full((size, 1), labels.index(label)) == self.tags
        else:
            tags = growing_tags(tuple(labels), representation)
            mask = tags.whole(np.array([tags.types.index(label)]), size).T == self.tags
        if not self.of_spans:
            return mask
        return np.append(mask, grammar(labels, representation).first[None], axis=0)


class _Sentence:
    """The sentence of a word. at: the place of the word."""

    def __init__(self, reading: Reading, word: int) -> None:
        self.reading = reading
        self.words = reading.sentence(word)
        self.at = word - self.words.start
        self.potentials = reading.potentials.select(reading.sentence_of[[word]]).potentials

    def best_with(self, allowed: Mask, skip: int = 0) -> Labels | None:
        """The best labelling in which the word, and those after it, have one of some labels, as far
        as the sentence goes: allowed (n, L). skip: words before the first of these. None: there is
        none."""
        mask: Mask = np.ones(self.potentials.scores.shape, bool)
        here = mask[self.at + skip :][: len(allowed)]
        here[:] = allowed[: len(here)]
        if self.potentials.allowed is not None:
            mask &= self.potentials.allowed
        with suppress(NoPath):
            return (
                best_labels(self.potentials._replace(allowed=mask)) if mask.any(1).all() else None
            )
        return None

    def best_without(self, exactly: Mask) -> Labels | None:
        """The best labelling that is not `exactly` so at the word, and at those after it."""
        rows = exactly[: len(self.words) - self.at]
        others = [self.best_with(~row[None], skip) for skip, row in enumerate(rows)]
        found = [each for each in others if each is not None]
        return max(found, key=lambda y: path_score(self.potentials, y)[0], default=None)

    def difference(self, labels: Labels, others: Labels) -> tuple[float, list[Term]]:
        """score(labels) - score(others), and what it is the sum of, the weightiest first. RAISES
        ValueError [HS147]: they do not add up, which is an error of this package."""
        tokens = self.reading.token_of[self.words.start : self.words.stop].tolist()
        terms = [
            Term("feature", f.name, tokens[i], float(f.weights[labels[i]] - f.weights[others[i]]))
            for i in np.flatnonzero(labels != others).tolist()
            for f in self.reading.features(self.words[i])
        ]
        own, other = (_structure(self.potentials, y, self.reading.labels) for y in (labels, others))
        for kind, name, place in {**own, **other}:
            key = (kind, name, place)
            said = name if key in own else f"{name} {OTHERWISE}"
            terms.append(Term(kind, said, tokens[place], own.get(key, 0.0) - other.get(key, 0.0)))
        scores = path_score(self.potentials, labels) - path_score(self.potentials, others)
        difference = float(scores[0])
        total = sum(term.value for term in terms)
        size = sum(abs(term.value) for term in terms)
        if abs(total - difference) > ROUNDING * (1 + size):
            raise ValueError(Errors.HS147.format(total=total, expected=difference))
        terms = [term for term in terms if term.value]
        return difference, sorted(terms, key=lambda term: -abs(term.value))


def _structure(one: Potentials, labels: Labels, names: Sequence[str]) -> Pieces:
    """Terms of transitions, patterns and configurations in the score of a sentence's labels."""
    pieces: Pieces = defaultdict(float)
    for t in range(1, len(labels)):
        a, b = labels[t - 1 : t + 1].tolist()
        said = f"{names[a]} {names[b]}"
        pieces["transition", said, t] += float(one.trans[a, b])
        if one.edge_scores is not None:
            pieces["transition", f"{said}, by these words", t] += float(one.edge_scores[t, a, b])
    trie = one.weights.trie
    places = trie.occurrences(labels, one.lengths)
    for node, token in zip(places.nodes.tolist(), places.tokens.tolist(), strict=True):
        said = " ".join(names[y] for y in trie.string(node))
        pieces["pattern", said, token] += float(one.weights.node_weights[node])
    for said, token, weight in _by_rules(one, labels, names):
        pieces["pattern", f"{said}, by a rule", token] += weight
    return pieces


def _by_rules(
    one: Potentials, labels: Labels, names: Sequence[str]
) -> Iterator[tuple[str, int, float]]:
    """Patterns that the text makes fire: their labels, the last word and the weight."""
    fired = one.fired
    if fired is not None:
        trie = one.weights.trie
        sequence = np.zeros(len(labels), np.intp)
        fires = matching(fired, trie, sequence, lambda token, label: labels[token] == label)
        for i in np.flatnonzero(fires).tolist():
            said = " ".join(names[y] for y in trie.string(int(fired.nodes[i])))
            yield said, int(fired.tokens[i]), float(fired.weights[i])
    spans = one.configurations
    if spans is not None:
        ends = np.cumsum(spans.sizes)
        for i in np.flatnonzero(spans.matched(labels)).tolist():
            rows = spans.sets[spans.slots[ends[i] - spans.sizes[i] : ends[i]]]
            said = " ".join(
                _set([names[y] for y in np.flatnonzero(row).tolist()], len(names)) for row in rows
            )
            yield said, int(spans.last[i]), float(spans.weights[i])


def _set(labels: Sequence[str], n_labels: int) -> str:
    if len(labels) == n_labels:
        return "*"
    return labels[0] if len(labels) == 1 else f"{{{','.join(labels[:6])}}}"
