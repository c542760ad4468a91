"""Random batches. Hypothesis chooses the shape of a case (and shrinks it), a seeded generator fills in the numbers:
they come from continuous distributions, so that the best labelling is unique, unless `rounded` asks for ties."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from .cases import Case, Configuration, Pattern

NO_LABEL = -np.inf
SEEDS = st.integers(0, 10**6)


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    min_labels: int = 1,
    max_labels: int = 4,
    max_tokens: int = 6,
    max_sequences: int = 3,
    signed: bool = False,
    masks: bool = True,
    forbidden: bool = True,
    rounded: bool = False,
    strong: bool = True,
    configurations: int = 0,
) -> Case:
    """Batches with patterns everywhere and at positions, and with up to so many general configurations.

    signed: weights of patterns may be negative. strong: they may be much larger than emissions and transitions; if not,
    the negative ones together stay above -10.
    masks: with or without `allowed`. forbidden: with or without transitions of -inf. rounded: all values are integers.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(min_labels, max_labels))
    sizes = st.lists(st.integers(1, max_tokens), min_size=1, max_size=max_sequences)
    lengths = np.array(draw(sizes), np.int64)
    scale = draw(st.sampled_from([1.0, 0.2, 5.0]))  # of the emissions; transitions are about 1
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    n_tokens = int(lengths.sum())
    scores = rng.normal(0, scale, (n_tokens, n_labels))
    trans = rng.normal(0, 1, (n_labels, n_labels))
    patterns = random_patterns(rng, n_labels, draw(st.integers(0, 8)), draw(st.integers(2, 5)))
    weights = rng.gamma(1.0, 1.0, len(patterns))
    if draw(st.booleans()):
        weights = np.full(len(patterns), 0.75)  # tied
    strength = draw(st.sampled_from([1.0, 4.0])) if strong else 1.0
    at_positions = random_patterns(rng, n_labels, draw(st.integers(0, 5)), 4, others=patterns)
    fired_weights = rng.gamma(1.0, 1.0, len(at_positions))
    weights, fired_weights = strength * weights, strength * fired_weights
    if signed:
        weights *= _signs(rng, weights)
        fired_weights *= _signs(rng, fired_weights)
        if not strong:
            loss = -np.minimum(weights, 0).sum() - np.minimum(fired_weights, 0).sum()
            factor = min(1, 10 / max(loss, 1))
            weights, fired_weights = weights * factor, fired_weights * factor
    n_spans = draw(st.integers(0, configurations)) if configurations else 0
    spans = random_configurations(rng, n_labels, lengths, n_spans)
    if rounded:
        spans = [(first, sets, float(np.round(weight))) for first, sets, weight in spans]
        scores, trans = np.round(scores), np.round(trans)
        weights, fired_weights = np.round(weights), np.round(fired_weights)
    if forbidden and draw(st.booleans()):
        trans[rng.random(trans.shape) < 0.25] = NO_LABEL
    # some at the same token
    fired_tokens = rng.choice(rng.integers(0, n_tokens, 3), len(at_positions)).tolist()
    patterns = tuple(zip(patterns, weights.tolist(), strict=True))
    fired = tuple(zip(fired_tokens, at_positions, fired_weights.tolist(), strict=True))
    allowed = random_mask(rng, n_tokens, n_labels) if masks and draw(st.booleans()) else None
    scores, trans = scores.astype(dtype), trans.astype(dtype)
    return Case(scores, trans, lengths, patterns, fired, allowed, tuple(spans))


@st.composite
def cases_with_edge_scores(draw: st.DrawFn, **settings: Any) -> Case:
    """Chains with scores of label pairs at each token. Those of first tokens, which count for nothing, are large.

    settings: as of `cases`."""
    case = draw(cases(**settings)).without_patterns()
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([1.0, 0.2, 5.0]))
    edge_scores = rng.normal(0, scale, (*case.scores.shape, case.n_labels))
    if settings.get("rounded"):
        edge_scores = np.round(edge_scores)
    shape = len(case.starts), case.n_labels, case.n_labels
    edge_scores[case.starts] = rng.uniform(-60, 60, shape)
    return replace(case, edge_scores=edge_scores.astype(case.scores.dtype))


def random_configurations(
    rng: np.random.Generator, n_labels: int, lengths: NDArray[np.int64], n: int
) -> list[Configuration]:
    """Configurations that overlap, nest and cross, with weights of any sign: sets of some labels, of one, of all
    (gaps), of none, skip-chains {a, b} x any* x {a, b}, spans of one token, the same twice, some of weight 0."""
    every = frozenset(range(n_labels))
    found: list[Configuration] = []
    while len(found) < n:
        sequence = int(rng.integers(len(lengths)))
        start, length = int(lengths[:sequence].sum()), int(lengths[sequence])
        first = int(rng.integers(0, length))
        size = int(rng.integers(1, length - first + 1))
        some = frozenset(np.flatnonzero(rng.random(n_labels) < 0.5).tolist())
        kind = rng.integers(6)
        sets = [frozenset(np.flatnonzero(rng.random(n_labels) < 0.6).tolist()) for _ in range(size)]
        if kind == 0:
            sets = [frozenset([int(y)]) for y in rng.integers(0, n_labels, size)]
        elif kind in (1, 2) and size > 1:
            sets = [some, *[every] * (size - 2), some]
        elif kind == 3 and found:
            first = found[rng.integers(len(found))][0] - start
            sets = list(found[rng.integers(len(found))][1])
        if 0 <= first and first + len(sets) <= length:
            weight = float(rng.choice([0.0, 1.5, *rng.normal(0, 2, 8)]))
            found.append((start + first, tuple(sets), weight))
    return found


def random_patterns(
    rng: np.random.Generator, n_labels: int, n: int, max_length: int, others: Sequence[Pattern] = ()
) -> list[Pattern]:
    """Patterns that get in each other's way and in that of `others`: suffixes and prefixes, overlaps, repetitions, the
    same twice."""
    patterns: list[Pattern] = []
    while len(patterns) < n:
        fresh = tuple(rng.integers(0, n_labels, rng.integers(2, max_length + 1)).tolist())
        known = [*others, *patterns] or [fresh]
        other = known[rng.integers(len(known))]
        twice = (fresh[:2] * max_length)[:max_length]
        kinds = [fresh, fresh, other, other[1:], other[:-1], other[1:] + fresh[:1]]
        kinds += [fresh[:1] + other, twice]
        pattern = kinds[rng.integers(len(kinds))]
        if 2 <= len(pattern) <= max_length:
            patterns.append(pattern)
    return patterns


def random_mask(rng: np.random.Generator, n_tokens: int, n_labels: int) -> NDArray[np.bool_]:
    """(N, L), at least one label at each token."""
    allowed = rng.random((n_tokens, n_labels)) < 0.6
    allowed[np.arange(n_tokens), rng.integers(0, n_labels, n_tokens)] = True
    return allowed


def peaked_case(
    rng: np.random.Generator, lengths: list[int], n_labels: int, n_patterns: int
) -> Case:
    """Scores such as a trained tagger gives: nearly always one label far ahead, now and then two or three close."""
    n_tokens = sum(lengths)
    scores = rng.normal(0, 1, (n_tokens, n_labels)).astype(np.float32)
    scores[np.arange(n_tokens), rng.integers(0, n_labels, n_tokens)] += 12
    unsure = np.flatnonzero(rng.random(n_tokens) < 0.12)
    scores[unsure, rng.integers(0, n_labels, len(unsure))] += 12
    patterns = random_patterns(rng, n_labels, n_patterns, 4)
    fired = random_patterns(rng, n_labels, n_tokens // 10, 4)
    trans = rng.normal(0, 0.5, (n_labels, n_labels)).astype(np.float32)
    patterns = tuple(zip(patterns, rng.uniform(0, 1, n_patterns).tolist(), strict=True))
    fired = [(int(rng.integers(n_tokens)), pattern, float(rng.uniform(0, 2))) for pattern in fired]
    return Case(scores, trans, np.array(lengths, np.int64), patterns, tuple(fired))


def _signs(rng: np.random.Generator, like: NDArray[np.float64]) -> NDArray[np.float64]:
    return rng.choice([-1.0, 1.0], like.shape)


KINDS_OF_CASES = {  # of few tokens, to be enumerated
    "patterns": cases(max_tokens=5),
    "any sign": cases(max_tokens=5, signed=True),
    "configurations": cases(max_tokens=5, signed=True, configurations=4),
    "edge scores": cases_with_edge_scores(max_tokens=5),
    "chain": cases(max_tokens=5).map(Case.without_patterns),
}
