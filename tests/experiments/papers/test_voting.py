"""Voting of directions, and the sum over decompositions, against enumeration."""

import itertools

import numpy as np
import pytest

from ...decoders.bidirectional import local_cases
from ...repository import script

summing = script("papers/summing")
voting = script("papers/voting")


class Table:
    """Scores of all labels in every context of order 1. scores (2 ** 2, N, L + 2, L + 2, L)."""

    def __init__(self, n_tokens, n_labels, seed):
        self.n_tokens, self.n_labels = n_tokens, n_labels
        rng = np.random.default_rng(seed)
        self.scores = rng.normal(scale=2, size=(4, n_tokens, n_labels + 2, n_labels + 2, n_labels))

    def __call__(self, tokens, visible, owners, contexts):
        before, after = (
            np.where(visible[owners] >> slot & 1, contexts[:, slot], 0) for slot in (0, 1)
        )
        return self.scores[visible[owners], tokens[owners], before, after]


def enumerated(table, slot):
    """P(y_t) of one direction, by the definition."""
    n, n_labels = table.n_tokens, table.n_labels
    total = np.zeros((n, n_labels))
    for labels in itertools.product(range(n_labels), repeat=n):
        p = 1.0
        for t, label in enumerate(labels):
            near = t + (-1, 1)[slot]
            seen = labels[near] if 0 <= near < n else n_labels + slot
            context = (seen, 0) if slot == 0 else (0, seen)
            weights = np.exp(table.scores[1 << slot, t, context[0], context[1]])
            p *= weights[label] / weights.sum()
        total[np.arange(n), labels] += p
    return total


@pytest.mark.parametrize("slot", [voting.BEFORE, voting.AFTER])
@pytest.mark.parametrize("seed", range(3))
def test_marginals_of_a_direction(slot, seed):
    table = Table(4, 3, seed)
    assert voting.direction_marginals(table, np.array([4]), slot) == pytest.approx(
        enumerated(table, slot), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_vote_is_the_best_sum(seed):
    table = Table(4, 3, seed)
    both = enumerated(table, voting.BEFORE) + enumerated(table, voting.AFTER)
    assert voting.vote(table, np.array([4])).tolist() == both.argmax(axis=1).tolist()


@pytest.mark.parametrize("order, n", [(1, 1), (1, 5), (2, 3), (2, 4)])
def test_the_sum_goes_over_all_decompositions(order, n):
    """Each acyclic choice of directions counts once."""
    case = local_cases.random_case(np.random.default_rng(n), [n], 3, order)
    total = np.zeros((n, 3))
    for labels in itertools.product(range(3), repeat=n):
        for sees in local_cases.decompositions("full_bidirectional", n, order):
            seen = [local_cases.seen_by(case, i, sees[i], labels) for i in range(n)]
            p = np.exp(sum(local_cases.log_p(case, i, seen[i])[labels[i]] for i in range(n)))
            total[np.arange(n), labels] += p
    plan = summing.make_plan("full_bidirectional", order)
    candidates = summing.Candidates(case.local, case.lengths, order, 0.0, None, summing.TUNING)
    tokens = np.arange(n)
    tables = {move.visible: candidates.table(move.visible, tokens, plan) for move in plan.steps}
    assert np.exp(summing.marginals(tokens, candidates, tables, plan)) == pytest.approx(
        total, rel=1e-9
    )
    assert (
        summing.summed(case.local, case.lengths, order, 0.0).tolist()
        == total.argmax(axis=1).tolist()
    )
