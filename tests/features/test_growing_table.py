"""Rows that are kept: those of the definition, whatever was asked before, by however many threads."""

import copy
import pickle
import threading

import numpy as np
import pytest

from spacy_hoseq.features.index import GrowingTable

NOTHING = np.zeros((0, 2), np.int64)


def rows_of(keys):
    """The definition: a row for each key; that of every third one is zero."""
    keys = np.asarray(keys).astype(np.int64)
    return np.stack([keys + 7, -keys], axis=-1) * (keys % 3 != 0)[..., None]


def asked(table, keys, make=rows_of):
    rows, kept = table.of(keys, make)
    assert rows.shape == keys.shape and rows.max(initial=-1) < len(kept)
    return kept[rows]


def batches(seed=0, least=1, n=30):
    rng = np.random.default_rng(seed)
    return [rng.integers(least, least + 4 * (i + 1), size=rng.integers(0, 12)) for i in range(n)]


@pytest.mark.parametrize("n_first", [0, 1, 3])
def test_rows_of_keys(n_first):
    first = -np.ones((n_first, 2), np.int64)
    table, seen = GrowingTable(first), set()
    for keys in batches():
        assert np.array_equal(asked(table, keys), rows_of(keys))
        seen |= set(keys.tolist())
        assert len(table) == len(seen)
    assert np.array_equal(table.table[:n_first], first), "they stay"


def test_each_row_is_made_once():
    table, made = GrowingTable(NOTHING), []

    def make(keys):
        assert (np.diff(keys) > 0).all(), "each once, ascending"
        made.extend(keys.tolist())
        return rows_of(keys)

    for keys in batches(least=0):
        asked(table, keys, make)
    assert len(made) == len(set(made)) == len(table) > 20


def test_rows_of_zeros_are_one():
    table = GrowingTable(np.zeros((1, 2), np.int64), merged_zeros=True)
    for keys in batches(3):
        rows, kept = table.of(keys, rows_of)
        assert np.array_equal(kept[rows], rows_of(keys))
        assert np.array_equal(rows == 0, keys % 3 == 0)
    assert len(table) == len({key for keys in batches(3) for key in keys.tolist() if key % 3})


def test_arrays_that_were_given_out_stay():
    table = GrowingTable(NOTHING)
    rows, kept = table.of(np.arange(3), rows_of)
    before = kept[rows].copy()
    for keys in batches():
        table.of(keys, rows_of)
    assert np.array_equal(kept[rows], before)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_copies_begin_empty(copied):
    table = GrowingTable(np.ones((1, 2), np.int64))
    table.of(np.arange(1, 5), rows_of)
    other = copied(table)
    assert not len(other) and other.table.tolist() == [[1, 1]]
    keys = np.arange(2, 30)
    assert np.array_equal(asked(other, keys), rows_of(keys)) and len(table) == 4


def test_several_threads():
    table, wrong = GrowingTable(np.zeros((1, 2), np.int64), merged_zeros=True), []

    def work(seed):
        for keys in batches(seed, n=200):
            if not np.array_equal(asked(table, keys), rows_of(keys)):
                wrong.append(keys)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
