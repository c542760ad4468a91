"""`spacy_hoseq.chunk_scorer.v1`: precision, recall and F of whole chunks, counted by hand."""

import pytest
import spacy
from spacy.training import Example

from spacy_hoseq.scorers import chunk_score

from ..builders import doc_of

NLP = spacy.blank("xx")
SCORER = spacy.registry.scorers.get("spacy_hoseq.chunk_scorer.v1")()


def example(guessed, gold, text="a b c d e f", key="chunks"):
    return Example(*(doc_of(NLP, text, chunks=chunks, key=key) for chunks in (guessed, gold)))


# 3 of 4 guesses right, 3 of 5 chunks found: one wrong type, one wrong end, one missed
EXAMPLES = [
    ([(0, 2, "NP"), (2, 3, "VP")], [(0, 2, "NP"), (2, 3, "VP"), (3, 5, "NP")]),
    ([(0, 1, "NP"), (1, 3, "NP")], [(0, 1, "NP"), (1, 3, "PP")]),
]


def prf(p, r):
    f = 2 * p * r / (p + r) if p + r else 0.0
    return {"p": pytest.approx(p), "r": pytest.approx(r), "f": pytest.approx(f)}


@pytest.mark.parametrize("key", ["chunks", "phrases"])
def test_counted_by_hand(key):
    scores = SCORER([example(*spans, key=key) for spans in EXAMPLES], spans_key=key)
    expected = prf(3 / 4, 3 / 5)
    assert scores == {
        **{f"spans_{key}_{name}": value for name, value in expected.items()},
        f"spans_{key}_per_type": {"NP": prf(2 / 3, 2 / 3), "VP": prf(1, 1), "PP": prf(0, 0)},
    }


def test_bounds_and_type_must_be_right():
    for guessed in ([(0, 1, "NP")], [(0, 3, "NP")], [(0, 2, "VP")], []):
        assert chunk_score([example(guessed, [(0, 2, "NP")])])["spans_chunks_f"] == 0
    assert chunk_score([example([(0, 2, "NP")], [(0, 2, "NP")])])["spans_chunks_f"] == 1


def test_docs_without_gold_chunks():
    nothing = {f"spans_chunks_{name}": None for name in ("p", "r", "f", "per_type")}
    assert chunk_score([]) == nothing == chunk_score([example([(0, 2, "NP")], None)])
    two = [example(*EXAMPLES[0]), example([(0, 2, "NP")], None)]
    assert chunk_score(two) == chunk_score(two[:1])
    assert chunk_score([example([(0, 2, "NP")], [])])["spans_chunks_p"] == 0


def test_docs_without_guessed_chunks():
    scores = chunk_score([example(None, [(0, 2, "NP")]), example(*EXAMPLES[0])])
    assert scores["spans_chunks_p"] == pytest.approx(1)
    assert scores["spans_chunks_r"] == pytest.approx(1 / 2)


def test_other_tokens():
    reference = doc_of(NLP, "ab c", chunks=[(0, 1, "NP"), (1, 2, "VP")], spaces=[False, False])
    guessed = doc_of(NLP, "a b c", chunks=[(0, 2, "NP"), (2, 3, "VP")], spaces=[False] * 3)
    assert chunk_score([Example(guessed, reference)])["spans_chunks_f"] == 1
