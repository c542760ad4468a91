"""`label_scorer.v1` counts as spaCy's `Scorer.score_token_attr` does, `chunk_scorer.v1` as its `Scorer.score_spans`."""

import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.scorers import chunk_score, label_score

VOCAB = spacy.blank("xx").vocab


@pytest.mark.parametrize("tags", [None, ["A"]])
def test_nothing_to_score(tags):
    docs = [Doc(VOCAB, words=["a"], tags=each) for each in (tags, None)]
    examples = [Example(*docs)] if tags else []
    assert label_score(examples) == {"tag_acc": None}


def test_types_of_chunks_are_in_one_order():
    """In a set they are in that of the process: two trainings would save other bytes."""
    doc = Doc(VOCAB, words=list("abcdefghij"))
    doc.spans["chunks"] = [Span(doc, i, i + 1, f"TYPE-{9 - i}") for i in range(10)]
    scores = chunk_score([Example(doc, doc)])
    assert list(scores["spans_chunks_per_type"]) == [f"TYPE-{i}" for i in range(10)]
    spans = {"getter": lambda doc, _: doc.spans["chunks"]}
    assert scores == Scorer.score_spans([Example(doc, doc)], "spans_chunks", **spans)
