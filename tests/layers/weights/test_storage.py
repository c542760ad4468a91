"""How arrays, tables and keys are packed, and what is found of damage."""

import tracemalloc
import zlib

import numpy as np
import pytest
import srsly

from spacy_hoseq.layers.weights.storage import (
    SparseTable,
    all_cells,
    keys_problem,
    pack_array,
    pack_extra,
    pack_keys,
    read_message,
    unpack_array,
    unpack_extra,
    unpack_keys,
)

RNG = np.random.default_rng(5)
ARRAYS = {
    "bytes": RNG.integers(0, 256, 300).astype(np.uint8),
    "halves": RNG.normal(size=50).astype(np.float16),
    "doubles": RNG.normal(size=7),
    "big-endian": np.arange(-3, 3, dtype=">i4"),
    "one": np.array([2**63], np.uint64),
    "none": np.zeros(0, np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_packed_arrays_are_restored(name):
    array = ARRAYS[name]
    back = unpack_array(srsly.msgpack_loads(srsly.msgpack_dumps(pack_array(array))))
    assert back.tolist() == array.tolist() and back.dtype == array.dtype.newbyteorder("=")


def test_bytes_of_each_place_lie_together():
    """Little end first: the second places of small numbers are zeros, which cost nothing."""
    packed = pack_array(np.array([1, 2, 0x0305], np.uint16))
    assert zlib.decompress(packed["bytes"]) == bytes([1, 2, 5, 0, 0, 3])
    assert (packed["size"], packed["dtype"]) == (3, "<u2")
    small = np.random.default_rng(1).integers(0, 256, 4000)
    assert len(pack_array(small.astype(np.uint64))["bytes"]) < 1.1 * 4000


KEYS = {
    "ascending": np.sort(RNG.integers(1, 2**63, 200).astype(np.uint64) * np.uint64(2)),
    "any order": RNG.integers(1, 2**63, 200).astype(np.uint64) * np.uint64(2) + np.uint64(1),
    "ends": np.array([2**64 - 1, 1, 2**64 - 1], np.uint64),
    "rows": np.array([0, 3, 4, 2**31 - 1], np.int32),
    "descending rows": np.array([2**31 - 1, 5, 0, -7], np.int32),
    "none": np.zeros(0, np.uint64),
}


@pytest.mark.parametrize("name", KEYS)
def test_packed_keys_are_restored(name):
    back = unpack_keys(pack_keys(KEYS[name]))
    assert back.tolist() == KEYS[name].tolist() and back.dtype == KEYS[name].dtype


def test_ascending_keys_cost_less():
    """64 - log2(F) + 1.5 bits each, rounded up to bytes but for the highest."""
    keys = np.random.default_rng(0).integers(1, 2**63, 20_000).astype(np.uint64) * np.uint64(2)
    assert len(pack_keys(np.sort(keys))["bytes"]) < 6.6 * 20_000
    assert len(pack_keys(keys)["bytes"]) > 7.9 * 20_000


def test_extras_pack_their_keys_only():
    extra = {"keys": KEYS["ascending"], "n_tokens": 3, "values": KEYS["any order"]}
    packed = pack_extra(extra)
    assert isinstance(packed["keys"], dict) and packed["values"] is extra["values"]
    assert unpack_extra(packed)["keys"].tolist() == extra["keys"].tolist()
    groups = {"keys": [KEYS["ascending"], KEYS["none"]]}
    assert [g.tolist() for g in unpack_extra(pack_extra(groups))["keys"]] == [g.tolist() for g in groups["keys"]]
    assert pack_extra({"hash_rows": 4}) == unpack_extra({"hash_rows": 4}) == {"hash_rows": 4}
    assert isinstance(extra["keys"], np.ndarray), "the layer's own is unchanged"


def test_tables_list_what_is_not_zero():
    table = SparseTable.of(all_cells(np.array([[0, 0.1, 0], [0, 0, 0], [-2, 0, 3]], np.float32)))
    assert (table.shape, table.dtype) == ((3, 3), "<f4")
    assert table.counts.tolist() == [1, 0, 2] and table.columns.tolist() == [1, 0, 2]
    assert table.values.tolist() == [float(np.float16(0.1)), -2, 3]
    used = table.used()
    assert (used.shape, used.rows.tolist()) == ((3, 3), [0, 2])
    assert used.values.tolist() == [[0, float(np.float16(0.1)), 0], [-2, 0, 3]]
    assert used.dense().tolist() == [[0, float(np.float16(0.1)), 0], [0, 0, 0], [-2, 0, 3]]
    again = SparseTable.of(used.cells())
    assert all(np.array_equal(a, b) for a, b in zip(again, table, strict=True)), "with the rows in use as with all"


@pytest.mark.parametrize(
    "shape, counts, columns", [((2, 255), 1, 1), ((1, 256), 2, 1), ((1, 257), 2, 2), ((1, 65537), 4, 4)]
)
def test_numbers_have_as_many_bytes_as_the_columns_need(shape, counts, columns):
    table = SparseTable.of(all_cells(np.ones(shape)))
    assert (table.counts.itemsize, table.columns.itemsize) == (counts, columns)
    assert np.array_equal(table.used().dense(), np.ones(shape))


def cut(packed, **parts):
    return {**packed, **parts}


PACKED = pack_array(np.arange(9, dtype=np.int32))
DAMAGED = {
    "another size": cut(PACKED, size=8),
    "a huge size": cut(PACKED, size=2**50),
    "a negative size": cut(PACKED, size=-1),
    "numbers of no bytes": cut(pack_array(np.zeros(0, np.int32)), size=2**40, dtype="|V0"),
    "texts": cut(pack_array(np.zeros(40, np.uint8)), size=10, dtype="<U1"),
    "another type": cut(PACKED, dtype="<i8"),
    "objects": cut(PACKED, dtype="|O"),
    "cut": cut(PACKED, bytes=PACKED["bytes"][:-1]),
    "a flipped bit": cut(PACKED, bytes=PACKED["bytes"][:-1] + bytes([PACKED["bytes"][-1] ^ 1])),
    "no bytes": cut(PACKED, bytes=None),
    "nothing": {},
}


@pytest.mark.parametrize("packed", DAMAGED.values(), ids=DAMAGED)
def test_damaged_arrays_are_refused(packed):
    with pytest.raises(Exception):  # noqa: B017 (whichever it is, shims give it a code)
        unpack_array(packed)


def test_arrays_that_expand_without_end_are_cut_off():
    """What is announced is all that is unpacked, whatever the compressed bytes would give."""
    bomb = cut(pack_array(np.zeros(10**7, np.uint8)), size=10)
    with pytest.raises(ValueError, match="do not fit together"):
        unpack_array(bomb)


def test_arrays_of_a_negative_size_are_not_unpacked_at_all():
    """zlib takes a limit of 0 bytes for none."""
    bomb = cut(pack_array(np.zeros(10**8, np.uint8)), size=-1)
    tracemalloc.start()
    with pytest.raises(ValueError, match="do not fit together"):
        unpack_array(bomb)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


TABLE = SparseTable.of(all_cells(np.eye(3, dtype=np.float32)))


@pytest.mark.parametrize(
    "parts",
    [
        {"shape": (3, 2**40)},
        {"shape": (3, 300)},
        {"shape": (3, 1, 2**30)},
        {"dtype": "|O"},
        {"dtype": "|V0"},
        {"dtype": "<M8[s]"},
        {"dtype": "<c16"},
        {"dtype": "<i4"},
        {"values": np.ones(3, np.int32)},
    ],
)
def test_tables_that_cannot_be_weights(parts):
    """More columns than their numbers can name, which may need all memory; what does not count as a number."""
    with pytest.raises(ValueError, match="do not fit together"):
        TABLE._replace(**parts).used()


@pytest.mark.parametrize(
    "keys, problem",
    [
        (np.array([5, 6, 9], np.uint64), ""),
        (np.array([9, 5, 6], np.uint64), ""),
        (np.zeros(0, np.uint64), ""),
        (np.array([5, 5, 6], np.uint64), "twice"),
        (np.array([6, 5, 6], np.uint64), "twice"),
        (np.array([0, 5], np.uint64), "64-bit numbers above 0"),
        (np.array([5, 6], np.int64), "64-bit numbers above 0"),
        (np.array([[5, 6]], np.uint64), "64-bit numbers above 0"),
        ([5, 6], "64-bit numbers above 0"),
    ],
)
def test_problems_of_keys(keys, problem):
    assert problem in keys_problem(keys) and bool(problem) == bool(keys_problem(keys))


@pytest.mark.parametrize("version", [0, 3, 99, -1])
def test_formats_of_other_versions(version):
    with pytest.raises(ValueError, match=rf"\[HS059\].*\"one\" are of format {version}, .*formats 1 to 2"):
        read_message(srsly.msgpack_dumps({"format": version}), "one")


def test_messages_without_a_number_are_of_the_first_format():
    assert read_message(srsly.msgpack_dumps({"layer": "x"}), "one") == {"layer": "x"}
    for data in (b"hello", srsly.msgpack_dumps([1]), srsly.msgpack_dumps({"format": "new"})):
        with pytest.raises(ValueError, match=r"\[HS050\].*\"one\""):
            read_message(data, "one")
