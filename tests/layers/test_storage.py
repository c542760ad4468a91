"""How arrays, tables and keys are packed, and what is found of damage."""

from functools import reduce

import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_hoseq.layers.storage import (
    layer_bytes,
    pack_array,
    pack_table,
    read_layer,
    unpack_array,
    unpack_table,
)
from spacy_hoseq.layers.sums import add_cells
from spacy_hoseq.layers.weights import WeightsShim
from spacy_hoseq.learning.used_rows import UsedRows

RNG = np.random.default_rng(5)
ARRAYS = {
    "bytes": RNG.integers(0, 256, 300).astype(np.uint8),
    "shorts": RNG.integers(0, 2**16, 30).astype(np.uint16),
    "halves": RNG.normal(size=50).astype(np.float16),
    "singles": RNG.normal(size=50).astype(np.float32),
    "big-endian": np.arange(-3, 3, dtype=">i4"),
    "one": np.array([2**63], np.uint64),
    "matrix": np.arange(6, dtype=np.int32).reshape(2, 3),
    "none": np.zeros(0, np.float16),
    "no columns": np.zeros((3, 0), np.int32),
}
KEYS = {
    "ascending": np.sort(RNG.integers(1, 2**63, 200).astype(np.uint64) * np.uint64(2)),
    "any order": RNG.integers(1, 2**63, 200).astype(np.uint64) * np.uint64(2) + np.uint64(1),
    "ends": np.array([2**64 - 1, 1, 2**64 - 1], np.uint64),
    "none": np.zeros(0, np.uint64),
}


def through_msgpack(value):
    return srsly.msgpack_loads(srsly.msgpack_dumps(value))


def packed_table(table):
    """As in a file."""
    return through_msgpack(pack_table(UsedRows.of(table)))


def extra_through_file(extra):
    empty = {"format": 1, "layer": "", "made_for": {}, "settings": {}, "tables": {}}
    return read_layer(layer_bytes({**empty, "extra": extra}))["extra"]


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_packed_arrays_are_restored(array):
    back = unpack_array(through_msgpack(pack_array(array)))
    assert back.tolist() == array.tolist() and back.dtype == array.dtype.newbyteorder("=")
    assert back.shape == array.shape


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_packed_keys_are_restored(keys):
    back = extra_through_file({"keys": keys})["keys"]
    assert back.tolist() == keys.tolist() and back.dtype == keys.dtype


def test_extras_pack_all_their_arrays():
    patterns = {"labels": np.array([0, -1, 7], np.int32), "sets": np.eye(3, dtype=np.uint8)}
    extra = {"keys": [KEYS["ascending"], KEYS["none"]], "n_tokens": 3, "patterns": patterns}
    back = extra_through_file(extra)
    assert back["n_tokens"] == 3 and list(back) == list(extra)
    assert [group.tolist() for group in back["keys"]] == [group.tolist() for group in extra["keys"]]
    assert {name: array.tolist() for name, array in back["patterns"].items()} == {
        name: array.tolist() for name, array in patterns.items()
    }


@pytest.mark.parametrize("n_distinct", [1, 3, 256, 257])
def test_few_values_are_numbered(n_distinct):
    """By a byte."""
    table = 1 + (np.arange(1100, dtype=np.float32) % n_distinct)[:, None]
    found = packed_table(table)
    assert ("distinct" in found) == (n_distinct <= 256)
    assert unpack_table(found).dense().tolist() == table.tolist()


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(0, 9), st.integers(1, 9)),
        elements=st.sampled_from([0, 1, -2, 0.1]),
    )
)
def test_any_table_is_restored(table):
    assert np.array_equal(unpack_table(packed_table(table)).dense(), np.float16(table))


def test_sparse_tables_are_read_as_cells():
    """Sums of their rows are the same to the bit, and the table is the same once it is asked for."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 700)).astype(np.float16).astype(np.float32)
    table *= rng.random(table.shape) < np.where(np.arange(300) < 5, 0.5, 0.01)[:, None]
    used = UsedRows.of(table)
    again = unpack_table(through_msgpack(pack_table(used)))
    assert len(again.cells.full) == 5 and again.rows.tolist() == used.rows.tolist()
    rows = rng.integers(0, len(again.rows) + 1, (6, 40))
    sums = reduce(np.add, used.table[rows])
    assert np.array_equal(add_cells(again.cells, rows), sums)
    assert np.array_equal(again.made_table(), used.table) and again.made_table() is not again.table


@pytest.mark.parametrize("row", [3, 2**33])
def test_rows_far_apart(row):
    """Their distance needs more bits than a number of a column."""
    used = UsedRows.of(np.eye(2, dtype=np.float32), np.array([0, row]), row + 1)
    again = unpack_table(through_msgpack(pack_table(used)))
    assert again.shape == (row + 1, 2) and again.rows.tolist() == [0, row]
    assert again.values.tolist() == used.values.tolist()


MADE_FOR = {"templates": ["bias", "orth[0]"], "n_rules": 3}


def written(**changes):
    table = UsedRows.of(np.eye(3, dtype=np.float32))
    tables = {"table": table, "trans": UsedRows.of(np.ones((2, 2)))}
    signs = {"nonnegative": {"table": True, "trans": False}}
    data = WeightsShim("one", MADE_FOR).saved_bytes(signs, tables, {"keys": KEYS["any order"]})
    return srsly.msgpack_dumps({**srsly.msgpack_loads(data), **changes}) if changes else data


def read(data, made_for=MADE_FOR):
    return WeightsShim("one", made_for).from_bytes(data)


def test_what_a_layer_saves_is_restored():
    shim = read(written())
    assert shim.parameters["table"].values.tolist() == np.eye(3).tolist()
    parameters = {name: (p.values.dtype, p.nonnegative) for name, p in shim.parameters.items()}
    assert parameters == {"table": (np.float32, True), "trans": (np.float64, False)}
    assert shim.extra["keys"].tolist() == KEYS["any order"].tolist()
    assert shim.to_bytes() == written()


@pytest.mark.parametrize(
    "made_for, got, expected",
    [
        (
            {**MADE_FOR, "templates": ["bias", "lower[0]"]},
            r"templates \['orth\[0\]'\]",
            r"\['lower\[0\]'\]",
        ),
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
    message = rf"\[HS051\].*\"one\" were made for {got}, but .* has {expected}\."
    with pytest.raises(ValueError, match=message):
        read(written(), made_for)


EYE = pack_table(UsedRows.of(np.eye(3, dtype=np.float32)))
NO_LAYER = {
    "nothing": b"",
    "text": b"hello",
    "a list": srsly.msgpack_dumps([1]),
    "another format": written(format=2),
    "no format": written(format=None),
    "no tables": written(tables=[]),
    "rows that are not there": written(tables={"table": {**EYE, "shape": [2, 3]}}),
    "columns that are not there": written(tables={"table": {**EYE, "shape": [3, 2]}}),
    "no columns": written(tables={"table": {**EYE, "shape": [3]}}),
    "fewer values": written(tables={"table": {**EYE, "values": pack_array(np.zeros(2, np.uint8))}}),
    "an unknown value": written(
        tables={"table": {**EYE, "values": pack_array(np.full(3, 9, np.uint8))}}
    ),
    "objects": written(tables={"table": {**EYE, "order": {**EYE["order"], "dtype": "|O"}}}),
    "cut bytes": written(
        tables={"table": {**EYE, "cells": {**EYE["cells"], "bytes": EYE["cells"]["bytes"][:-1]}}}
    ),
}


@pytest.mark.parametrize("data", NO_LAYER.values(), ids=NO_LAYER)
def test_what_cannot_be_read(data):
    with pytest.raises(ValueError, match=r"\[HS050\].*\"one\""):
        read(data)
