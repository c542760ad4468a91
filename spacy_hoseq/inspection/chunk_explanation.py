"""Why a chunk is there, or is not: the best labelling of the sentence, against the best one that
decides otherwise."""

from typing import Any, List, Optional

import numpy as np
from spacy.tokens import Span

from ..arrays import Labels, Mask
from ..chunks import LETTERS, OUTSIDE, Grammar, grammar
from ..decoders.answers import best_labels, posterior
from ..decoders.problem import Potentials, path_score
from ..errors import Errors
from .alternatives import CHANGES, NEAR, Change, copies
from .explanation import Explanation, sentence_at, terms_between
from .features import Feature, features_at
from .reading import Reading, sums_of
from .spans import Places, chunk_probabilities


def explain_span(pipe: Any, span: Span, against: Optional[str] = None) -> Explanation:
    """span: with its label. against (str): compare with a chunk of this label over the same tokens,
    or with no chunk there for "O"; None = with the best labelling that does not have this chunk,
    or, if the chunk is not found, with the best labelling. `p` is the probability that exactly this
    chunk is there, `p_against` that the other one is (or that this one is not).

    RAISES ValueError [HS140]: no chunker; [HS141, HS106] as `span_certainties`; [HS146]: no label of
    the component, or one that cannot be there.
    """
    if not sums_of(pipe).target.of_spans:
        raise ValueError(Errors.HS140.format(name=pipe.name, kind=type(pipe).__name__))
    return explain_chunk(Reading(pipe, [span.doc]), span, against)


def explain_chunk(reading: Reading, span: Span, against: Optional[str] = None) -> Explanation:
    """Of the first Doc of a reading."""
    first, n = reading.span(0, span.start, span.end)
    one, words, best = sentence_at(reading, first)
    at = first - words.start
    with_chunk = _with_chunk(reading, one, at, n, span.label_)
    is_best = bool((with_chunk == best).all())
    if against is not None:
        others = _with_chunk(reading, one, at, n, against)
    elif is_best:
        others = _without_chunk(reading, one, at, n, best)
    else:
        others = best
    names = reading.labels
    labels = [span.label_, against or OUTSIDE]
    size = np.array([n, n])
    rows = chunk_probabilities(reading, Places(np.array([first, first]), size, labels))
    p, p_against = rows[:, 0].tolist()
    if against is None:
        p_against = 1.0 - p
    elif against == OUTSIDE:
        p_against = 1.0 - float(rows[1, 2])  # no chunk overlaps it
    difference = float((path_score(one, with_chunk) - path_score(one, others))[0])
    return Explanation(
        component=reading.pipe.name,
        first=span.start,
        end=span.end,
        text=span.text,
        label=span.label_,
        against=against or " ".join(names[y] for y in others[at : at + n].tolist()),
        p=p,
        p_against=p_against,
        difference=difference,
        terms=terms_between(reading, first, with_chunk, others),
        start=reading.token(words.start)[1],
        labels=[names[y] for y in with_chunk.tolist()],
        others=[names[y] for y in others.tolist()],
        changes=_changes(reading, first, n, with_chunk, others, against),
        fewest=[],
        instead="",
        turns=[],
    )


def _with_chunk(reading: Reading, one: Potentials, at: int, n: int, label: str) -> Labels:
    """The best labelling that has exactly this chunk; "O": none over these tokens. RAISES
    ValueError [HS146]."""
    types = reading.pipe.labels
    if label not in (*types, OUTSIDE):
        raise ValueError(Errors.HS146.format(label=label, known=", ".join(types)))
    rules = _rules(reading)
    only, start, middle, last = list(LETTERS[str(reading.target.representation)])
    tags = [
        f"{letter}-{label}" for letter in ([only] if n == 1 else [start, *[middle] * (n - 2), last])
    ]
    if label == OUTSIDE:
        tags = [OUTSIDE] * n
    allowed: Mask = np.ones(one.scores.shape, bool)
    for i, tag in enumerate(tags):
        allowed[at + i] = np.arange(len(reading.labels)) == reading.labels.index(tag)
    if at + n < len(allowed):
        allowed[at + n] = rules.first  # the chunk ends there
    try:
        return best_labels(one.permitting(allowed))
    except ValueError as error:
        raise ValueError(
            Errors.HS146.format(label=label, known="a chunk that can stand there")
        ) from error


def _rules(reading: Reading) -> Grammar:
    return grammar(reading.labels, str(reading.target.representation))


def _without_chunk(reading: Reading, one: Potentials, at: int, n: int, best: Labels) -> Labels:
    """The best labelling in which the chunk of the best one is not: some token of it has another
    tag, or the chunk goes on."""
    rules = _rules(reading)
    candidates: List[Labels] = []
    for i in range(at, min(at + n + 1, len(best))):
        allowed: Mask = np.ones(one.scores.shape, bool)
        if i < at + n:
            allowed[i, best[i]] = False
        else:
            allowed[i] = ~rules.first
        try:
            candidates.append(best_labels(one.permitting(allowed)))
        except ValueError:  # nothing else is permitted
            continue
    if not candidates:
        raise ValueError(Errors.HS146.format(label=OUTSIDE, known="a chunk that need not be there"))
    scores = [float(path_score(one, labels)[0]) for labels in candidates]
    return candidates[int(np.argmax(scores))]


def _changes(
    reading: Reading, first: int, n: int, found: Labels, others: Labels, against: Optional[str]
) -> List[Change]:
    """The log-odds of the chunk, log p - log(1 - p), or against another one there, without each
    feature that tells the two labellings apart, and without each word of the chunk and beside
    it."""
    layer = reading.pipe.model.layers[0]
    one, words, _ = sentence_at(reading, first)
    at = first - words.start
    near = range(max(words.start, first - NEAR), min(words.stop, first + n + NEAR))
    around = features_at(
        layer, reading, range(max(words.start, first - 2 * NEAR), min(words.stop, near.stop + NEAR))
    )

    def gain(feature: Feature) -> float:
        i = feature.word - words.start
        return float(feature.weights[found[i]] - feature.weights[others[i]])

    telling = sorted((f for f in around if gain(f)), key=lambda f: -abs(gain(f)))[:CHANGES]
    variants = [("feature", f"{f.name}, at {reading.text(f.word)}", [f]) for f in telling]
    variants += [("word", reading.text(w), [f for f in around if w in f.looks_at]) for w in near]
    scores = np.tile(one.scores.astype(np.float64), (len(variants) + 1, 1, 1))
    for row, (_, _, features) in zip(scores[1:], variants, strict=True):
        for feature in features:
            row[feature.word - words.start] -= feature.weights
    m = len(scores)
    goes_on = reading.pipe.continues
    sizes = np.full(m, n)
    places = at + np.arange(m) * len(one.scores)
    varied = posterior(copies(one, scores))
    p = varied.segments(places, sizes, np.tile(found[at : at + n], m), goes_on)
    p_against = 1.0 - np.minimum(p, 1.0)
    if against is not None:
        of_other = None if against == OUTSIDE else goes_on
        p_against = varied.segments(places, sizes, np.tile(others[at : at + n], m), of_other)
    with np.errstate(divide="ignore"):
        odds = (np.log(p) - np.log(p_against)).tolist()
    changes = [
        Change(kind, name, x, odds[0] - x)
        for (kind, name, _), x in zip(variants, odds[1:], strict=True)
    ]
    return sorted(changes, key=lambda change: -abs(change.difference))
