"""What decoders say of random batches: chains, patterns of any sign, configurations, scores of label pairs; alone and
mixed, with labels and transitions that are not permitted. Scores are continuous, so that no two labellings tie."""

from typing import Any

import numpy as np

from spacy_hoseq.decoders import best_with, decode_exact, k_best, max_marginal, posterior, sample
from spacy_hoseq.decoders.problem import LabelPairs, Potentials, ranges

from ..cases import Case
from ..strategies import random_configurations, random_mask, random_patterns

LENGTHS = np.array([5, 1, 9, 3, 7])
N_LABELS = 5
KINDS = ["chain", "forbidden", "masked", "patterns", "fired"]
KINDS += ["any sign", "configurations", "edge scores", "mixed"]


def case(kind: str) -> Case:
    rng = np.random.default_rng(KINDS.index(kind))
    n_tokens = int(LENGTHS.sum())
    scores = rng.normal(0, 1, (n_tokens, N_LABELS))
    trans = rng.normal(0, 1, (N_LABELS, N_LABELS))
    if kind in ("forbidden", "mixed"):
        trans[rng.random(trans.shape) < 0.2] = -np.inf
    allowed = random_mask(rng, n_tokens, N_LABELS) if kind in ("masked", "mixed") else None
    patterns: tuple[Any, ...] = ()
    if kind in ("patterns", "any sign", "mixed", "configurations"):
        strings = random_patterns(rng, N_LABELS, 12, 4)
        weights = rng.gamma(1.0, 1.0, len(strings))
        if kind == "any sign":
            weights *= rng.choice([-1.0, 1.0], len(strings))
        patterns = tuple(zip(strings, weights.tolist(), strict=True))
    fired: tuple[Any, ...] = ()
    if kind in ("fired", "mixed"):
        strings = random_patterns(rng, N_LABELS, 8, 4)
        tokens = rng.integers(0, n_tokens, len(strings)).tolist()
        fired = tuple(zip(tokens, strings, rng.normal(0, 2, len(strings)).tolist(), strict=True))
    n_spans = 4 if kind in ("configurations", "mixed") else 0
    configurations = random_configurations(rng, N_LABELS, LENGTHS, n_spans)
    edge_scores = None
    if kind == "edge scores":
        edge_scores = rng.normal(0, 1, (n_tokens, N_LABELS, N_LABELS))
    features = patterns, fired, allowed, tuple(configurations)
    return Case(scores, trans, LENGTHS, *features, edge_scores)


def said(kind: str) -> dict[str, Any]:
    """Labels as strings, numbers rounded."""
    potentials: Potentials = case(kind).potentials()
    best = decode_exact(potentials)
    likely = k_best(potentials, 3)
    p = posterior(potentials)
    rng = np.random.default_rng(1)
    d_nodes = rng.normal(0, 1, potentials.scores.shape)
    tokens = np.repeat(np.arange(1, len(d_nodes)), N_LABELS)
    n = np.arange(len(tokens))
    arcs = LabelPairs(tokens, n % N_LABELS, n // 3 % N_LABELS)
    inside = ~np.isin(tokens, np.cumsum(LENGTHS))
    arcs = LabelPairs(*(each[inside] for each in arcs))
    gradient = p.backprop(d_nodes, arcs, np.cos(np.arange(inside.sum())))
    first, sizes = np.array([0, 2, 6, 10, 19]), np.array([2, 3, 4, 1, 5])
    labels = best.labels[ranges(first, sizes)]
    continues = np.eye(N_LABELS, dtype=bool)
    return {
        "best": _string(best.labels),
        "scores": _digits(best.scores),
        "k best": [_string(labels) for labels in likely.labels],
        "k best scores": _digits(likely.scores),
        "samples": [_string(labels) for labels in sample(potentials, 5, np.random.default_rng(2))],
        "max marginal": _string(max_marginal(potentials).labels),
        "best with": _digits(best_with(potentials)),
        "log z": _digits(p.log_z),
        "nodes": _digits(p.nodes),
        "expected": _of(p.expected),
        "pairs": _digits(p.pairs(arcs)),
        "segments": _digits(p.segments(first, sizes, labels)),
        "segments that end": _digits(p.segments(first, sizes, labels, continues)),
        "probable": [_digits(each) for each in p.probable(0.05)],
        "conditional entropies": _digits(p.conditional_entropies()),
        "sequence entropies": _digits(p.sequence_entropies()),
        "gradient": _of(gradient),
    }


def _of(gradient: Any) -> dict[str, Any]:
    parts = "scores trans node_weights fired_weights configuration_weights edge_scores".split()
    arrays = {name: getattr(gradient, name) for name in parts}
    return {name: _digits(array) for name, array in arrays.items() if array is not None}


def _string(labels: Any) -> str:
    return "".join(str(int(label)) for label in labels)


def _digits(numbers: Any) -> list[float]:
    return [round(float(number), 9) for number in np.asarray(numbers, np.float64).reshape(-1)]
