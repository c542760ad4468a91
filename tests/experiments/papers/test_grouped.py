"""Inference over groups of states and transitions, against enumeration of all labellings."""

import itertools
import math

import numpy as np
import pytest

from spacy_hoseq.decoders.answers import posterior

from ... import oracle
from ...cases import Case
from ...repository import script

pages = script("papers/pages")
grouped = script("papers/grouped")
groups = script("papers/groups")


EVERY = frozenset(range(3))


def log_z(n_tokens, n_labels, configurations):
    """By the definition: of every labelling the product of the potentials of the configurations that it lies in."""
    total = []
    for labelling in itertools.product(range(n_labels), repeat=n_tokens):
        weights = [
            weight
            for first, sets, weight in configurations
            if all(label in labels for label, labels in zip(labelling[first:], sets, strict=False))
        ]
        total.append(math.exp(sum(weights)))
    return math.log(sum(total))


def random_configurations(seed, n_tokens, n_labels, n=12):
    """Of random sets and orders, the full set among them, at random places."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(n):
        size = int(rng.integers(1, n_tokens + 1))
        sizes = rng.integers(1, n_labels + 1, size=size)
        sets = tuple(frozenset(rng.choice(n_labels, size=k, replace=False).tolist()) for k in sizes)
        first = int(rng.integers(0, n_tokens - size + 1))
        result.append(grouped.Configuration(first, sets, float(rng.normal())))
    return result


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_tokens, n_labels", [(1, 1), (1, 3), (4, 1), (4, 2), (5, 3)])
def test_sums_are_those_of_all_labellings(seed, n_tokens, n_labels):
    some = random_configurations(seed, n_tokens, n_labels)
    found = grouped.forward(n_tokens, n_labels, some)
    assert found.log_z == pytest.approx(log_z(n_tokens, n_labels, some), abs=1e-12)
    assert all(a <= b for a, b in zip(found.transitions, found.ungrouped, strict=True))


def case(seed, n_tokens, **more):
    rng = np.random.default_rng(seed)
    return Case(
        rng.normal(size=(n_tokens, 3)), rng.normal(size=(3, 3)), np.array([n_tokens]), **more
    )


PATTERNS = (((0, 1), 0.7), ((0, 1, 2), 1.5), ((1, 2, 1, 2), -0.5), ((2, 2, 2), 0.0))


@pytest.mark.parametrize("n_tokens", [1, 5])
@pytest.mark.parametrize("masked", [False, True])
def test_sums_of_a_model_are_ours(n_tokens, masked):
    """Scores, transitions, patterns of several orders, here and there, forbidden labels, scores of pairs, sets."""
    more = {"patterns": PATTERNS}
    if n_tokens > 1:
        more["fired"] = ((3, (2, 0), 0.5), (2, (0, 1, 2), -1.0))
        more["configurations"] = ((1, (frozenset([0, 1]), EVERY, frozenset([0, 1])), 1.3),)
    if masked:
        more["allowed"] = np.arange(n_tokens * 3).reshape(-1, 3) % 4 != 1
        more["edge_scores"] = np.random.default_rng(7).normal(size=(n_tokens, 3, 3))
    some = case(0, n_tokens, **more)
    potentials = some.potentials()
    both = grouped.local_configurations(potentials) + grouped.higher_configurations(potentials)
    found = grouped.forward(n_tokens, 3, both)
    assert found.log_z == pytest.approx(oracle.joint_table(some).log_z, abs=1e-12)
    assert found.log_z == pytest.approx(float(posterior(potentials).log_z[0]), abs=1e-12)


def test_models_are_measured():
    """By sums over all tokens."""
    sequences = [case(seed, n, patterns=PATTERNS).potentials() for seed, n in ((0, 3), (1, 5))]
    row = groups.measured(sequences)
    assert (row["tokens"], row["labels"], row["nodes"], row["fired"]) == (
        8,
        3,
        10,
        (2 + 1) + (4 + 3 + 2),
    )
    assert row["ours"] == 8 * (3 * 3 + 2 * 7) and float(row["difference"]) < 1e-12
    assert (
        row["all"]["transitions"] <= row["all"]["ungrouped"] and len(row["ratios"]) == groups.ROUNDS
    )
    header, (line,) = pages.groups_table([{"system": "x", **row, "ratios": [2.0, 5.0, 3.0]}])
    assert (
        len(header) == len(line)
        and line[:2] == ["x", "3"]
        and line[8] == "23.0"
        and line[-1] == "3.0"
    )
    assert line[2] == f"{row['all']['states'] / 8:.1f}"
