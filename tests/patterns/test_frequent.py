"""Frequent transitions against counting in plain Python."""

from collections import Counter

import numpy as np
import pytest

from spacy_hoseq.patterns.frequent import FrequentTransitions
from spacy_hoseq.patterns.sources import EVERYWHERE

LABELS = ["A", "B", "C"]


def arrays(*sequences):
    return [np.array(sequence, np.int32) for sequence in sequences]


def plain_patterns(sequences, max_order, min_count):
    """All label sequences of 3 to max_order + 1 labels without a gap, by length, then by label ids."""
    counts = Counter()
    for sequence in sequences:
        sequence = sequence.tolist()
        for length in range(3, max_order + 2):
            for i in range(len(sequence) - length + 1):
                if -1 not in sequence[i : i + length]:
                    counts[tuple(sequence[i : i + length])] += 1
    return sorted((p for p, n in counts.items() if n >= min_count), key=lambda p: (len(p), p))


def random_sequences(seed):
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(0, 3, size=n).astype(np.int32) for n in rng.integers(1, 12, size=40)]
    for sequence in sequences[::2]:
        sequence[rng.random(len(sequence)) < 0.15] = -1
    return sequences


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_order, min_count", [(2, 1), (2, 4), (3, 3), (5, 1), (20, 2)])
def test_patterns_are_the_counted_ones(seed, max_order, min_count):
    sequences = random_sequences(seed)
    expected = plain_patterns(sequences, max_order, min_count)
    found = FrequentTransitions(max_order, min_count).define(LABELS, sequences)
    assert expected
    assert found.patterns == expected
    assert found.weight_of.tolist() == list(range(len(expected))), "one weight each"
    assert found.n_weights == len(expected)
    assert found.rule_of.tolist() == [EVERYWHERE] * len(expected)


def test_by_hand():
    found = FrequentTransitions(3, 2).define(LABELS, arrays([0, 1, 0, 1], [0, 1, 0, 1], [2, 0, 1, 0]))
    assert found.patterns == [(0, 1, 0), (1, 0, 1), (0, 1, 0, 1)]


def test_nothing_is_counted_across_sequences_or_gaps():
    source = FrequentTransitions(2, 1)
    assert source.define(LABELS, arrays([0, 1], [2, 0], [1])).patterns == []
    assert source.define(LABELS, arrays([0, 1, -1, 2, 0])).patterns == []
    assert source.define(LABELS, arrays([0, 1, -1, 2, 0, 1])).patterns == [(2, 0, 1)]


@pytest.mark.parametrize("sequences", [[], arrays([]), arrays([0]), arrays([0, 1]), arrays([-1, -1, -1, -1])])
def test_no_patterns(sequences):
    found = FrequentTransitions(4, 1).define(LABELS, sequences)
    assert found.patterns == []
    assert found.n_weights == 0
    assert found.weight_of.tolist() == found.rule_of.tolist() == []


def test_order_of_the_data_does_not_matter():
    sequences = random_sequences(5)
    source = FrequentTransitions(4, 2)
    assert source.define(LABELS, sequences).patterns == source.define(LABELS, sequences[::-1]).patterns


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"max_order": 1}, r"max_order: 1\. Expected 2 to 20"),
        ({"max_order": 21}, r"max_order: 21"),
        ({"max_order": -3}, r"max_order: -3"),
        ({"min_count": 0}, r"min_count: 0\. Expected 1 or more"),
        ({"min_count": -1}, r"min_count: -1"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong " + message):
        FrequentTransitions(**settings)
