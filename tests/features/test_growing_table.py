"""Rows that are kept: those of the definition, whatever was asked before, by however many threads."""

import threading

import numpy as np
import pytest

from spacy_hoseq.features import index
from spacy_hoseq.features.index import GrowingTable, KeyedValues


def rows_of(keys):
    """The definition: a row for each key; that of every third one is zero."""
    keys = np.asarray(keys).astype(np.int64)
    return np.stack([keys + 7, -keys], axis=-1) * (keys % 3 != 0)[..., None]


def empty():
    return GrowingTable(np.zeros((1, 2), np.int64))


def asked(table, keys, make=rows_of):
    rows, kept = table.of(keys, make)
    assert rows.shape == keys.shape and rows.max(initial=-1) < len(kept)
    assert np.array_equal(rows == 0, keys % 3 == 0), "rows of zeros are one"
    return kept[rows]


def batches(seed=0, least=0, n=30):
    rng = np.random.default_rng(seed)
    return [rng.integers(least, least + 4 * (i + 1), size=rng.integers(0, 12)) for i in range(n)]


def test_each_row_is_made_once():
    table, made = empty(), []

    def make(keys):
        assert (np.diff(keys) > 0).all(), "each once, ascending"
        made.extend(keys.tolist())
        return rows_of(keys)

    for keys in batches():
        assert np.array_equal(asked(table, keys, make), rows_of(keys))
        assert len(table) == sum(key % 3 != 0 for key in made)
    assert len(made) == len(set(made)) > 20


def test_arrays_that_were_given_out_stay():
    table = empty()
    rows, kept = table.of(np.arange(3), rows_of)
    before = kept[rows].copy()
    for keys in batches():
        table.of(keys, rows_of)
    assert np.array_equal(kept[rows], before)


@pytest.mark.parametrize("most", [1, 10, 1000])
def test_values_of_keys(monkeypatch, most):
    monkeypatch.setattr(index, "MOST_VALUES", most)
    values, made = KeyedValues(np.int32), []
    for keys in batches(least=1, n=60):
        def make(some, keys=keys):
            made.extend(keys[some].tolist())
            assert len({*keys[some].tolist()}) == len(some)
            return (keys[some] * 3 - 7).astype(np.int32)
        found = values.of(keys.astype(np.uint64), make)
        assert found.dtype == np.int32 and found.tolist() == (keys * 3 - 7).tolist()
    assert (len(made) > len({*made})) == (most < 1000)


def test_several_threads():
    table, wrong = empty(), []

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
