"""The best of the labels that a word can have: by enumeration."""

import numpy as np
import pytest

from spacy_hoseq.layers.candidates import CandidateLists, NarrowTables

N_FEATURES, N_LABELS, N_WORDS, N_TEMPLATES = 60, 23, 300, 7


@pytest.mark.parametrize("bits", [64, 20])
@pytest.mark.parametrize("largest", [1, 2, 9, N_LABELS])
def test_the_largest_sum_of_the_list(largest, bits):
    """Of equal labels the first. Keys may have bits that are not compared, and be of no feature."""
    rng = np.random.default_rng(largest)
    keys = rng.choice(2**20 - 1, N_FEATURES, replace=False).astype(np.uint64) + 1
    # whole numbers, so that sums tie; most of them zero
    table = rng.integers(-2, 3, (N_FEATURES + 1, N_LABELS)).astype(np.float32)
    table[rng.random(table.shape) < 0.8] = 0
    table[-1] = 0
    sizes = [1, largest, *rng.integers(1, largest + 1, 6)]
    lists = [np.sort(rng.choice(N_LABELS, size, replace=False)) for size in sizes]
    rows = rng.integers(0, N_FEATURES + 1, (N_TEMPLATES, N_WORDS))
    word_keys = np.append(keys, np.uint64(2**20)).take(rows)
    if bits < 64:
        word_keys |= np.uint64(1 << 40)
        word_keys[rows == N_FEATURES] = 0
    list_of = rng.integers(0, len(lists), N_WORDS)
    narrow = NarrowTables(CandidateLists(lists), keys, table, bits)
    best = narrow.best(list_of, lambda words: word_keys[:, words])
    for word, label in enumerate(best.tolist()):
        labels = lists[list_of[word]]
        assert label == labels[table[rows[:, word]].sum(axis=0)[labels].argmax()]
