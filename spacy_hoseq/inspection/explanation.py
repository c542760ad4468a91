"""Why a label or a chunk, and not what comes next: the terms of score(x, y) - score(x, y').

y is the best labelling of the sentence that decides so, y' the best one that decides otherwise:

    score(x, y) - score(x, y') = sum of features + transitions + label patterns + configurations

Weights of named features, in which alone the two differ, add up to what the decoder saw: a
difference of max-marginals. All y' of a text are found together (`Reading.labellings`). Of a
bidirectional tagger the terms are those of the classifier that decided, given the neighbours
decided before. Checked against enumeration in tests/inspection/test_explanation.py.
"""

import json
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
from ..layers.local_classifiers import shim_of
from ..layers.scorer import Feature, Names, scorer_of
from .certainty import chunk_probabilities, type_probabilities
from .reading import Decisions, Reading, ReadTexts, own_component, own_components, stages, sums_of

OTHERWISE = "(otherwise)"  # of what the other labelling has
ROUNDING = 1e-4  # of scores in single precision, and of how large they are
ALTERNATIVES = 6  # labels
LEAST = 0.001  # probability of an alternative that is said
DIGITS = 5  # of numbers in JSON
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
    RAISES ValueError [HS141]: no word; [HS140]: it decides nothing label by label; [HS161]: a label
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

    RAISES ValueError [HS140]: no chunker; [HS141, HS106]: as `span_certainties`; [HS161].
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
    without terms, and what they compare. RAISES ValueError [HS141, HS140, HS161] as `explain`."""
    words = [token.i for token in doc if not token.is_space] if tokens is None else list(tokens)
    if own_component(pipe).knows != "sums":
        return _of_decisions(Decisions(pipe, [doc]), words, against, reasons=reasons)
    reading = Reading(pipe, [doc])
    if not reading.target.of_spans:
        places = [reading.word(0, token) for token in words]
        return of_words(reading, places, against, reasons=reasons)
    chunks = [
        (start, end, label)
        for start, end, label in reading.items(0)
        if label in reading.pipe.labels  # (others can have been written by another component)
        and not set(words).isdisjoint(range(start, end))
    ]
    return of_chunks(reading, chunks, against, reasons=reasons)


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
    data["terms"] = [{**term._asdict(), "at": doc[term.token].text} for term in one.terms]
    return json.loads(json.dumps(data), parse_float=lambda digits: round(float(digits), DIGITS))


def _span(given: Doc, doc: Doc, token: int) -> Span:
    """What another Doc of the same text has in place of a token. RAISES ValueError [HS141]."""
    if not 0 <= token < len(doc):
        raise ValueError(Errors.HS141.format(token=token, n=len(doc)))
    start = doc[token].idx
    return given.char_span(start, start + len(doc[token]), alignment_mode="expand") or given[:0]


def of_words(
    reading: Reading, words: List[int], against: Optional[str] = None, *, reasons: bool = True
) -> Iterator[Explanation]:
    """Of some words of a reading, each when it is asked for. RAISES ValueError [HS161]: no such
    label."""
    here = np.array(words, np.intp)
    labels = reading.best[here].astype(np.intp)
    compared = np.zeros(len(here), bool)
    if reasons:
        others, compared = _others(reading.best_with[here], labels, reading.labels, against)
        found = iter(reading.labellings(here[compared], others[compared]))
    for i, word in enumerate(words):
        p = reading.posterior.nodes[word]
        one = _decision(reading, word, int(labels[i]), p)
        if compared[i]:
            other = int(others[i])
            one = one._replace(against=reading.labels[other], p_against=float(p[other]))
            one = _compared(reading, word, one, _best(reading, word), next(found))
        yield one


def of_chunks(
    reading: Reading,
    chunks: Sequence[Tuple[int, int, str]],
    against: Optional[str] = None,
    *,
    reasons: bool = True,
) -> Iterator[Explanation]:
    """Of some chunks of the first Doc of a reading. RAISES ValueError [HS161]: no such label."""
    types = list(reading.pipe.labels)
    for name in [*filter(None, [against]), *(label for _, _, label in chunks)]:
        if name not in (*types, OUTSIDE):
            raise ValueError(Errors.HS161.format(name=name, known=", ".join(types)))
    places = np.array([reading.span(0, a, b) for a, b, _ in chunks], np.intp).reshape(-1, 2)
    first, sizes = places.T
    of_types = type_probabilities(reading, first, sizes)
    empty = (
        1.0 - chunk_probabilities(reading, first, sizes, [label for _, _, label in chunks])[:, 2]
    )
    for i, (start, end, label) in enumerate(chunks):
        of_label = dict(zip(types, of_types[:, i].tolist(), strict=True))
        p = of_label[label]
        shown = np.array([*of_label.values(), max(0.0, 1.0 - sum(of_label.values()))])
        alternatives = _alternatives(shown, types.index(label), [*types, NO_CHUNK])
        said = reading.texts[0][start:end].text
        one = Explanation(reading.pipe.name, start, end, said, label, p, alternatives)
        if reasons:
            of_label |= {OUTSIDE: float(empty[i])}
            word, size = places[i].tolist()
            labels, others = _chunk_labellings(reading, word, size, label, against)
            at = word - reading.sentence(word).start
            name = against or " ".join(reading.labels[y] for y in others[at : at + size].tolist())
            one = one._replace(against=name, p_against=of_label.get(against or "", 1.0 - p))
            one = _compared(reading, word, one, labels, others)
        yield one


def _of_decisions(
    decisions: Decisions, tokens: Iterable[int], against: Optional[str], *, reasons: bool
) -> Iterator[Explanation]:
    for token in tokens:
        word = decisions.word(0, token)
        log_p = decisions.log_probabilities[word]
        label = int(decisions.best[word])
        one = _decision(decisions, word, label, np.exp(log_p))
        one = one._replace(turn=int(decisions.turns[word]))
        names = decisions.labels
        (other,), (is_compared,) = _others(log_p[None], np.array([label]), names, against)
        if reasons and is_compared:
            difference = float(log_p[label] - log_p[other])
            terms = [
                Term("feature", f.name, token, float(f.weights[label] - f.weights[other]))
                for f in _fired(decisions, word)
            ]
            one = one._replace(
                against=names[other],
                p_against=float(np.exp(log_p[other])),
                difference=difference,
                terms=_adding_up(terms, difference),
                start=token,
                labels=[names[label]],
                others=[names[other]],
            )
        yield one


def _required(one: Explanation) -> Explanation:
    """RAISES ValueError [HS161]: there is nothing to compare with."""
    if not one.against:
        raise ValueError(Errors.HS161.format(name=one.label, known=ANOTHER))
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
    """The label that each one is compared with (M,), and whether there is one (M,). ranking (M, L):
    -inf where a label cannot stand. RAISES ValueError [HS161]: `against` is no label, or cannot
    stand there."""
    ranking = ranking.copy()
    ranking[np.arange(len(labels)), labels] = -np.inf
    if against is not None:
        if against not in names:
            raise ValueError(Errors.HS161.format(name=against, known=", ".join(names)))
        ranking[:, np.arange(len(names)) != list(names).index(against)] = -np.inf
    compared = np.isfinite(ranking.max(axis=1, initial=-np.inf))
    if against is not None and not compared.all():
        raise ValueError(Errors.HS161.format(name=against, known=ANOTHER))
    return ranking.argmax(axis=1), compared


def _best(reading: Reading, word: int) -> Labels:
    """The best labelling of its sentence."""
    sentence = reading.sentence(word)
    return reading.best[sentence.start : sentence.stop]


def _chunk_labellings(
    reading: Reading, word: int, size: int, label: str, against: Optional[str]
) -> Tuple[Labels, Labels]:
    """y, the best labelling that has exactly this chunk, and y'. RAISES ValueError [HS161]: there
    is none."""
    best = _best(reading, word)
    labels = _with_chunk(reading, word, size, label)
    if against is not None:
        return labels, _with_chunk(reading, word, size, against)
    if (labels != best).any():
        return labels, best
    # another tag at one of its words, or the chunk goes on: the best of these is that of the
    # largest max-marginal
    last = min(word + size + 1, reading.sentence(word).stop)
    scores = reading.best_with[word:last].copy()
    scores[np.arange(size), reading.best[word : word + size]] = -np.inf
    scores[size:, _first_tags(reading)] = -np.inf
    at, other = np.unravel_index(scores.argmax(), scores.shape)
    if scores[at, other] == -np.inf:
        raise ValueError(Errors.HS161.format(name=OUTSIDE, known="a chunk that need not be there"))
    (others,) = reading.labellings(np.array([word + int(at)]), np.array([other]))
    return labels, others


def _first_tags(reading: Reading) -> Mask:
    """Tags before which a chunk ends (L,)."""
    return grammar(reading.labels, str(reading.target.representation)).first


def _with_chunk(reading: Reading, word: int, size: int, label: str) -> Labels:
    """The best labelling that has exactly this chunk; "O": none over these words. RAISES ValueError
    [HS161]: it cannot stand there."""
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
        raise ValueError(Errors.HS161.format(name=label, known=known)) from error


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
    own = {piece[:3] for piece in _pieces(one, labels, others, names)}
    for sign, pair in ((1.0, (labels, others)), (-1.0, (others, labels))):
        for piece in _pieces(one, *pair, names):
            totals[piece[:3]] = totals.get(piece[:3], 0.0) + sign * piece[3]
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
    known = ",".join(names[y] for y in ids[:6])
    return "*" if len(ids) == len(names) else known if len(ids) == 1 else f"{{{known}}}"


def _fired(decisions: Decisions, word: int) -> List[Feature]:
    """The features of the classifier that was asked; their weights add up to its scores."""
    shim = shim_of(decisions.pipe.model)
    stacked = shim.stacked()
    names = Names(decisions.docs)
    visible = int(decisions.visible[word])
    context = decisions.contexts[word]
    labels = [*decisions.labels, "<s>", "</s>"]
    near = dict(
        zip(
            decisions.offsets,
            [labels[y] for y in np.minimum(context, len(labels) - 1)],
            strict=True,
        )
    )
    scorer = scorer_of(decisions.pipe.model)
    features = []
    for parts, number in scorer.features.fired(
        decisions.docs, word, context, visible, shim.values(), shim.keys()
    ):
        weights = stacked.table[stacked.rows[visible, number]].astype(np.float64)
        if weights.any():
            said = {part: near[part.offset] for part in parts if part.attribute == LABEL}
            features.append(names.feature(parts, word, weights, said))
    return features
