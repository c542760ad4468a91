"""Tags by id: the same chunks as `read_chunks`, cut where asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.chunks import (
    LETTERS,
    Chunks,
    TagTable,
    check_representation,
    read_chunks,
    write_chunks,
)

TAGS = ["O", *(f"{letter}-{name}" for letter in "BIELSU" for name in ("A", "B-2", "O"))]
SEQUENCES = st.lists(st.sampled_from(TAGS), max_size=12)


def spans_of(chunks):
    return list(zip(chunks.first.tolist(), chunks.end.tolist(), chunks.types, strict=True))


@given(tags=SEQUENCES, table=st.permutations(TAGS))
def test_any_sequence(tags, table):
    ids = np.array([table.index(tag) for tag in tags], np.int32)
    found = TagTable(table).chunks(ids, np.zeros(len(tags), bool))
    assert spans_of(found) == spans_of(read_chunks(tags))


def test_a_chunk_does_not_go_on_over_a_cut():
    """I-A I-A is one chunk; cut between them, it is two."""
    ids = np.full(2, TAGS.index("I-A"))
    table = TagTable(TAGS)
    assert spans_of(table.chunks(ids, np.array([True, False]))) == [(0, 2, "A")]
    assert spans_of(table.chunks(ids, np.array([True, True]))) == [(0, 1, "A"), (1, 2, "A")]


@given(sentences=st.lists(SEQUENCES.filter(len), max_size=4))
def test_cuts_are_ends_of_sequences(sentences):
    expected, cuts, at = [], [], 0
    for tags in sentences:
        spans = spans_of(read_chunks(tags))
        expected += [(first + at, end + at, name) for first, end, name in spans]
        cuts += [True] + [False] * (len(tags) - 1)
        at += len(tags)
    ids = np.array([TAGS.index(tag) for tags in sentences for tag in tags], np.intp)
    assert spans_of(TagTable(TAGS).chunks(ids, np.array(cuts, bool))) == expected


@pytest.mark.parametrize("representation", sorted(LETTERS))
@given(
    sizes=st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["A", "B"])), max_size=5
    )
)
def test_there_and_back(representation, sizes):
    spans, at = [], 0
    for gap, size, name in sizes:
        spans.append((at + gap, at + gap + size, name))
        at += gap + size
    first, end, types = zip(*spans, strict=True) if spans else ((), (), ())
    chunks = Chunks(np.array(first, np.intp), np.array(end, np.intp), list(types))
    tags = write_chunks(chunks, at + 1, representation)
    names = sorted(set(tags))
    ids = np.array([names.index(tag) for tag in tags])
    assert spans_of(TagTable(names).chunks(ids, np.zeros(len(tags), bool))) == spans


def test_nothing():
    assert spans_of(TagTable([]).chunks(np.zeros(0, np.intp), np.zeros(0, bool))) == []
    assert spans_of(TagTable(["O"]).chunks(np.zeros(3, np.intp), np.zeros(3, bool))) == []


@pytest.mark.parametrize("tag", ["", "X-NP", "B", "B-", "BNP", "-NP", "O-NP", "b-NP", "NP"])
def test_no_chunk_tag(tag):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong chunk tag: '{tag}'"):
        TagTable(["O", tag])


def test_representations():
    for known in ("iob1", "iob2", "ioe1", "ioe2", "bilou", "start_end"):
        assert check_representation(known) is None
    for unknown in ("IOB2", "iob", ""):
        with pytest.raises(ValueError, match=rf"\[HS161\] .*\"{unknown}\".*bilou"):
            check_representation(unknown)
