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
from contextlib import suppress
from typing import (
    Any,
    DefaultDict,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..arrays import Floats, Labels, Mask
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
Chunk = Tuple[int, int, str]  # tokens first <= i < end, and the label
Pieces = DefaultDict[Tuple[str, str, int], float]  # value by kind, name, place in the sentence


class Term(NamedTuple):
    """One reason. kind: "feature", "transition" or "pattern". name: in words. token: where it is,
    of the Doc. value: what it adds to the difference; above 0 speaks for the label."""

    kind: str
    name: str
    token: int
    value: float


class Explanation(NamedTuple):
    """Of one decision.

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
    alternatives: List[Tuple[str, float]]
    turn: int = 0
    against: str = ""
    p_against: float = 0.0
    difference: float = 0.0
    terms: Sequence[Term] = ()
    start: int = 0
    labels: Sequence[str] = ()
    others: Sequence[str] = ()


def explain(pipe: object, doc: Doc, token: int, against: Optional[str] = None) -> Explanation:
    """Why a token has its label, as the pipeline sets it. pipe: a component of this package; of a
    `hoseq_chunker` labels are tags.

    doc: with what earlier components have set. against (str): a label to compare with; None = that
    of the next best labelling.
    RAISES ValueError [HS140]: it decides nothing label by label; [HS141]: no word; [HS161]: a label
    that is none, or nothing else can stand there.
    """
    return _required(_of_words(reading_of(pipe, [doc]), [token], against, reasons=True))


def explain_span(pipe: Any, span: Span, against: Optional[str] = None) -> Explanation:
    """Why a chunk is there, or is not. span: with its label. against (str): compare with a chunk of
    this label over the same tokens, "O" = with none there; None = with the best labelling without
    this chunk, or, if the chunk was not found, with the best labelling.

    RAISES ValueError [HS140]: no chunker; [HS141, HS106]: as `span_certainties`; [HS161].
    """
    if not sums_of(pipe).target.of_spans:
        raise ValueError(Errors.HS140.format(name=pipe.name, kind=type(pipe).__name__))
    chunk = (span.start, span.end, span.label_)
    return _required(_of_chunks(Reading(pipe, [span.doc]), [chunk], against, reasons=True))


def explanations(
    pipe: object,
    doc: Doc,
    tokens: Optional[Iterable[int]] = None,
    *,
    against: Optional[str] = None,
    reasons: bool = True,
) -> Iterator[Explanation]:
    """Of each word of a Doc, or of each chunk that was found; tokens: of these, or of the chunks
    that have one of them. pipe: of the pipeline that has annotated the Doc. reasons (bool): False =
    without terms, and what they compare. RAISES ValueError [HS140, HS141, HS161] as `explain`."""
    words = [token.i for token in doc if not token.is_space] if tokens is None else list(tokens)
    reading = reading_of(pipe, [doc])
    if not reading.target.of_spans:
        return _of_words(reading, words, against, reasons=reasons)
    chunks = [
        (start, end, label)
        for start, end, label in reading.items(0)
        if label in reading.pipe.labels  # (others can have been written by another component)
        and not set(words).isdisjoint(range(start, end))
    ]
    return _of_chunks(reading, chunks, against, reasons=reasons)


def explained(nlp: Language, names: Optional[Sequence[str]] = None) -> List[str]:
    """Components of a pipeline whose decisions can be explained: those of these names, or all that
    do more than to find sentences. RAISES ValueError [HS140]: it makes no decisions one by one;
    [HS152]: there is no such component."""
    own = own_components(nlp, names or ())
    silent = [name for name, pipe in own.items() if pipe.knows == "labels"]
    if silent and (names or len(silent) == len(own)):
        strategy = own[silent[0]].cfg["strategy"]
        kind = f'the strategy "{strategy}"'
        raise ValueError(Errors.HS140.format(name=silent[0], kind=kind))
    return [name for name in own if name not in silent]


def annotated(nlp: Language, doc: Doc, names: Sequence[str]) -> Tuple[Doc, Dict[str, Doc]]:
    """The Doc as the pipeline annotates it, and, of each of these components, with the tokens that
    it has seen: later components may merge or split them."""
    seen: Dict[str, Doc] = {}
    before = ""
    for name, _, (now,) in stages(nlp, [doc]):
        if before in names:
            seen[before] = now.copy()
        before = name
    return now, seen


def decisions(
    nlp: Language,
    doc: Doc,
    seen: Mapping[str, Doc],
    tokens: Optional[Sequence[int]] = None,
    against: Optional[str] = None,
) -> Iterator[Tuple[Doc, Explanation]]:
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


def as_data(one: Explanation, doc: Doc) -> Dict[str, Any]:
    """For JSON, numbers rounded. doc: whose tokens it speaks of."""
    data = one._asdict()
    data["terms"] = [{**term._asdict(), "at": doc[term.token].text} for term in one.terms]
    return json.loads(json.dumps(data), parse_float=lambda digits: round(float(digits), DIGITS))


def _places(given: Doc, doc: Doc, token: int) -> range:
    """What another Doc of the same text has in place of a token. RAISES ValueError [HS141]."""
    if not 0 <= token < len(doc):
        raise ValueError(Errors.HS141.format(token=token, n=len(doc)))
    start = doc[token].idx
    span = given.char_span(start, start + len(doc[token]), alignment_mode="expand") or given[:0]
    return range(span.start, span.end)


def _required(found: Iterator[Explanation]) -> Explanation:
    """RAISES ValueError [HS161]: there is nothing to compare with."""
    (one,) = found
    if not one.against:
        raise ValueError(Errors.HS161.format(name=one.label, known=ANOTHER))
    return one


class _Sentence:
    """The sentence of a word. at: the place of the word. best: its best labelling."""

    def __init__(self, reading: Reading, word: int) -> None:
        self.words = reading.sentence(word)
        self.at = word - self.words.start
        self.best = reading.best[self.words.start : self.words.stop]
        self.potentials = reading.potentials.select(reading.sentence_of[[word]]).potentials

    def best_with(self, allowed: Mask, skip: int = 0) -> Optional[Labels]:
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


def _of_words(
    reading: Reading, tokens: Iterable[int], against: Optional[str], *, reasons: bool
) -> Iterator[Explanation]:
    """Of some tokens of the first Doc, each when it is asked for."""
    names = np.array(reading.labels)
    for token in tokens:
        word = reading.word(0, token)
        label = reading.best[word]
        p = reading.posterior.nodes[word]
        turn = 0 if reading.turns is None else int(reading.turns[word])
        one = _decided(reading, (token, token + 1, names[label]), p, reading.labels)
        one = one._replace(turn=turn)
        if reasons:
            sentence = _Sentence(reading, word)
            wanted = np.arange(len(names)) != label
            wanted &= (against is None) | (names == against)
            others = sentence.best_with(wanted[None])
            if others is not None:
                y = others[sentence.at]
                one = one._replace(against=reading.labels[y], p_against=float(p[y]))
                one = _compared(reading, sentence, one, sentence.best, others)
            elif against is not None:
                known = ANOTHER if against in reading.labels else ", ".join(reading.labels)
                raise ValueError(Errors.HS161.format(name=against, known=known))
        yield one


def _of_chunks(
    reading: Reading, chunks: Sequence[Chunk], against: Optional[str], *, reasons: bool
) -> Iterator[Explanation]:
    """Of some chunks of the first Doc."""
    types = list(reading.pipe.labels)
    for name in [*filter(None, [against]), *(label for _, _, label in chunks)]:
        if name not in (*types, OUTSIDE):
            raise ValueError(Errors.HS161.format(name=name, known=", ".join(types)))
    for chunk in chunks:
        word, size = reading.span(0, *chunk[:2])
        place = np.array([word]), np.array([size])
        p = type_probabilities(reading, *place)[:, 0]
        one = _decided(reading, chunk, np.append(p, max(0.0, 1.0 - p.sum())), [*types, NO_CHUNK])
        if reasons:
            sentence = _Sentence(reading, word)
            labels = _with_chunk(reading, sentence, size, chunk[2])
            if against is None:
                others = _without_chunk(reading, sentence, size, labels)
                said = [reading.labels[y] for y in others[sentence.at :][:size].tolist()]
                one = one._replace(against=" ".join(said), p_against=1.0 - one.p)
            else:
                others = _with_chunk(reading, sentence, size, against)
                outside = np.full(size, reading.labels.index(OUTSIDE))
                of_none = reading.posterior.segments(*place, outside)
                p_against = dict(zip([*types, OUTSIDE], [*p, *of_none], strict=True))[against]
                one = one._replace(against=against, p_against=float(p_against))
            one = _compared(reading, sentence, one, labels, others)
        yield one


def _decided(reading: Reading, item: Chunk, p: Floats, names: Sequence[str]) -> Explanation:
    """Without reasons. item: tokens and label. p: of what can have been decided, by these names."""
    start, end, name = item
    label = list(names).index(name)
    order = np.argsort(-p, kind="stable")[:ALTERNATIVES].tolist()
    order = [y for y in order if p[y] >= LEAST or y == label]
    order = order if label in order else [*order, label]
    alternatives = [(names[y], float(p[y])) for y in order]
    text = reading.texts[0][start:end].text
    return Explanation(
        reading.pipe.name, start, end, text, names[label], float(p[label]), alternatives
    )


def _with_chunk(reading: Reading, sentence: _Sentence, size: int, label: str) -> Labels:
    """The best labelling that has exactly this chunk; "O": none over these words. RAISES ValueError
    [HS161]: it cannot stand there."""
    ids = np.full(size, reading.labels.index(OUTSIDE))
    if label != OUTSIDE:
        tags = growing_tags(tuple(reading.labels), str(reading.target.representation))
        ids = tags.whole(np.array([tags.types.index(label)]), size)[0]
    exactly: Mask = ids[:, None] == np.arange(len(reading.labels))
    found = sentence.best_with(np.append(exactly, _first_tags(reading)[None], axis=0))
    if found is None:
        raise ValueError(Errors.HS161.format(name=label, known="a chunk that can stand there"))
    return found


def _without_chunk(reading: Reading, sentence: _Sentence, size: int, labels: Labels) -> Labels:
    """The best labelling without a chunk that `labels` have. RAISES ValueError [HS161]: there is
    none."""
    if (labels != sentence.best).any():
        return sentence.best
    # another tag at one of its words, or the chunk goes on
    others = labels[sentence.at :][:size, None] != np.arange(len(reading.labels))
    rows = [*others, ~_first_tags(reading)][: len(labels) - sentence.at]
    candidates = [sentence.best_with(row[None], skip) for skip, row in enumerate(rows)]
    found = [each for each in candidates if each is not None]
    if not found:
        raise ValueError(Errors.HS161.format(name=OUTSIDE, known="a chunk that need not be there"))
    return max(found, key=lambda each: path_score(sentence.potentials, each)[0])


def _first_tags(reading: Reading) -> Mask:
    """Tags before which a chunk ends (L,)."""
    return grammar(reading.labels, str(reading.target.representation)).first


def _compared(
    reading: Reading, sentence: _Sentence, one: Explanation, labels: Labels, others: Labels
) -> Explanation:
    """With the terms of score(y) - score(y')."""
    first = sentence.words.start
    tokens = reading.token_of[first : sentence.words.stop].tolist()
    terms = [
        Term("feature", f.name, tokens[i], float(f.weights[labels[i]] - f.weights[others[i]]))
        for i in np.flatnonzero(labels != others).tolist()
        for f in reading.features(first + i)
    ]
    potentials = sentence.potentials
    own, other = (_structure(potentials, each, reading.labels) for each in (labels, others))
    for kind, name, place in {**own, **other}:
        key = (kind, name, place)
        said = name if key in own else f"{name} {OTHERWISE}"
        terms.append(Term(kind, said, tokens[place], own.get(key, 0.0) - other.get(key, 0.0)))
    difference = float((path_score(potentials, labels) - path_score(potentials, others))[0])
    total = sum(term.value for term in terms)
    size = sum(abs(term.value) for term in terms)
    if abs(total - difference) > ROUNDING * (1 + size):  # an error of this package
        raise ValueError(Errors.HS147.format(total=total, expected=difference))
    return one._replace(
        difference=difference,
        terms=sorted((term for term in terms if term.value), key=lambda term: -abs(term.value)),
        start=tokens[0],
        labels=[reading.labels[y] for y in labels.tolist()],
        others=[reading.labels[y] for y in others.tolist()],
    )


def _structure(one: Potentials, labels: Labels, names: Sequence[str]) -> Pieces:
    """What transitions, patterns and configurations add to the score of a sentence's labels."""
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
) -> Iterator[Tuple[str, int, float]]:
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
