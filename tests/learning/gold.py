"""Gold annotation of all kinds, and what it permits."""

from dataclasses import replace

import numpy as np

from .. import oracle
from ..strategies import random_mask

KINDS = ["complete", "partial", "missing", "not one label", "mixed"]


def gold_mask(case, kind, seed=0):
    """Which labels are right: one, some, all, all but one, or all of that in one batch."""
    rng = np.random.default_rng(seed)
    n_tokens, n_labels = case.scores.shape
    kinds = KINDS[:4] if kind == "mixed" else [kind]
    row_kind = rng.choice(kinds, n_tokens)
    gold = random_mask(rng, n_tokens, n_labels)  # partial
    one = np.eye(n_labels, dtype=bool)[rng.integers(0, n_labels, n_tokens)]
    gold = np.where((row_kind == "complete")[:, None], one, gold)
    gold[row_kind == "missing"] = True
    gold[row_kind == "not one label"] = np.arange(n_labels) != rng.integers(0, n_labels)
    if n_labels == 1:
        gold[:] = True
    return gold


def tables(case, gold, margin=0.0):
    """Of each sequence: all labellings with score + margin * wrong labels, then the permitted ones with their score."""
    for single, part in zip(case.singles(), np.split(gold, case.starts[1:]), strict=True):
        table = oracle.joint_table(single)
        wrong = sum(~part[t][table.labellings[:, t]] for t in range(len(part)))
        table = table._replace(scores=table.scores + margin * wrong)
        yield table, oracle.joint_table(replace(single, allowed=part))
