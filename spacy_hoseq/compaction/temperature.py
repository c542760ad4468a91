"""Probabilities that mean what they say, for a tagger of any objective.

All weights are divided by one temperature T > 0, so that p_T(y | x) is proportional to exp(score(x, y) / T). The order
of the labellings stays as it is; T is that at which the gold labels of other text than the training text have the
largest product of marginal probabilities (Guo, Pleiss, Sun & Weinberger 2017, section 4.2, for exact marginals).
"""

from typing import Any, List, NamedTuple, Sequence

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..arrays import Floats
from ..components.annotation import MARGINALS
from ..layers.weights.shim import weights_in

RANGE, STEPS = (0.02, 100.0), 14  # of 1 / T, searched on a logarithmic scale
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
LEAST = 1e-12  # a probability that is smaller counts as this one


class Temperature(NamedTuple):
    """log_loss_before, log_loss: mean of - log p of the gold labels, in nats. value: T."""

    value: float
    log_loss_before: float
    log_loss: float


def calibrate(nlp: Language, name: str, examples: Sequence[Example]) -> Temperature:
    """Divide the weights of the `hoseq_tagger` of this name by the best temperature, in place.

    examples: text that it was not trained on. Components before it annotate the predicted docs.
    """
    pipe: Any = nlp.get_pipe(name)
    docs = [eg.predicted.copy() for eg in examples]
    for _, earlier in nlp.pipeline[: nlp.pipe_names.index(name)]:
        docs = list(earlier.pipe(docs))  # type: ignore[attr-defined]
    examples = [Example(doc, eg.reference) for doc, eg in zip(docs, examples, strict=True)]
    weights = [(shim, shim.to_bytes()) for shim in weights_in(pipe.model)]

    def loss_at(log_factor: float) -> float:
        for shim, saved in weights:
            shim.from_bytes(saved)
            shim.scale(float(np.exp(log_factor)))
        p = gold_probabilities(pipe, examples)
        return float(-np.log(np.maximum(p, LEAST)).mean())

    before = loss_at(0.0)
    low, high = np.log(RANGE)
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    losses = [loss_at(inner[0]), loss_at(inner[1])]
    for _ in range(STEPS):  # golden section search: log loss has one minimum in 1 / T
        if losses[0] < losses[1]:
            high, inner, losses = inner[1], [inner[0], inner[0]], [losses[0], losses[0]]
            inner[0] = high - GOLDEN * (high - low)
            losses[0] = loss_at(inner[0])
        else:
            low, inner, losses = inner[0], [inner[1], inner[1]], [losses[1], losses[1]]
            inner[1] = low + GOLDEN * (high - low)
            losses[1] = loss_at(inner[1])
    best = (low + high) / 2
    return Temperature(float(np.exp(-best)), before, loss_at(best))


def gold_probabilities(pipe: Any, examples: Sequence[Example]) -> Floats:
    """Marginal probability of the gold label of every token that has a known one (N,)."""
    kept, pipe.cfg["save_marginals"] = pipe.cfg["save_marginals"], True
    try:
        parts: List[Floats] = []
        docs = list(pipe.pipe([eg.predicted.copy() for eg in examples], batch_size=200))
        gold = pipe.gold_labels(examples)
    finally:
        pipe.cfg["save_marginals"] = kept
    for doc in docs:
        p = doc._.get(MARGINALS)[pipe.name]["probabilities"]
        parts.append(p[p.any(axis=1)])
    rows = np.concatenate(parts)
    known = np.flatnonzero(gold >= 0)
    return rows[known, gold[known]].astype(float)
