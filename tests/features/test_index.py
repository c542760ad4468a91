"""Both indexes and the counter against Python's own dict and Counter."""

import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hoseq.features import index
from spacy_hoseq.features.index import (
    ExactIndex,
    GrowingTable,
    HashedIndex,
    KeyCounter,
    KeyedValues,
)
from spacy_hoseq.features.keys import bits_of, shortened
from spacy_hoseq.layers.sparse_linear import SparseLinear

RNG = np.random.default_rng(7)
U64 = np.uint64


def random_keys(n):
    keys = np.unique(RNG.integers(1, 2**64, size=n, dtype=U64))
    RNG.shuffle(keys)
    return keys


SETS = {
    "none": np.zeros(0, U64),
    "one": np.array([2**64 - 1], U64),
    "half full": random_keys(8),
    "more than half": random_keys(9),
    "many": random_keys(5000),
    "consecutive": np.arange(1, 300, dtype=U64),
    "equal low bits": (np.arange(200, dtype=U64) << U64(32)) | U64(5),
    "slot zero": np.arange(1, 100, dtype=U64) << U64(40),
    "wrap around": (np.arange(150, dtype=U64) << U64(20)) | U64(2**20 - 1),
    "two heaps": np.concatenate(
        [(np.arange(60, dtype=U64) << U64(30)) | U64(low) for low in (1, 3)]
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_exact_lookup_is_that_of_a_dict(name):
    keys = SETS[name]
    index = ExactIndex(keys)
    table = {int(key): row for row, key in enumerate(keys)}
    assert index.n_rows == len(table) == len(keys)
    near = np.concatenate([keys + U64(1), keys - U64(1), keys ^ U64(1 << 63), keys << U64(1)])
    asked = np.concatenate([keys, near, random_keys(500), np.zeros(3, U64)])
    RNG.shuffle(asked)
    assert index.lookup(asked).tolist() == [table.get(int(key), len(keys)) for key in asked]


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("sizes", [[1], [1, 2, 3], [16, 5], [1000]])
def test_keys_that_are_added_get_the_next_rows(name, sizes):
    keys, index, table = SETS[name], ExactIndex(np.zeros(0, U64)), {}
    asked = np.concatenate([keys, keys + U64(1), random_keys(50), np.zeros(2, U64)])
    at = 0
    for size in (sizes * len(keys))[:40]:
        part = keys[at : at + size]
        at += size
        index.add(part)
        table.update({int(key): len(table) + i for i, key in enumerate(part)})
        assert index.n_rows == len(table)
        assert index.lookup(asked).tolist() == [table.get(int(key), len(table)) for key in asked]


@settings(max_examples=max(100, settings.default.max_examples))
@given(
    st.sets(st.integers(1, 40) | st.integers(2**63, 2**63 + 40), max_size=30),
    st.lists(st.integers(0, 60)),
)
def test_exact_lookup_of_crowded_keys(known, asked):
    keys = np.array(sorted(known, key=lambda key: key % 7), U64)
    rows = ExactIndex(keys).lookup(np.array(asked, U64))
    table = {int(key): row for row, key in enumerate(keys)}
    assert rows.tolist() == [table.get(key, len(keys)) for key in asked]


@pytest.mark.parametrize(
    "index", [ExactIndex(SETS["many"]), HashedIndex(1000)], ids=["exact", "hashed"]
)
def test_shape_is_kept(index):
    asked = SETS["many"][:60].reshape(3, 20).copy()
    asked[1, 4] = 0
    rows = index.lookup(asked)
    assert rows.shape == (3, 20) and rows.dtype == np.int32
    assert rows.reshape(-1).tolist() == [
        int(index.lookup(asked.reshape(-1)[i : i + 1])[0]) for i in range(60)
    ]
    assert rows[1, 4] == index.n_rows
    assert index.lookup(np.zeros((4, 0), U64)).shape == (4, 0)


@pytest.mark.parametrize("n_rows", [1, 7, 1024, 2**31 - 2])
def test_hashed_row_is_the_remainder(n_rows):
    keys = np.concatenate([SETS["many"][:100], np.array([0, 1, 2**64 - 1], U64)])
    expected = [int(key) % n_rows if key else n_rows for key in keys]
    assert HashedIndex(n_rows).lookup(keys).tolist() == expected


@pytest.mark.parametrize("n_rows", [0, -5, 2**31 - 1])
def test_impossible_number_of_rows(n_rows):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong hash_rows: {n_rows}"):
        SparseLinear(["bias"], hash_rows=n_rows)


@pytest.mark.parametrize("min_count", [1, 2, 3, 1000])
def test_counter_is_that_of_collections(min_count):
    data = RNG.integers(0, 60, size=900).astype(U64) ** U64(11)
    counter = KeyCounter()
    for batch in (
        data[:1].reshape(1, 1),
        data[1:400].reshape(3, 133),
        np.zeros((2, 0), U64),
        data[400:],
    ):
        counter.add(batch)
    expected = Counter(int(key) for key in data if key)
    assert counter.frequent(min_count).tolist() == sorted(
        key for key, n in expected.items() if n >= min_count
    )


@pytest.mark.parametrize("n_keys, bits", [(0, 0), (1, 17), (10, 20), (1000, 27), (5000, 29)])
def test_short_keys_are_found_as_long_ones(n_keys, bits):
    """And of 20,000 others at most two are: one is expected in five such tests."""
    keys = np.random.default_rng(n_keys).integers(1, 2**64, size=n_keys, dtype=U64)
    short = shortened(keys)
    assert (short < U64(2**bits)).all() and bits_of(short) <= bits
    index = ExactIndex(short, bits_of(short))
    assert index.lookup(keys).tolist() == list(range(n_keys))
    others = np.random.default_rng(n_keys + 1).integers(1, 2**64, size=20_000, dtype=U64)
    assert (index.lookup(others) < n_keys).sum() <= 2
    assert index.lookup(np.zeros(1, U64)).tolist() == [n_keys]
    assert (shortened(short) == short).all()


# Rows that are kept: those of the definition, whatever was asked before, by however many threads


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
