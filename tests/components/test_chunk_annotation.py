"""Chunks in `hoseq_bidirectional_tagger`: gold spans, guessed spans, every representation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.training import Example

from spacy_hoseq.chunks import LETTERS, tag_names
from spacy_hoseq.components.predictions import Predictions
from spacy_hoseq.components.targets.chunk_tags import ChunkTags
from spacy_hoseq.components.targets.target import LabelTable
from spacy_hoseq.features.sequences import words_of

from ..builders import doc_of
from .bidirectional_helpers import (
    CHUNKED,
    STRATEGIES,
    blank,
    chunked_examples,
    chunker,
    chunks_of,
    chunks_on,
    tagger_of,
)
from .helpers import reloaded

NLP = blank()
REPRESENTATIONS = sorted(LETTERS)


def tags_in(chunk_tags, eg):
    """What the component learns, "" where nothing is known."""
    strings = eg.predicted.vocab.strings
    return [strings[value] if value else "" for value in chunk_tags.aligned(eg).tolist()]


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_chunks_are_learnt(representation, strategy):
    if representation == "iob2" or strategy in ("easiest_first", "left_to_right"):
        nlp = chunker(representation, 25, strategy=strategy)
        for text, chunks in CHUNKED:
            assert chunks_of(nlp, text) == chunks == chunks_of(reloaded(nlp), text)
        doc = tagger_of(nlp)(doc_of(nlp, CHUNKED[0][0]))
        assert [t.tag_ for t in doc] == [""] * 7 and doc.spans["chunks"].name == "chunks"
        assert nlp.evaluate(chunked_examples(nlp))["spans_chunks_f"] == 1.0
        types = {label.partition("-")[2] for label in tagger_of(nlp).labels}
        assert types == {"", "NP", "VP"}
        assert set(tagger_of(nlp).labels) <= set(tag_names(["NP", "VP"], representation))


def written(nlp, doc, tags):
    labels = tagger_of(nlp).labels
    ids = np.array([labels.index(tag) for tag in tags.split()], np.int32)
    tagger = tagger_of(nlp)
    reading = Predictions(words_of([doc]), "", [*labels], None, ids)
    tagger.target.write([doc], reading, tagger._label_table, overwrite=False)
    return chunks_on(doc)


@pytest.mark.parametrize(
    "tags, starts, expected",
    [
        ("B-A I-A I-A O", None, [(0, 3, "A")]),
        ("I-A I-A I-B O", None, [(0, 2, "A"), (2, 3, "B")]),
        ("I-A O I-B I-B", None, [(0, 1, "A"), (2, 4, "B")]),
        ("B-A B-A I-A I-B", None, [(0, 1, "A"), (1, 3, "A"), (3, 4, "B")]),
        ("B-A I-A I-A I-A", [1, 0, 1, 0], [(0, 2, "A"), (2, 4, "A")]),
        ("O O O O", None, []),
        ("O B-A O I-A", [1, 0, 0, 1], [(1, 2, "A"), (3, 4, "A")]),
    ],
)
def test_spans_that_are_written(tags, starts, expected):
    nlp = blank(representation="iob2")
    for label in ("O", "B-A", "I-A", "B-B", "I-B"):
        tagger_of(nlp).add_label(label)
    doc = doc_of(nlp, "a b c d", sent_starts=starts)
    assert written(nlp, doc, tags) == expected
    words = ["a b c d"[2 * i : 2 * j - 1] for i, j, _ in expected]
    assert [span.text for span in doc.spans["chunks"]] == words


def test_tags_of_other_representations_are_repaired():
    nlp = blank(representation="bilou")
    for label in ("O", "B-A", "I-A", "L-A", "U-A"):
        tagger_of(nlp).add_label(label)
    assert written(nlp, doc_of(nlp, "a b c d e"), "I-A L-A L-A U-A I-A") == [
        (0, 2, "A"), (2, 3, "A"), (3, 4, "A"), (4, 5, "A"),
    ]  # fmt: skip


def test_no_chunk_crosses_the_end_of_a_sentence():
    corpus = [("the old dog", [(0, 3, "NP")]), (".", [])]
    nlp = chunker("ioe2", examples=lambda nlp: chunked_examples(nlp, corpus))
    assert chunks_of(nlp, "the old dog") == [(0, 3, "NP")]
    found = chunks_of(nlp, "the old old old dog", sent_starts=[1, 0, 1, 0, 0])
    assert found[:2] == [(0, 2, "NP"), (2, 5, "NP")]


@st.composite
def docs_with_chunks(draw):
    """Texts of up to three sentences, with chunks that do not cross their ends."""
    starts, spans, at = [], [], 0
    for _ in range(draw(st.integers(1, 3))):
        begin = at
        for _ in range(draw(st.integers(0, 3))):
            first = at + draw(st.integers(0, 2))
            at = first + draw(st.integers(1, 3))
            spans.append((first, at, draw(st.sampled_from(["A", "B-2", "O"]))))
        at += draw(st.integers(0 if at > begin else 1, 2))
        starts += [True] + [False] * (at - begin - 1)
    text = " ".join("abcdefgh"[i % 8] for i in range(at))
    return doc_of(NLP, text, chunks=spans, sent_starts=starts), spans


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@given(found=docs_with_chunks())
def test_there_and_back(representation, found):
    reference, spans = found
    chunk_tags = ChunkTags("chunks", representation)
    doc = reference.copy()
    del doc.spans["chunks"]
    tags = tags_in(chunk_tags, Example(doc, reference))
    names = sorted(set(tags))
    ids = np.array([names.index(tag) for tag in tags], np.int32)
    reading = Predictions(words_of([doc]), "", names, None, ids)
    chunk_tags.write([doc], reading, LabelTable(names, doc.vocab.strings, ""), overwrite=False)
    assert chunks_on(doc) == spans
