"""Fast versions against plain ones, at 30 tokens, 10 labels and dozens of patterns, beyond enumeration."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from spacy_hoseq.decoders.choice import k_best
from spacy_hoseq.decoders.problem import path_score

from ...cases import Case
from ...strategies import random_mask, random_patterns
from ..chain.test_best_path import decode_viterbi
from ..patterns.test_nonnegative import decode_with_patterns
from .test_pruned import decode as decode_pruned
from .test_pruned import decode_chain
from .test_sparse import decode as decode_over_candidates

SEEDS = range(8)


def plain_decode(case):
    """Best score and labels of one sequence, with patterns of any sign. The state is the longest suffix of the history
    that is a single label or begins a pattern: every labelling is one path, and every pattern is seen where it ends."""
    strings = [pattern for pattern, _ in case.patterns] + [pattern for _, pattern, _ in case.fired]
    begins = {pattern[:n] for pattern in strings for n in range(1, len(pattern) + 1)}
    begins |= {(y,) for y in range(case.n_labels)}

    @cache
    def move(state, y):
        """(state after y, weight of the patterns that end with y)"""
        string = (*state, y)
        gain = sum(weight for pattern, weight in case.patterns if string[-len(pattern) :] == pattern)
        gain += case.trans[state[-1], y] if state else 0.0
        return next(string[i:] for i in range(len(string)) if string[i:] in begins), gain

    best = {(): (0.0, ())}  # state -> score and labels of the best history that leads to it
    for t, emissions in enumerate(case.scores.tolist()):
        fired = [(pattern, weight) for token, pattern, weight in case.fired if token == t]
        following = {}
        for state, (score, labels) in best.items():
            for y in range(case.n_labels):
                if case.allowed is None or case.allowed[t, y]:
                    after, gain = move(state, y)
                    string = (*state, y)
                    gain += sum(weight for pattern, weight in fired if string[-len(pattern) :] == pattern)
                    found = (score + emissions[y] + gain, (*labels, y))
                    following[after] = max(found, following.get(after, found))
        best = following
    return max(best.values())


def random_case(seed, *, n_patterns=40, signed=False):
    """Two sequences, 10 labels; patterns of up to 5 labels, half of them at positions, that change paths."""
    rng = np.random.default_rng(seed)
    lengths, n_labels = np.array([30, 13]), 10
    n_tokens = int(lengths.sum())
    patterns = random_patterns(rng, n_labels, n_patterns, 5)
    fired = random_patterns(rng, n_labels, n_patterns, 4) if n_patterns else []
    sign = rng.choice([-1.0, 1.0], 2 * n_patterns) if signed else np.ones(2 * n_patterns)
    weights = (sign * rng.gamma(2.0, 1.0, 2 * n_patterns)).tolist()
    return Case(
        rng.normal(0, 1, (n_tokens, n_labels)).astype(np.float32),
        rng.normal(0, 1, (n_labels, n_labels)).astype(np.float32),
        lengths,
        tuple(zip(patterns, weights, strict=False)),
        tuple(zip(rng.integers(0, n_tokens, len(fired)).tolist(), fired, weights[n_patterns:], strict=True)),
        random_mask(rng, n_tokens, n_labels) if seed % 2 else None,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_chain_is_its_plain_twin(seed):
    case = random_case(seed, n_patterns=0)
    plain = [plain_decode(single) for single in case.singles()]
    for paths in (decode_viterbi(case), decode_chain(case)):
        assert paths.labels.tolist() == [y for _, labels in plain for y in labels]
        assert paths.scores == pytest.approx([score for score, _ in plain])


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [1.0, 4.0])  # 4: pruning leaves windows with some labels in them
def test_patterns_are_their_plain_twin(seed, scale):
    case = random_case(seed)
    case = replace(case, scores=np.float32(scale) * case.scores)
    assert (decode_with_patterns(case).labels != decode_viterbi(case).labels).any()
    plain = [plain_decode(single) for single in case.singles()]
    for paths in (decode_with_patterns(case), decode_over_candidates(case), decode_pruned(case)):
        assert paths.labels.tolist() == [y for _, labels in plain for y in labels]
        assert paths.scores == pytest.approx([score for score, _ in plain])


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_k_best_and_path_score_with_weights_of_any_sign(seed):
    for single in random_case(seed, signed=True).singles():
        score, labels = plain_decode(single)
        potentials = single.potentials()
        best = k_best(potentials, 5)
        assert best.labels[0].tolist() == list(labels) and best.scores[0] == pytest.approx(score)
        again = [path_score(potentials, y)[0] for y in best.labels]
        assert best.scores == pytest.approx(again) and (np.diff(best.scores) < 0).all()
