"""The index and the counter against Python's own dict and Counter."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hoseq.features.index import ExactIndex, KeyCounter
from spacy_hoseq.features.keys import bits_of, shortened

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


def test_shape_is_kept():
    index = ExactIndex(SETS["many"])
    asked = SETS["many"][:60].reshape(3, 20).copy()
    asked[1, 4] = 0
    rows = index.lookup(asked)
    assert rows.shape == (3, 20) and rows.dtype == np.int32
    flat = asked.reshape(-1)
    expected = [int(index.lookup(flat[i : i + 1])[0]) for i in range(60)]
    assert rows.reshape(-1).tolist() == expected
    assert rows[1, 4] == index.n_rows
    assert index.lookup(np.zeros((4, 0), U64)).shape == (4, 0)


@pytest.mark.parametrize("min_count", [1, 2, 3, 1000])
def test_counter_is_that_of_collections(min_count):
    data = RNG.integers(0, 60, size=900).astype(U64) ** U64(11)
    counter = KeyCounter()
    blocks = data[:1].reshape(1, 1), data[1:400].reshape(3, 133)
    for batch in (*blocks, np.zeros((2, 0), U64), data[400:]):
        counter.add(batch)
    expected = Counter(int(key) for key in data if key)
    frequent = sorted(key for key, n in expected.items() if n >= min_count)
    assert counter.frequent(min_count).tolist() == frequent


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
