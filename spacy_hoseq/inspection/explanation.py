"""Why a label or a chunk, and not what comes next: the terms of score(x, y) - score(x, y').

y is the best labelling of the sentence that decides so, y' the best one that decides otherwise:

    score(x, y) - score(x, y') = sum of features + transitions + label patterns + configurations

The two differ only in weights of named features, which add up to a difference of max-marginals of
the decoder. A bidirectional tagger has the terms of the classifier that decided, given the
neighbours decided before. Checked against enumeration in
tests/inspection/test_explanation.py.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..arrays import Labels, Mask
from ..chunks import OUTSIDE, grammar
from ..components.expected_spans import growing_tags
from ..components.targets.lemmas import label_of
from ..decoders import NoPath, Potentials, best_labels, path_score
from ..decoders.problem import matching
from ..errors import Errors, unknown_name
from .certainty import type_probabilities
from .reading import Reading, own_components, reading_of, stages, sums_of
from .wording import chunks_in_words, lemma_in_words, transition

ANOTHER_LABEL = "another label that can stand there"
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
    probabilities, most probable first. words: labels in words, where these say more. turn: of a
    bidirectional tagger, when it was decided. against, p_against: what it is compared with; "" =
    nothing else can stand there. difference: of the scores; terms: what it is the sum of, the
    weightiest first. labels, others: y and y', of the tokens from `start` on.
    """

    component: str
    first: int
    end: int
    text: str
    label: str
    p: float
    alternatives: list[tuple[str, float]]
    words: Mapping[str, str] = {}
    turn: int = 0
    against: str = ""
    p_against: float = 0.0
    difference: float = 0.0
    terms: Sequence[Term] = ()
    start: int = 0
    labels: Sequence[str] = ()
    others: Sequence[str] = ()


def explain(pipe: object, doc: Doc, token: int, against: str | None = None) -> Explanation:
    """Why a token has its label. pipe: a component of this package; labels of a `hoseq_chunker` are
    tags.

    doc: with what earlier components have set. against (str): a label to compare with; None = that
    of the next best labelling.
    RAISES ValueError [HS140]: it decides nothing label by label; [HS141]: no word; [HS161]: a label
    that is none, or nothing else can stand there.
    """
    return _required(reading_of(pipe, [doc]), (token, token + 1, ""), against, spans=False)


def explain_span(pipe: Any, span: Span, against: str | None = None) -> Explanation:
    """Why a chunk is there, or is not. span: with its label. against (str): compare with a chunk of
    this label over the same tokens, "O" = with none there; None = with the best labelling without
    this chunk, or, if the chunk was not found, with the best labelling.

    RAISES ValueError [HS140]: no chunker; [HS141, HS106]: as `span_certainties`; [HS161].
    """
    if not sums_of(pipe).target.labels_spans:
        raise ValueError(Errors.HS140.format(name=pipe.name, kind=type(pipe).__name__))
    chunk = (span.start, span.end, span.label_)
    return _required(Reading(pipe, [span.doc]), chunk, against, spans=True)


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
    if tokens is None:
        tokens = [token.i for token in doc if not token.is_space]
    words = list(tokens)
    reading = reading_of(pipe, [doc])
    spans = bool(reading.target.labels_spans) and reading.turns is None
    items: list[Item] = []
    if not spans:
        items = [(token, token + 1, "") for token in words]
    else:
        for start, end, label in reading.items(0):
            # other components may have written other labels into the same group
            is_own = label in reading.pipe.labels
            if is_own and not set(words).isdisjoint(range(start, end)):
                items.append((start, end, label))
    return _Decisions(reading, spans=spans).explained(items, against, reasons=reasons)


def explained(nlp: Language, names: Sequence[str] | None = None) -> list[str]:
    """Components of a pipeline whose decisions can be explained: those of these names, or all that
    do more than to find sentences. RAISES ValueError [HS140]: it makes no decisions one by one;
    [HS152]: there is no such component."""
    own = own_components(nlp, names or ())
    known = [name for name, pipe in own.items() if pipe.knows != "labels"]
    for name in own:
        # one that is named must be able to explain; of all, it is enough if one is
        if name not in known and (names or not known):
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
    """Each decision of some components, with the Doc that has its tokens. doc, seen: as of
    `annotated`. tokens: of `doc`; those that a component has seen are found by their characters.
    RAISES ValueError as `explanations`."""
    for name, given in seen.items():
        given_tokens = tokens
        if tokens is not None and len(given) != len(doc):
            places: dict[int, None] = {}  # each once, in order
            for token in tokens:
                places.update(dict.fromkeys(_places(given, doc, token)))
            given_tokens = list(places)
        pipe = nlp.get_pipe(name)
        for one in explanations(pipe, given, given_tokens, against=against):
            yield given, one


def as_data(one: Explanation, doc: Doc) -> dict[str, Any]:
    """An explanation for JSON, with numbers of five decimals. doc: with the tokens of the
    explanation."""
    data = one._asdict()
    data["terms"] = [{**term._asdict(), "at": doc[term.token].text} for term in one.terms]
    # reading the JSON reaches the numbers at all depths
    return json.loads(json.dumps(data), parse_float=lambda digits: round(float(digits), 5))


def _places(given: Doc, doc: Doc, token: int) -> range:
    """Tokens of another Doc of the same text in place of one. RAISES ValueError [HS141]."""
    if not 0 <= token < len(doc):
        raise ValueError(Errors.HS141.format(token=token, n=len(doc)))
    start = doc[token].idx
    span = given.char_span(start, start + len(doc[token]), alignment_mode="expand") or given[:0]
    return range(span.start, span.end)


def _required(reading: Reading, item: Item, against: str | None, *, spans: bool) -> Explanation:
    """The reasons of one decision. RAISES ValueError [HS161]: there is nothing to compare with."""
    decisions = _Decisions(reading, spans=spans)
    (one,) = decisions.explained([item], against, reasons=True)
    if not one.against:
        raise unknown_name(one.label, [ANOTHER_LABEL])
    return one


class _Decisions:
    """Decisions on labels of words, or on chunks (spans = True), in the first Doc of a reading."""

    def __init__(self, reading: Reading, *, spans: bool) -> None:
        self.reading = reading
        self.spans = spans
        self.names = list(reading.labels)
        if spans:
            self.names = list(reading.pipe.labels)
        self.tags = np.arange(len(reading.labels))

    def explained(
        self, items: Iterable[Item], against: str | None, *, reasons: bool
    ) -> Iterator[Explanation]:
        """Explanations, each made when it is needed. items: a label "" is the one that is set.
        RAISES ValueError [HS141, HS106]; [HS161]: a label that is none, or cannot stand there."""
        reading = self.reading
        for start, end, name in items:
            word, size = reading.span(0, start, end)
            label = name or reading.labels[reading.best[word]]
            self._check(label)
            if reading.target.place == "lemma" and against and against not in self.names:
                # a lemma, in place of the label that makes it
                lemma_label = label_of(reading.texts[0][start].text, against)
                if lemma_label in self.names:
                    against = lemma_label
            p = self._probabilities(word, size)
            one = Explanation(
                component=reading.pipe.name,
                first=start,
                end=end,
                text=reading.texts[0][start:end].text,
                label=label,
                p=p[label],
                alternatives=_likeliest(p, label),
            )
            if reading.turns is not None:
                one = one._replace(turn=int(reading.turns[word]))
            if reasons:
                one = self._compared(one, word, size, against, p)
            if reading.target.place == "lemma":
                labels = [*dict(one.alternatives), one.against or label]
                one = one._replace(words={each: lemma_in_words(each, one.text) for each in labels})
            yield one

    def _check(self, label: str) -> None:
        """RAISES ValueError [HS161]: the component has no such label."""
        if label not in self.names and not (self.spans and label == OUTSIDE):
            raise unknown_name(label, self.names)

    def _probabilities(self, word: int, size: int) -> dict[str, float]:
        """Probabilities of each label of a word, or of each type of a chunk of exactly these words
        and of no such chunk."""
        if not self.spans:
            return dict(zip(self.names, self.reading.posterior.nodes[word].tolist(), strict=True))
        types = type_probabilities(self.reading, np.array([word]), np.array([size]))[:, 0]
        p = dict(zip(self.names, types.tolist(), strict=True))
        p["no chunk of exactly these words"] = max(0.0, 1.0 - sum(p.values()))
        return p

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
        if labels is None:
            raise unknown_name(one.label, [ANOTHER_LABEL])
        if others is None or (labels == others).all():
            if against is None:
                return one
            raise unknown_name(against, [ANOTHER_LABEL])
        if against == OUTSIDE and self.spans:
            place = np.array([word]), np.array([size])
            tags = np.full(size, reading.labels.index(OUTSIDE))
            p[OUTSIDE] = float(reading.posterior.segments(*place, tags)[0])
        other_names = [reading.labels[y] for y in others.tolist()]
        here = other_names[sentence.at :][:size]
        name, p_against = self._compared_with(one, here, against, p)
        difference, terms = sentence.difference(labels, others)
        return one._replace(
            against=name,
            p_against=p_against,
            difference=difference,
            terms=terms,
            start=int(reading.token_of[sentence.words.start]),
            labels=[reading.labels[y] for y in labels.tolist()],
            others=other_names,
        )

    def _compared_with(
        self, one: Explanation, here: Sequence[str], against: str | None, p: dict[str, float]
    ) -> tuple[str, float]:
        """What a decision is compared with, in words, and its probability. here: the other labels of
        these words."""
        name = against or here[0]
        p_against = p.get(name, 1.0 - one.p)
        if self.spans and against is None:  # with all that is not this chunk
            name = chunks_in_words(here)
            p_against = 1.0 - one.p
        if name == one.label:
            name = f"{name} of other words"
        return name, p_against

    def _exactly(self, label: str, size: int) -> Mask:
        """The labels of the words of a decision (size, L); for chunks also those that can follow
        (size + 1, L)."""
        labels = self.reading.labels
        representation = str(self.reading.target.representation)
        if not self.spans or label == OUTSIDE:
            mask = np.full((size, 1), labels.index(label)) == self.tags
        else:
            tags = growing_tags(tuple(labels), representation)
            mask = tags.complete(np.array([tags.types.index(label)]), size).T == self.tags
        if not self.spans:
            return mask
        # a chunk is exactly this one if the next word does not continue it
        return np.append(mask, grammar(labels, representation).first[None], axis=0)


def _likeliest(p: dict[str, float], label: str) -> list[tuple[str, float]]:
    """The six likeliest labels and the one that was decided, with their probabilities."""
    names = [name for name in sorted(p, key=lambda name: -p[name])[:6] if p[name] >= 0.001]
    return [(name, p[name]) for name in dict.fromkeys([*names, label])]


class _Sentence:
    """The sentence of a word. at: the place of the word."""

    def __init__(self, reading: Reading, word: int) -> None:
        self.reading = reading
        self.words = reading.sentence(word)
        self.at = word - self.words.start
        self.potentials = reading.potentials.select(reading.sentence_of[[word]]).potentials

    def best_with(self, allowed: Mask, skip: int = 0) -> Labels | None:
        """The best labelling with some labels at the word and those after it, as far as the
        sentence goes: allowed (n, L). skip: words before the first of these. None: there is
        none."""
        mask: Mask = np.ones(self.potentials.scores.shape, bool)
        here = mask[self.at + skip :][: len(allowed)]
        here[:] = allowed[: len(here)]
        if self.potentials.allowed is not None:
            mask &= self.potentials.allowed
        if not mask.any(axis=1).all():
            return None
        with suppress(NoPath):  # labels of neighbours can forbid each other
            return best_labels(self.potentials._replace(allowed=mask))
        return None

    def best_without(self, exactly: Mask) -> Labels | None:
        """The best labelling that is not `exactly` so at the word and those after it. None: there
        is none."""
        found = []
        # it has another label at one of these words
        for skip, row in enumerate(exactly[: len(self.words) - self.at]):
            labels = self.best_with(~row[None], skip)
            if labels is not None:
                found.append(labels)
        score = partial(path_score, self.potentials)
        return max(found, key=score, default=None)

    def difference(self, labels: Labels, others: Labels) -> tuple[float, list[Term]]:
        """score(labels) - score(others), and what it is the sum of, the weightiest first. RAISES
        ValueError [HS147]: they do not add up, which is an error of this package."""
        tokens = self.reading.token_of[self.words.start : self.words.stop].tolist()
        words = self.reading.wording
        terms = []
        # where the labels are the same, features have the same weights
        for i in np.flatnonzero(labels != others).tolist():
            for feature in self.reading.features(self.words[i]):
                value = float(feature.weights[labels[i]] - feature.weights[others[i]])
                terms.append(Term("feature", words.feature(feature.name), tokens[i], value))
        is_chunk = bool(self.reading.target.labels_spans)
        first = _structure(self.potentials, labels, self.reading.labels, is_chunk=is_chunk)
        second = _structure(self.potentials, others, self.reading.labels, is_chunk=is_chunk)
        for key in {**first, **second}:
            kind, name, place = key
            if key not in first:
                name = f"{name} (otherwise)"  # only the other labelling has it
            value = first.get(key, 0.0) - second.get(key, 0.0)
            terms.append(Term(kind, name, tokens[place], value))
        scores = path_score(self.potentials, labels) - path_score(self.potentials, others)
        difference = float(scores[0])
        total = sum(term.value for term in terms)
        size = sum(abs(term.value) for term in terms)
        if abs(total - difference) > 1e-4 * (1 + size):  # scores are of single precision
            raise ValueError(Errors.HS147.format(total=total, expected=difference))
        terms = [term for term in terms if term.value]
        return difference, sorted(terms, key=lambda term: -abs(term.value))


def _structure(one: Potentials, labels: Labels, names: Sequence[str], *, is_chunk: bool) -> Pieces:
    """Terms of transitions, patterns and configurations in the score of a sentence's labels.
    is_chunk (bool): labels are tags of chunks."""
    pieces: Pieces = defaultdict(float)
    for t in range(1, len(labels)):
        a, b = labels[t - 1 : t + 1].tolist()
        pair = transition(names[a], names[b], is_chunk=is_chunk)
        pieces["transition", pair, t] += float(one.trans[a, b])
        if one.edge_scores is not None:
            pieces["transition", f"{pair}, by these words", t] += float(one.edge_scores[t, a, b])
    trie = one.weights.trie
    places = trie.occurrences(labels, one.lengths)
    for node, token in zip(places.nodes.tolist(), places.tokens.tolist(), strict=True):
        pattern = " ".join(names[y] for y in trie.string(node))
        pieces["pattern", pattern, token] += float(one.weights.node_weights[node])
    for pattern, token, weight in _by_rules(one, labels, names):
        pieces["pattern", f"{pattern}, by a rule", token] += weight
    return pieces


def _by_rules(
    one: Potentials, labels: Labels, names: Sequence[str]
) -> Iterator[tuple[str, int, float]]:
    """Patterns that the text makes fire: their labels, the last word and the weight."""
    fired = one.fired
    if fired is not None:
        trie = one.weights.trie
        sequence = np.zeros(len(labels), np.intp)
        # the text makes a pattern fire; it counts where the labels match, too
        fires = matching(fired, trie, sequence, lambda token, label: labels[token] == label)
        for i in np.flatnonzero(fires).tolist():
            pattern = " ".join(names[y] for y in trie.string(int(fired.nodes[i])))
            yield pattern, int(fired.tokens[i]), float(fired.weights[i])
    spans = one.configurations
    if spans is not None:
        ends = np.cumsum(spans.sizes)
        for i in np.flatnonzero(spans.matched(labels)).tolist():
            rows = spans.sets[spans.slots[ends[i] - spans.sizes[i] : ends[i]]]
            pattern = " ".join(_set_name(row, names) for row in rows)
            yield pattern, int(spans.last[i]), float(spans.weights[i])


def _set_name(row: Mask, names: Sequence[str]) -> str:
    """A set of labels in words: "*" = all of them."""
    labels = [names[y] for y in np.flatnonzero(row).tolist()]
    if len(labels) == len(names):
        return "*"
    if len(labels) == 1:
        return labels[0]
    return f"{{{','.join(labels[:6])}}}"
