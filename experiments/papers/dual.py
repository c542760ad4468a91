"""Dual decomposition with the steps of Rush, Sontag, Collins & Jaakkola (2010), which Qian & Liu follow, and what they
may have returned: the labels of the chain after the last iteration, agreed upon or not.

    u <- u - rate / (1 + n) * subgradient,    n: how often the bound has risen

`baselines/dual_decomposition.py` takes Polyak's steps and returns the best labels seen.
"""

import numpy as np
from baselines.dual_decomposition import solve_slaves, sum_rows
from baselines.instances import make_instances

from spacy_hoseq.arrays import Ints
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import Potentials, Weights, path_score


def last_labels(potentials: Potentials, iterations: int, rate: float) -> Ints:
    """Labels (N,) of the chain in the last iteration. Sequences whose slaves agree stay as they are."""
    lengths = potentials.lengths
    n_tokens, n_labels = potentials.scores.shape
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    z = make_instances(potentials)
    multipliers = np.zeros((len(z.tokens), n_labels))
    pairs = np.arange(len(z.tokens))
    bounds = np.full(len(lengths), np.inf)
    rises = np.zeros(len(lengths))
    chain = potentials._replace(weights=Weights(potentials.trans), fired=None)
    for _ in range(iterations):
        chain = chain._replace(scores=potentials.scores + sum_rows(z.tokens, multipliers, n_tokens))
        labels = decode_exact(chain).labels
        wanted, values = solve_slaves(z, multipliers)
        dual = path_score(chain, labels) + np.bincount(sequence[z.last], weights=values, minlength=len(lengths))
        rises += dual > bounds
        bounds = dual
        chosen = labels[z.tokens]
        differ = chosen != wanted
        step = (rate / (1 + rises))[sequence[z.tokens[differ]]]
        multipliers[pairs[differ], chosen[differ]] -= step
        multipliers[pairs[differ], wanted[differ]] += step
    return labels
