"""How arrays, tables and keys are packed, and what is found of damage."""

import tracemalloc
import zlib

import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_hoseq.layers.weights.storage import (
    CELLS,
    COLUMNS,
    NUMBERS,
    WEIGHTS,
    SparseTable,
    keys_problem,
    pack_array,
    pack_extra,
    pack_keys,
    read_layer,
    unpack_array,
    unpack_extra,
    unpack_keys,
    write_layer,
)
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.learning.used_weights import UsedCells, UsedRows

from ...stored import as_format_4

RNG = np.random.default_rng(5)
ARRAYS = {  # with the types that there may be
    "bytes": (RNG.integers(0, 256, 300).astype(np.uint8), COLUMNS),
    "shorts": (RNG.integers(0, 2**16, 30).astype(np.uint16), COLUMNS),
    "halves": (RNG.normal(size=50).astype(np.float16), WEIGHTS),
    "singles": (RNG.normal(size=50).astype(np.float32), WEIGHTS),
    "big-endian": (np.arange(-3, 3, dtype=">i4"), NUMBERS),
    "one": (np.array([2**63], np.uint64), ["<u8"]),
    "matrix": (np.arange(6, dtype=np.int32).reshape(2, 3), NUMBERS),
    "none": (np.zeros(0, np.float16), WEIGHTS),
    "no columns": (np.zeros((3, 0), np.int32), NUMBERS),
}


def through_msgpack(packed):
    return srsly.msgpack_loads(srsly.msgpack_dumps(packed))


def all_cells(values):
    return UsedRows(values.shape, np.arange(len(values)), values).cells()


@pytest.mark.parametrize("name", ARRAYS)
def test_packed_arrays_are_restored(name):
    array, types = ARRAYS[name]
    back = unpack_array(through_msgpack(pack_array(array)), types)
    assert back.tolist() == array.tolist() and back.dtype == array.dtype.newbyteorder("=")
    assert back.shape == array.shape


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_format_2_say_their_type(name):
    """Which must be one of those that there may be."""
    array, types = ARRAYS[name]
    packed = pack_array(array.reshape(-1))
    named = {"size": array.size, "bytes": packed["bytes"], "dtype": array.dtype.newbyteorder("<").str}
    assert unpack_array(named, types).tolist() == array.reshape(-1).tolist()
    for other in (named["dtype"].replace("<", ">").replace("|", ">"), "<g", "<f8", "what", "|O", "<m8"):
        with pytest.raises(ValueError, match="do not fit together"):
            unpack_array({**named, "dtype": other}, types)


def test_plain_arrays_of_other_types_are_refused():
    for array in (np.arange(3, dtype=">u8"), np.arange(3, dtype=np.int64), np.arange(3.0)):
        with pytest.raises(ValueError, match="do not fit together"):
            unpack_array(array, ["<u8"])
    assert unpack_array(np.arange(3, dtype=np.uint64), ["<u8"]).tolist() == [0, 1, 2]


def test_bytes_of_each_place_lie_together():
    """Little end first: the second places of small numbers are zeros, which cost nothing."""
    packed = pack_array(np.array([1, 2, 0x0305], np.uint16))
    assert zlib.decompress(packed["bytes"]) == bytes([1, 2, 5, 0, 0, 3])
    assert packed["shape"] == [3] and set(packed) == {"shape", "bytes"}
    small = np.random.default_rng(1).integers(0, 256, 4000)
    assert len(pack_array(small.astype(np.uint64))["bytes"]) < 1.1 * 4000


KEYS = {
    "ascending": np.sort(RNG.integers(1, 2**63, 200).astype(np.uint64) * np.uint64(2)),
    "any order": RNG.integers(1, 2**63, 200).astype(np.uint64) * np.uint64(2) + np.uint64(1),
    "ends": np.array([2**64 - 1, 1, 2**64 - 1], np.uint64),
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


def test_extras_pack_all_their_arrays():
    patterns = {"labels": np.array([0, -1, 7], np.int32), "sets": np.eye(3, dtype=np.uint8)}
    extra = {"keys": KEYS["ascending"], "n_tokens": 3, "values": KEYS["any order"], "patterns": patterns}
    back = unpack_extra(through_msgpack(pack_extra(extra)))
    assert back["n_tokens"] == 3 and list(back) == list(extra)
    for one, other in ((back, extra), (back["patterns"], patterns)):
        for name, array in other.items():
            if isinstance(array, np.ndarray):
                assert one[name].tolist() == array.tolist() and one[name].dtype == array.dtype
    groups = {"keys": [KEYS["ascending"], KEYS["none"]]}
    assert [g.tolist() for g in unpack_extra(pack_extra(groups))["keys"]] == [g.tolist() for g in groups["keys"]]
    assert pack_extra({"hash_rows": 4}) == unpack_extra({"hash_rows": 4}) == {"hash_rows": 4}
    assert isinstance(extra["keys"], np.ndarray), "the layer's own is unchanged"


def test_tables_list_what_is_not_zero():
    table = SparseTable.of(all_cells(np.array([[0, 0.1, 0], [0, 0, 0], [-2, 0, 3]], np.float32)))
    assert (table.shape, table.double) == ((3, 3), False)
    assert table.rows.tolist() == [0, 2, 2] and table.columns.tolist() == [1, 0, 2]
    assert table.values.tolist() == [float(np.float16(0.1)), -2, 3]
    used = table.used()
    assert (used.shape, used.rows.tolist()) == ((3, 3), [0, 2])
    assert used.values.tolist() == [[0, float(np.float16(0.1)), 0], [-2, 0, 3]]
    assert used.dense().tolist() == [[0, float(np.float16(0.1)), 0], [0, 0, 0], [-2, 0, 3]]
    again = SparseTable.of(used.cells())
    assert all(np.array_equal(a, b) for a, b in zip(again, table, strict=True)), "with the rows in use as with all"


@pytest.mark.parametrize("shape, n_bytes", [((2, 255), 1), ((1, 256), 1), ((1, 257), 2), ((1, 65537), 4)])
def test_numbers_have_as_many_bytes_as_the_columns_need(shape, n_bytes):
    table = SparseTable.of(all_cells(np.ones(shape)))
    assert table.columns.itemsize == n_bytes
    assert np.array_equal(table.used().dense(), np.ones(shape))


def test_cells_worked_out_by_hand():
    """Column 2 is used three times, column 0 twice, column 3 once, column 1 never: their numbers are 0, 1, 2. The cells
    in use are then 0, 1; 3; 6, 7, 8 in an array of three columns."""
    table = np.array([[5, 0, 6, 0], [0, 0, 7, 0], [8, 0, 9, 1]], np.float32)
    packed = SparseTable.of(all_cells(table)).packed()
    assert unpack_array(packed["order"], COLUMNS).tolist() == [2, 0, 3]
    assert unpack_array(packed["cells"], CELLS).tolist() == [0, 1, 2, 3, 1, 1]
    assert unpack_array(packed["values"], WEIGHTS).tolist() == [6, 5, 7, 9, 8, 1]
    assert SparseTable.unpacked(packed).used().dense().tolist() == table.tolist()


@pytest.mark.parametrize(
    "n_rows, n_distinct, is_numbered", [(100, 3, True), (8, 3, False), (1100, 256, True), (1100, 257, False)]
)
def test_few_values_are_numbered(n_rows, n_distinct, is_numbered):
    """If four times as many weights have them, and a byte can number them."""
    table = 1 + (np.arange(n_rows, dtype=np.float32) % n_distinct)[:, None]
    packed = SparseTable.of(all_cells(table)).packed()
    assert ("distinct" in packed) == is_numbered
    assert SparseTable.unpacked(packed).used().dense().tolist() == table.tolist()


SHAPES = st.tuples(st.integers(0, 9), st.integers(1, 9))


@given(arrays(np.float32, SHAPES, elements=st.sampled_from([0, 0, 0, 1, -2, 0.1])))
def test_any_table_is_restored(table):
    packed = through_msgpack(SparseTable.of(all_cells(table)).packed())
    assert np.array_equal(SparseTable.unpacked(packed).used().dense(), np.float16(table))


@pytest.mark.parametrize("cells", [(0, 3), (1, 2**33)])
def test_cells_far_apart(cells):
    """Their distance needs more bits than a number of a column."""
    used = UsedCells((2**32, 4), np.array(cells), np.ones(2, np.float32))
    again = SparseTable.unpacked(SparseTable.of(used).packed())
    assert (again.rows * 4 + again.columns).tolist() == list(cells)


def test_columns_of_cells_cost_less():
    """7 of 49 columns: log2(49 choose 7) / 7 = 3.8 bits a cell and not 5.6, if all are as frequent."""
    rng = np.random.default_rng(0)
    table = np.zeros((5000, 49), np.float32)
    for row in table:
        row[rng.choice(49, 7, replace=False)] = 1
    packed = SparseTable.of(all_cells(table)).packed()
    assert 3.5 < 8 * len(packed["cells"]["bytes"]) / (7 * 5000) < 4.6


def cut(packed, **parts):
    return {**packed, **parts}


PACKED = pack_array(np.arange(9, dtype=np.int32))
DAMAGED = {
    "another size": cut(PACKED, shape=[8]),
    "a huge size": cut(PACKED, shape=[2**50]),
    "a size beyond all numbers": cut(PACKED, shape=[2**40, 2**40]),
    "a negative size": cut(PACKED, shape=[-1]),
    "two negative sizes": cut(PACKED, shape=[-3, -3]),
    "no size": cut(PACKED, shape=None),
    "another type": pack_array(np.arange(9, dtype=np.int64)),
    "cut": cut(PACKED, bytes=PACKED["bytes"][:-1]),
    "more": cut(PACKED, bytes=PACKED["bytes"] + b"x"),
    "a flipped bit": cut(PACKED, bytes=PACKED["bytes"][:-1] + bytes([PACKED["bytes"][-1] ^ 1])),
    "no bytes": cut(PACKED, bytes=None),
    "nothing": {},
}


@pytest.mark.parametrize("packed", DAMAGED.values(), ids=DAMAGED)
def test_damaged_arrays_are_refused(packed):
    with pytest.raises(Exception):  # noqa: B017 (whichever it is, shims give it a code)
        unpack_array(packed, NUMBERS)


def test_arrays_that_expand_without_end_are_cut_off():
    """What is announced is all that is unpacked, whatever the compressed bytes would give."""
    bomb = cut(pack_array(np.zeros(10**7, np.uint8)), shape=[10])
    with pytest.raises(ValueError, match="do not fit together"):
        unpack_array(bomb, COLUMNS)


def test_arrays_of_a_negative_size_are_not_unpacked_at_all():
    """zlib takes a limit of 0 bytes for none."""
    bomb = cut(pack_array(np.zeros(10**8, np.uint8)), shape=[-1])
    tracemalloc.start()
    with pytest.raises(ValueError, match="do not fit together"):
        unpack_array(bomb, COLUMNS)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


TABLE = SparseTable.of(all_cells(np.eye(3, dtype=np.float32)))


@pytest.mark.parametrize(
    "parts",
    [
        {"shape": (3, 2**40)},
        {"shape": (3, 300)},
        {"shape": (3, 1, 2**30)},
        {"rows": np.array([0, 1])},
        {"rows": np.array([0, 1, 3])},
        {"values": np.ones(2, np.float16)},
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


@pytest.mark.parametrize("dtype", ["|O", "|V0", "<M8[s]", "<c16", "<i4", "<g", ">f4", None])
def test_weights_of_format_2_of_wrong_types(dtype):
    packed = {**as_format_4(TABLE.packed()), "dtype": dtype}
    assert SparseTable.unpacked({**packed, "dtype": "<f8"}).shape == (3, 3)
    with pytest.raises((KeyError, TypeError)):
        SparseTable.unpacked(packed)


MADE_FOR = {"templates": ["bias", "orth[0]"], "n_rules": 3}


def written(**changes):
    tables = {"table": all_cells(np.eye(3, dtype=np.float32)), "trans": all_cells(np.ones((2, 2)))}
    data = write_layer("one", MADE_FOR, {"order": 2}, tables, pack_extra({"keys": KEYS["any order"]}))
    return srsly.msgpack_dumps({**srsly.msgpack_loads(data), **changes}) if changes else data


def test_what_a_layer_saves_is_restored():
    saved = read_layer(written(), "one", MADE_FOR)
    assert (saved.made_for, saved.settings) == (MADE_FOR, {"order": 2})
    assert saved.tables["table"].dense().tolist() == np.eye(3).tolist()
    types = {name: table.values.dtype for name, table in saved.tables.items()}
    assert types == {"table": np.float32, "trans": np.float64}
    assert saved.extra["keys"].tolist() == KEYS["any order"].tolist()


def test_types_are_those_of_the_format():
    """No word of them is in the file."""
    assert b"dtype" not in written() and b"<u8" not in written() and b"<f2" not in written()


@pytest.mark.parametrize(
    "made_for, got, expected",
    [
        ({**MADE_FOR, "templates": ["bias", "lower[0]"]}, r"templates \['orth\[0\]'\]", r"\['lower\[0\]'\]"),
        (
            {**MADE_FOR, "templates": ["orth[0]", "bias"]},
            r"templates \['bias', 'orth\[0\]'\]",
            r"\['orth\[0\]', 'bias'\]",
        ),
        ({**MADE_FOR, "n_rules": 2}, "n_rules 3", "2"),
        ({"templates": MADE_FOR["templates"]}, "n_rules 3", "None"),
        ({**MADE_FOR, "order": 1}, "order None", "1"),
    ],
)
def test_weights_that_were_made_for_another_config(made_for, got, expected):
    with pytest.raises(ValueError, match=rf"\[HS051\].*\"one\" were made for {got}, but .* has {expected}\."):
        read_layer(written(), "one", made_for)


@pytest.mark.parametrize("version", [0, 6, 99, -1])
def test_formats_of_other_versions(version):
    with pytest.raises(ValueError, match=rf"\[HS059\].*\"one\" are of format {version}, .*formats 1 to 5"):
        read_layer(written(format=version), "one", MADE_FOR)


def test_messages_without_a_number_are_of_the_first_format():
    """They do not say what they were made for."""
    old = {"layer": "one", "arrays": {}, "nonnegative": {"x": True}, "extra": {"hash_rows": 3}}
    saved = read_layer(srsly.msgpack_dumps(old), "one", MADE_FOR)
    assert saved == (MADE_FOR, {"nonnegative": {"x": True}}, {}, {"hash_rows": 3})
    for data in (b"hello", srsly.msgpack_dumps([1]), srsly.msgpack_dumps({"format": "new"}), written(tables=[])):
        with pytest.raises(ValueError, match=r"\[HS050\].*\"one\""):
            read_layer(data, "one", MADE_FOR)


@pytest.mark.parametrize("n_columns", [1, 256, 257, 70_000])
def test_tables_without_weights(n_columns):
    table = Parameter("x", np.zeros((3, n_columns), np.float32)).finished_cells(averaged=False)
    used = SparseTable.unpacked(SparseTable.of(table).packed()).used()
    assert used.shape == (3, n_columns) and not len(used.rows)
    with pytest.raises(ValueError):
        SparseTable.unpacked({**SparseTable.of(table).packed(), "shape": [3, 1 << 40]}).used()
