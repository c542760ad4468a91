"""Scores -> labels, probabilities, n-best. NumPy only: importing this package loads neither spaCy
nor thinc.

Notation, everywhere: N tokens in S sequences laid end to end (`lengths` (S,) says where they part),
L labels, `scores[n, y]` emission scores, `trans[y_prev, y]` first index = earlier token,
`allowed[n, y]` boolean mask.

The problem: `Potentials` hold scores and lengths of a batch, the permitted labels, `Fired`
patterns, `Configurations`, scores of label pairs, and the `Weights` that are the same for all
texts: trans, and a `PatternTrie` with its weights.

    weights = Weights(trans, trie, node_weights)
    paths = decode_exact(Potentials(scores, weights, lengths))

What can be computed for it: `best_labels`, `decode_exact` (the same with their scores, `Paths`),
`k_best` (`KBest`), `sample`, `max_marginal`, `best_with` each label, `path_score` of given labels,
and of p(y | x) everything else by `posterior` (`Posterior`: log Z, marginals, counts, segments,
entropies, gradients). p(event) is Z of `potentials.permitting(event)`, over Z. A chain as plain
arrays: `viterbi`. Where nothing is permitted `NoPath` is raised. `Decoder` is what to write for one
of your own; `Tuning` says how work is cut.

Rooms, from the ground up: problem, chain, patterns, pruning, answers; beside them bidirectional.
"""

from .answers import best_labels, best_with, posterior
from .chain import viterbi
from .choice import Decoder, decode_exact, k_best, max_marginal, sample
from .problem import (
    Configurations,
    Fired,
    KBest,
    NoPath,
    Paths,
    PatternTrie,
    Posterior,
    Potentials,
    PotentialsGradient,
    Tuning,
    Weights,
    path_score,
)

__all__ = [
    "Configurations",
    "Decoder",
    "Fired",
    "KBest",
    "NoPath",
    "Paths",
    "PatternTrie",
    "Posterior",
    "Potentials",
    "PotentialsGradient",
    "Tuning",
    "Weights",
    "best_labels",
    "best_with",
    "decode_exact",
    "k_best",
    "max_marginal",
    "path_score",
    "posterior",
    "sample",
    "viterbi",
]
