"""Values of word types: those of the definition, whatever was asked before, by however many threads."""

import threading

import numpy as np
import pytest

from spacy_hoseq.features.type_cache import TypeCache

KINDS = pytest.mark.parametrize("hashed", [False, True], ids=["numbers", "hashes"])


def values_of(keys):
    """The definition: two values for each key; those of every third one are zero."""
    keys = np.asarray(keys).astype(np.int64)
    return np.stack([keys + 7, -keys], axis=-1) * (keys % 3 != 0)[..., None]


class Cached:
    """A cache, and the keys whose values it computed."""

    def __init__(self, hashed, max_rows=1000):
        self.cache = TypeCache(2, np.int64, max_rows, hashed=hashed)
        self.computed = []
        self.hashed = hashed

    def __call__(self, keys):
        def compute(places):
            some = keys.reshape(-1)[places].tolist()
            assert len({*some}) == len(some), "each type once"
            self.computed += some
            return values_of(some)

        rows, table = self.cache.of(keys.astype(np.uint64) if self.hashed else keys, compute)
        assert rows.shape == keys.shape and rows.max(initial=-1) < len(table)
        assert np.array_equal(rows == 0, keys % 3 == 0), "rows of zeros are one"
        return rows, table


def batches(seed=0, n=30):
    """0 is no key if keys are hashes."""
    rng = np.random.default_rng(seed)
    return [rng.integers(1, 1 + 4 * (i + 1), size=rng.integers(0, 12)) for i in range(n)]


@KINDS
def test_each_type_is_computed_once(hashed):
    cached = Cached(hashed)
    for keys in [*batches(), np.arange(1, 31).reshape(3, 10)]:
        rows, table = cached(keys)
        assert np.array_equal(table[rows], values_of(keys))
        assert len(cached.cache) == sum(key % 3 != 0 for key in cached.computed)
    assert len(cached.computed) == len({*cached.computed}) > 20


@KINDS
@pytest.mark.parametrize("max_rows", [1, 10])
def test_all_are_forgotten_beyond_the_bound(hashed, max_rows):
    cached = Cached(hashed, max_rows)
    for keys in batches(n=60):
        rows, table = cached(keys)
        assert np.array_equal(table[rows], values_of(keys)) and len(cached.cache) <= max_rows
    assert len(cached.computed) > len({*cached.computed})


def test_keys_without_values_count_too():
    """A stream of hashes whose values are zero runs in bounded memory."""
    cached = Cached(hashed=True, max_rows=10)
    for _ in range(2):
        for start in range(3, 90, 3):
            cached(np.array([start]))
    assert len(cached.computed) > len({*cached.computed})


@KINDS
def test_tables_that_were_given_out_stay(hashed):
    cached = Cached(hashed, max_rows=20)
    rows, table = cached(np.arange(1, 4))
    before = table[rows].copy()
    for keys in batches():
        cached(keys)
    assert np.array_equal(table[rows], before)


@KINDS
def test_a_failure_is_not_cached(hashed):
    cached = Cached(hashed)
    cached(np.array([1, 3]))
    with pytest.raises(ZeroDivisionError):
        cached.cache.of(np.array([1, 2], np.uint64 if hashed else np.intp), lambda _: 1 / 0)
    rows, table = cached(np.array([2, 1]))
    assert np.array_equal(table[rows], values_of([2, 1])) and cached.computed == [1, 3, 2]


@KINDS
def test_several_threads(hashed):
    cached, wrong = Cached(hashed, max_rows=50), []

    def work(seed):
        for keys in batches(seed, n=200):
            rows, table = cached(keys)
            if not np.array_equal(table[rows], values_of(keys)):
                wrong.append(keys)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
