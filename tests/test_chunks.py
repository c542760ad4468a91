"""Chunks: from spans to tags and back in every representation, and how sequences that are not well formed are read."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.chunks import LETTERS, Chunks, grammar, read_chunks, tag_names, write_chunks

from .cases import is_well_formed

REPRESENTATIONS = sorted(LETTERS)

# "[NP He was] [NP it] outside [VP ran on home] [NP now]", after Tjong Kim Sang & Veenstra (1999), table 1
SPANS = [(0, 2, "NP"), (2, 3, "NP"), (4, 7, "VP"), (7, 8, "NP")]
WRITTEN = {
    "iob1": "I-NP I-NP B-NP O I-VP I-VP I-VP I-NP",
    "iob2": "B-NP I-NP B-NP O B-VP I-VP I-VP B-NP",
    "ioe1": "I-NP E-NP I-NP O I-VP I-VP I-VP I-NP",
    "ioe2": "I-NP E-NP E-NP O I-VP I-VP E-VP E-NP",
    "bilou": "B-NP L-NP U-NP O B-VP I-VP L-VP U-NP",
    "start_end": "B-NP E-NP S-NP O B-VP I-VP E-VP S-NP",
}


def chunks_of(spans):
    bounds = np.array([span[:2] for span in spans], np.intp).reshape(-1, 2)
    return Chunks(bounds[:, 0], bounds[:, 1], [span[2] for span in spans])


def spans_of(chunks):
    return list(zip(chunks.first.tolist(), chunks.end.tolist(), chunks.types, strict=True))


def plain_reading(tags):
    """Token by token, by the rules of the CoNLL-2000 scorer with L and U for E and S."""
    spans, begin = [], None
    for i, tag in enumerate(tags):
        letter, _, name = tag.partition("-")
        open_ = begin is not None
        is_same = name == tags[i - 1].partition("-")[2]
        goes_on = open_ and letter in "IEL" and letter != "O" and is_same
        if open_ and (tag == "O" or not goes_on):
            spans.append((begin, i, tags[i - 1].partition("-")[2]))
            begin = None
        if tag != "O" and begin is None:
            begin = i
        if letter in ("E", "L", "S", "U"):
            spans.append((begin, i + 1, name))
            begin = None
    return spans + ([(begin, len(tags), tags[-1].partition("-")[2])] if begin is not None else [])


@st.composite
def sentences(draw):
    """Spans of types A and B over up to ten tokens, and the number of tokens."""
    spans, at = [], 0
    for _ in range(draw(st.integers(0, 5))):
        first = at + draw(st.integers(0, 2))
        at = first + draw(st.integers(1, 3))
        spans.append((first, at, draw(st.sampled_from(["A", "B-2"]))))
    return spans, at + draw(st.integers(0, 2))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_published_example(representation):
    tags = WRITTEN[representation].split()
    assert write_chunks(chunks_of(SPANS), 8, representation) == tags
    assert spans_of(read_chunks(tags)) == SPANS


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@given(sentence=sentences())
def test_there_and_back(representation, sentence):
    spans, n = sentence
    tags = write_chunks(chunks_of(spans), n, representation)
    assert len(tags) == n and set(tags) <= set(tag_names(["A", "B-2"], representation))
    assert spans_of(read_chunks(tags)) == spans
    assert is_well_formed(tags, representation)


@given(
    tags=st.lists(st.sampled_from(["O", *(f"{c}-{t}" for c in "BIELSU" for t in "AB")]), max_size=9)
)
def test_any_sequence_is_read_as_the_scorer_does(tags):
    assert spans_of(read_chunks(tags)) == plain_reading(tags)


@pytest.mark.parametrize(
    "tags, representation",
    [("I-NP", "iob2"), ("B-NP I-VP", "iob2"), ("B-NP", "iob1"), ("B-NP", "start_end"), ("S-NP I-NP E-NP", "start_end"),
     ("I-NP", "ioe2"), ("E-NP", "ioe1"), ("U-NP L-NP", "bilou"), ("B-NP O", "bilou")],
)  # fmt: skip
def test_not_well_formed(tags, representation):
    assert not is_well_formed(tags.split(), representation)


def test_start_end_sequence_is_repaired():
    assert spans_of(read_chunks("I-NP E-NP B-NP O E-VP B-VP S-VP".split())) == [
        (0, 2, "NP"), (2, 3, "NP"), (4, 5, "VP"), (5, 6, "VP"), (6, 7, "VP"),
    ]  # fmt: skip


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_nothing(representation):
    assert spans_of(read_chunks([])) == [] == write_chunks(chunks_of([]), 0, representation)
    assert write_chunks(chunks_of([]), 2, representation) == ["O", "O"]


def test_names_of_tags():
    assert tag_names(["A", "B"], "iob2") == ["O", "B-A", "I-A", "B-B", "I-B"]
    assert tag_names(["A"], "start_end") == ["O", "S-A", "B-A", "I-A", "E-A"]
    assert tag_names(["A"], "iob1") == ["O", "I-A", "B-A"]
    assert tag_names(["A"], "ioe1") == ["O", "I-A", "E-A"]


@pytest.mark.parametrize("tag", ["", "X-NP", "B", "B-", "BNP", "-NP", "O-NP", "b-NP"])
def test_no_chunk_tag(tag):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong chunk tag: '{tag}'"):
        read_chunks(["O", tag])


def test_unknown_representation():
    for call in (lambda: write_chunks(chunks_of([]), 1, "iob3"), lambda: tag_names([], "iob3")):
        with pytest.raises(ValueError, match=r"\[HS161\] .*\"iob3\".*bilou"):
            call()


@pytest.mark.parametrize(
    "spans", [[(0, 2, "A"), (1, 3, "A")], [(2, 3, "A"), (0, 1, "A")], [(1, 1, "A")], [(3, 5, "A")]]
)
def test_chunks_that_cannot_be_written(spans):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong chunk: A, tokens \d to \d"):
        write_chunks(chunks_of(spans), 4, "iob2")


@pytest.mark.parametrize("representation", ["iob2", "bilou", "start_end"])
@pytest.mark.parametrize("types, longest", [(["A"], 4), (["A", "B"], 3), ([], 3)])
def test_grammar_permits_the_well_formed_sequences_and_no_others(representation, types, longest):
    tags = tag_names(types, representation)
    rules = grammar(tags, representation)
    for n in range(1, longest + 1):
        for ids in itertools.product(range(len(tags)), repeat=n):
            pairs = all(rules.pairs[pair] for pair in itertools.pairwise(ids))
            permitted = bool(rules.first[ids[0]] and rules.last[ids[-1]] and pairs)
            some = [tags[i] for i in ids]
            assert permitted == is_well_formed(some, representation), some


def test_grammar_of_other_tags():
    assert grammar([], "iob2").pairs.shape == (0, 0)
    with pytest.raises(ValueError, match=r"\[HS161\].*\"ioe1\""):
        grammar(["O"], "ioe1")
    with pytest.raises(ValueError, match=r"\[HS161\]"):
        grammar(["O"], "iob3")
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        grammar(["X"], "iob2")
