"""Why a label or a chunk, and not what comes next: the terms of score(x, y) - score(x, y').

y is the best labelling of the sentence that decides so, y' the best one that decides otherwise:

    score(x, y) - score(x, y') = sum of features + transitions + label patterns + configurations

Weights of named features, in which alone the two differ, add up to what the decoder saw: a
difference of max-marginals. All y' of a text are found together (`Reading.labellings`). Of a
bidirectional tagger the terms are those of the classifier that decided, given the neighbours
decided before. Checked against enumeration in tests/inspection/test_explanation.py.
"""

from typing import (
    Any,
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

from ..arrays import Floats, Ints, Labels, Mask
from ..chunks import LETTERS, OUTSIDE, grammar
from ..decoders import best_labels
from ..decoders.problem import NoPath, Potentials, matching, path_score
from ..errors import Errors
from ..features.keys import LABEL
from ..layers.local.classifiers import shim_of
from ..layers.named_features import Feature, Names
from ..layers.scorer import scorer_of
from .reading import Decisions, Reading, ReadTexts, own_component, own_components, stages, sums_of
from .spans import chunk_probabilities, type_probabilities

OTHERWISE = "(otherwise)"  # of what the other labelling has
ROUNDING = 1e-4  # of scores in single precision, and of how large they are
ALTERNATIVES = 6  # labels
LEAST = 0.001  # probability of an alternative that is said
NO_CHUNK = "no chunk of exactly these words"
ANOTHER = "another label that can stand there"
Piece = Tuple[str, str, int, float]  # kind, name, place in the sentence, value


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
    RAISES ValueError [HS141]: no word; [HS142]: it decides nothing label by label; [HS146]: a label
    that is none, or nothing else can stand there.
    """
    if own_component(pipe).knows != "sums":
        (one,) = _of_decisions(Decisions(pipe, [doc]), [token], against, reasons=True)
    else:
        reading = Reading(pipe, [doc])
        (one,) = of_words(reading, [reading.word(0, token)], against)
    return _required(one)


def explain_span(pipe: Any, span: Span, against: Optional[str] = None) -> Explanation:
    """Why a chunk is there, or is not. span: with its label. against (str): compare with a chunk of
    this label over the same tokens, "O" = with none there; None = with the best labelling without
    this chunk, or, if the chunk was not found, with the best labelling.

    RAISES ValueError [HS140]: no chunker; [HS141, HS106]: as `span_certainties`; [HS146].
    """
    if not sums_of(pipe).target.of_spans:
        raise ValueError(Errors.HS140.format(name=pipe.name, kind=type(pipe).__name__))
    (one,) = of_chunks(Reading(pipe, [span.doc]), [(span.start, span.end, span.label_)], against)
    return _required(one)


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
    without terms, and what they compare. RAISES ValueError [HS141, HS142, HS146] as `explain`."""
    if own_component(pipe).knows != "sums":
        return _of_decisions(Decisions(pipe, [doc]), _words(doc, tokens), against, reasons=reasons)
    reading = Reading(pipe, [doc])
    if not reading.target.of_spans:
        words = [reading.word(0, token) for token in _words(doc, tokens)]
        return of_words(reading, words, against, reasons=reasons)
    asked = None if tokens is None else set(tokens)
    chunks = [
        chunk
        for chunk in reading.items(0)
        if chunk[2] in reading.pipe.labels  # (others can have been written by another component)
        and (asked is None or asked & set(range(*chunk[:2])))
    ]
    return of_chunks(reading, chunks, against, reasons=reasons)


def explained(nlp: Language, names: Optional[Sequence[str]] = None) -> List[str]:
    """Components of a pipeline whose decisions can be explained: those of these names, or all that
    do more than to find sentences. RAISES ValueError [HS142]: it makes no decisions one by one;
    [HS152]: there is no such component."""
    own = own_components(nlp, names or ())
    silent = [name for name, pipe in own.items() if pipe.knows == "labels"]
    if silent and (names or len(silent) == len(own)):
        strategy = own[silent[0]].cfg["strategy"]
        raise ValueError(Errors.HS142.format(name=silent[0], strategy=strategy))
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
    *,
    reasons: bool = True,
) -> Iterator[Tuple[Doc, Explanation]]:
    """Each decision of some components, with the Doc whose tokens it speaks of. doc, seen: as of
    `annotated`. tokens: of `doc`; those that a component has seen are found by their characters.
    RAISES ValueError as `explanations`."""
    for name, given in seen.items():
        asked = tokens
        if tokens is not None and len(given) != len(doc):
            spans = [_span(given, doc, token) for token in tokens]
            asked = list(dict.fromkeys(i for span in spans for i in range(span.start, span.end)))
        pipe = nlp.get_pipe(name)
        for one in explanations(pipe, given, asked, against=against, reasons=reasons):
            yield given, one


def as_data(one: Explanation, doc: Doc) -> Dict[str, Any]:
    """For JSON, numbers rounded. doc: whose tokens it speaks of."""
    data = one._asdict()
    data["terms"] = [
        {**term._asdict(), "value": round(term.value, 5), "at": doc[term.token].text}
        for term in one.terms
    ]
    data["alternatives"] = [[label, round(p, 5)] for label, p in one.alternatives]
    numbers = {key: round(value, 5) for key, value in data.items() if isinstance(value, float)}
    return {**data, **numbers}


def _span(given: Doc, doc: Doc, token: int) -> Span:
    """What another Doc of the same text has in place of a token. RAISES ValueError [HS141]."""
    if not 0 <= token < len(doc):
        raise ValueError(Errors.HS141.format(token=token, n=len(doc)))
    start = doc[token].idx
    return given.char_span(start, start + len(doc[token]), alignment_mode="expand")


def of_words(
    reading: Reading, words: List[int], against: Optional[str] = None, *, reasons: bool = True
) -> Iterator[Explanation]:
    """Of some words of a reading, each when it is asked for. RAISES ValueError [HS146]: no such
    label."""
    here = np.array(words, np.intp)
    labels = reading.best[here].astype(np.intp)
    ranking = reading.best_with[here] if reasons else np.zeros((len(here), 0))
    others, compared = _others(ranking, labels, reading.labels, against)
    found = reading.labellings(here[compared], others[compared])
    rows = iter(found)
    for word, label, other, is_compared in zip(words, labels, others, compared, strict=True):
        p = reading.posterior.nodes[word]
        one = _decision(reading, word, int(label), p)
        if is_compared:
            one = one._replace(against=reading.labels[other], p_against=float(p[other]))
            sentence = reading.sentence(word)
            best = reading.best[sentence.start : sentence.stop]
            one = _compared(reading, word, one, best, next(rows))
        yield one


def of_chunks(
    reading: Reading,
    chunks: Sequence[Tuple[int, int, str]],
    against: Optional[str] = None,
    *,
    reasons: bool = True,
    text: int = 0,
) -> Iterator[Explanation]:
    """Of some chunks of one Doc of a reading. RAISES ValueError [HS146]: no such label."""
    doc = reading.texts[text]
    types = list(reading.pipe.labels)
    for name in [against, *(label for _, _, label in chunks)]:
        if name not in (*types, OUTSIDE, None):
            raise ValueError(Errors.HS146.format(label=name, known=", ".join(types)))
    places = np.array([reading.span(text, a, b) for a, b, _ in chunks], np.intp).reshape(-1, 2)
    of_types = type_probabilities(reading, *places.T)
    for (first, end, label), (word, size), p in zip(
        chunks, places.tolist(), of_types.T, strict=True
    ):
        none = max(0.0, 1.0 - float(p.sum()))
        shown = np.append(p, none)
        at = types.index(label)
        alternatives = _alternatives(shown, at, [*types, NO_CHUNK])
        said = doc[first:end].text
        one = Explanation(reading.pipe.name, first, end, said, label, float(p[at]), alternatives)
        if reasons:
            labels, others = _chunk_labellings(reading, word, size, label, against)
            p_against = 1.0 - float(p[at])
            if against == OUTSIDE:
                (row,) = chunk_probabilities(reading, np.array([word]), np.array([size]), [label])
                p_against = 1.0 - float(row[2])
            elif against is not None:
                p_against = float(p[types.index(against)])
            place = word - reading.sentence(word).start
            other = " ".join(reading.labels[y] for y in others[place : place + size].tolist())
            one = one._replace(against=against or other, p_against=p_against)
            one = _compared(reading, word, one, labels, others)
        yield one


def _of_decisions(
    decisions: Decisions, tokens: Iterable[int], against: Optional[str], *, reasons: bool
) -> Iterator[Explanation]:
    names = decisions.labels
    for token in tokens:
        word = decisions.word(0, token)
        log_p = decisions.log_probabilities[word]
        label = int(decisions.best[word])
        one = _decision(decisions, word, label, np.exp(log_p))
        one = one._replace(turn=int(decisions.turns[word]))
        others, compared = _others(log_p[None], np.array([label]), names, against)
        if reasons and compared[0]:
            other = int(others[0])
            values = [
                (f, float(f.weights[label] - f.weights[other])) for f in _fired(decisions, word)
            ]
            difference = float(log_p[label] - log_p[other])
            terms = [Term("feature", feature.name, token, value) for feature, value in values]
            known = [
                slot for slot in range(len(decisions.offsets)) if _is_known(decisions, word, slot)
            ]
            near = [word, *(word + decisions.offsets[slot] for slot in known)]
            shown = range(min(near), max(near) + 1)
            labels = [names[decisions.best[w]] if w in near else "" for w in shown]
            one = one._replace(
                against=names[other],
                p_against=float(np.exp(log_p[other])),
                difference=difference,
                terms=_adding_up(terms, difference),
                start=int(decisions.token_of[shown.start]),
                labels=labels,
                others=[
                    names[other] if w == word else name
                    for w, name in zip(shown, labels, strict=True)
                ],
            )
        yield one


def _words(doc: Doc, tokens: Optional[Iterable[int]]) -> List[int]:
    return [token.i for token in doc if not token.is_space] if tokens is None else list(tokens)


def _required(one: Explanation) -> Explanation:
    """RAISES ValueError [HS146]: there is nothing to compare with."""
    if not one.against:
        raise ValueError(Errors.HS146.format(label=one.label, known=ANOTHER))
    return one


def _decision(reading: ReadTexts, word: int, label: int, p: Floats) -> Explanation:
    token = int(reading.token_of[word])
    alternatives = _alternatives(p, label, reading.labels)
    name = reading.labels[label]
    said = reading.text(word)
    return Explanation(
        reading.pipe.name, token, token + 1, said, name, float(p[label]), alternatives
    )


def _alternatives(p: Floats, label: int, names: Sequence[str]) -> List[Tuple[str, float]]:
    order = np.argsort(-p, kind="stable")[:ALTERNATIVES].tolist()
    order = [y for y in order if p[y] >= LEAST or y == label]
    order = order if label in order else [*order, label]
    return [(names[y], float(p[y])) for y in order]


def _others(
    ranking: Floats, labels: Ints, names: Sequence[str], against: Optional[str]
) -> Tuple[Ints, Mask]:
    """The label that each one is compared with (M,), and whether there is one (M,). ranking (M, L),
    L = 0: nothing is compared. RAISES ValueError [HS146]: `against` is no label, or cannot stand
    there."""
    if not ranking.size:
        return labels, np.zeros(len(labels), bool)
    each = np.arange(len(labels))
    if against is None:
        rest = ranking.copy()
        rest[each, labels] = -np.inf
        others = rest.argmax(axis=1)
        return others, np.isfinite(rest[each, others])
    if against not in names:
        raise ValueError(Errors.HS146.format(label=against, known=", ".join(names)))
    others = np.full(len(labels), names.index(against))
    if (others == labels).any() or not np.isfinite(ranking[each, others]).all():
        raise ValueError(Errors.HS146.format(label=against, known=ANOTHER))
    return others, np.ones(len(labels), bool)


def _chunk_labellings(
    reading: Reading, word: int, size: int, label: str, against: Optional[str]
) -> Tuple[Labels, Labels]:
    """y, the best labelling that has exactly this chunk, and y'. RAISES ValueError [HS146]: there
    is none."""
    sentence = reading.sentence(word)
    best = reading.best[sentence.start : sentence.stop]
    labels = _with_chunk(reading, word, size, label)
    if against is not None:
        return labels, _with_chunk(reading, word, size, against)
    if (labels != best).any():
        return labels, best
    # another tag at one of its words, or the chunk goes on: the best of these is that of the
    # largest max-marginal
    words = range(word, min(word + size + 1, sentence.stop))
    scores = reading.best_with[words.start : words.stop].copy()
    scores[np.arange(size), best[word - sentence.start :][:size]] = -np.inf
    scores[size:, _first_tags(reading)] = -np.inf
    at, other = np.unravel_index(scores.argmax(), scores.shape)
    if scores[at, other] == -np.inf:
        raise ValueError(Errors.HS146.format(label=OUTSIDE, known="a chunk that need not be there"))
    (others,) = reading.labellings(np.array([words[int(at)]]), np.array([other]))
    return labels, others


def _first_tags(reading: Reading) -> Mask:
    """Tags before which a chunk ends (L,)."""
    return grammar(reading.labels, str(reading.target.representation)).first


def _with_chunk(reading: Reading, word: int, size: int, label: str) -> Labels:
    """The best labelling that has exactly this chunk; "O": none over these words. RAISES ValueError
    [HS146]: it cannot stand there."""
    only, start, middle, last = list(LETTERS[str(reading.target.representation)])
    letters = [only] if size == 1 else [start, *[middle] * (size - 2), last]
    tags = [OUTSIDE] * size if label == OUTSIDE else [f"{letter}-{label}" for letter in letters]
    ids = np.array([reading.labels.index(tag) for tag in tags])
    one = _potentials(reading, word)
    at = word - reading.sentence(word).start
    allowed: Mask = np.ones(one.scores.shape, bool)
    allowed[at : at + size] = ids[:, None] == np.arange(len(reading.labels))
    allowed[at + size : at + size + 1] = _first_tags(reading)
    try:
        return best_labels(one.permitting(allowed))
    except NoPath as error:
        known = "a chunk that can stand there"
        raise ValueError(Errors.HS146.format(label=label, known=known)) from error


def _potentials(reading: Reading, word: int) -> Potentials:
    """The sentence of a word as a batch of its own."""
    return reading.potentials.select(reading.sentence_of[[word]]).potentials


def _compared(
    reading: Reading, word: int, one: Explanation, labels: Labels, others: Labels
) -> Explanation:
    """With the terms of score(y) - score(y')."""
    sentence = reading.sentence(word)
    potentials = _potentials(reading, word)
    terms = []
    for i in np.flatnonzero(labels != others).tolist():
        token = int(reading.token_of[sentence[i]])
        for feature in reading.features(sentence[i]):
            value = float(feature.weights[labels[i]] - feature.weights[others[i]])
            terms.append(Term("feature", feature.name, token, value))
    for kind, name, place, value in _structure(potentials, labels, others, reading.labels):
        terms.append(Term(kind, name, int(reading.token_of[sentence[place]]), value))
    difference = float((path_score(potentials, labels) - path_score(potentials, others))[0])
    return one._replace(
        difference=difference,
        terms=_adding_up(terms, difference),
        start=int(reading.token_of[sentence.start]),
        labels=[reading.labels[y] for y in labels.tolist()],
        others=[reading.labels[y] for y in others.tolist()],
    )


def _adding_up(terms: List[Term], expected: float) -> List[Term]:
    """Those that are not 0, the weightiest first. RAISES ValueError [HS147]: they do not add up,
    which is an error of this package."""
    total = sum(term.value for term in terms)
    size = sum(abs(term.value) for term in terms)
    if abs(total - expected) > ROUNDING * (1 + size):
        raise ValueError(Errors.HS147.format(total=total, expected=expected))
    return sorted((term for term in terms if term.value), key=lambda term: -abs(term.value))


def _structure(
    one: Potentials, labels: Labels, others: Labels, names: Sequence[str]
) -> List[Piece]:
    """What transitions, patterns and configurations add to the difference. What only y' has is said
    to be so."""
    totals: Dict[Tuple[str, str, int], float] = {}
    own = {(kind, name, place) for kind, name, place, _ in _pieces(one, labels, others, names)}
    for sign, pair in ((1.0, (labels, others)), (-1.0, (others, labels))):
        for kind, name, place, value in _pieces(one, *pair, names):
            key = kind, name, place
            totals[key] = totals.get(key, 0.0) + sign * value
    return [
        (kind, name if (kind, name, place) in own else f"{name} {OTHERWISE}", place, value)
        for (kind, name, place), value in totals.items()
        if value
    ]


def _pieces(
    one: Potentials, labels: Labels, others: Labels, names: Sequence[str]
) -> Iterator[Piece]:
    """What fires on a labelling of one sentence, but for transitions that another one has, too."""
    differs = labels != others
    for t in (np.flatnonzero(differs[1:] | differs[:-1]) + 1).tolist():
        a = int(labels[t - 1])
        b = int(labels[t])
        yield "transition", f"{names[a]} {names[b]}", t, float(one.trans[a, b])
        if one.edge_scores is not None:
            score = float(one.edge_scores[t, a, b])
            yield "transition", f"{names[a]} {names[b]}, by these words", t, score
    trie = one.weights.trie
    if one.weights.has_patterns:
        places = trie.occurrences(labels, one.lengths)
        for token, node in zip(places.tokens.tolist(), places.nodes.tolist(), strict=True):
            weight = float(one.weights.node_weights[node])
            yield "pattern", " ".join(names[y] for y in trie.string(node)), token, weight
    fired = one.fired
    if fired is not None:
        sequence = np.zeros(len(labels), np.intp)
        fires = matching(fired, trie, sequence, lambda token, label: labels[token] == label)
        for i in np.flatnonzero(fires).tolist():
            said = " ".join(names[y] for y in trie.string(int(fired.nodes[i])))
            yield "pattern", f"{said}, by a rule", int(fired.tokens[i]), float(fired.weights[i])
    configurations = one.configurations
    if configurations is not None:
        starts = np.cumsum(configurations.sizes) - configurations.sizes
        for i in np.flatnonzero(configurations.matched(labels)).tolist():
            slots = configurations.slots[starts[i] : starts[i] + configurations.sizes[i]]
            sets = [_set(np.flatnonzero(configurations.sets[slot]), names) for slot in slots]
            last = int(configurations.last[i])
            weight = float(configurations.weights[i])
            yield "pattern", f"{' '.join(sets)}, by a rule", last, weight


def _set(ids: Ints, names: Sequence[str]) -> str:
    if len(ids) == len(names):
        return "*"
    return names[ids[0]] if len(ids) == 1 else "{" + ",".join(names[y] for y in ids[:6]) + "}"


def _is_known(decisions: Decisions, word: int, slot: int) -> bool:
    """Whether the neighbour in a slot is a word, decided before."""
    is_visible = bool(decisions.visible[word] >> slot & 1)
    return is_visible and decisions.contexts[word, slot] < len(decisions.labels)


def _fired(decisions: Decisions, word: int) -> List[Feature]:
    """The features of the classifier that was asked; their weights add up to its scores."""
    shim = shim_of(decisions.pipe.model)
    stacked = shim.stacked()
    names = Names(decisions.docs)
    visible = int(decisions.visible[word])
    context = decisions.contexts[word]
    slot_of = {offset: slot for slot, offset in enumerate(decisions.offsets)}
    labels = [*decisions.labels, "<s>", "</s>"]
    scorer = scorer_of(decisions.pipe.model)
    features = []
    for parts, number in scorer.features.fired(
        decisions.docs, word, context, visible, shim.values(), shim.keys()
    ):
        weights = stacked.table[stacked.rows[visible, number]].astype(np.float64)
        if weights.any():
            given = [part for part in parts if part.attribute == LABEL]
            said = {part: labels[int(context[slot_of[part.offset]])] for part in given}
            features.append(names.feature(parts, word, weights, said))
    return features
