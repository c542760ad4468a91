"""`label_scorer.v1` counts as spaCy's `Scorer.score_token_attr` does, `chunk_scorer.v1` as its `Scorer.score_spans`."""

import numpy as np
import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.scorers import chunk_score, label_score

VOCAB = spacy.blank("xx").vocab
LABELS = {"tag": ["A", "B", "C", ""], "pos": ["NOUN", "VERB", "", "X"]}


def random_example(rng, attribute, n):
    words = [["w", "v", " ", "\n"][i] for i in rng.integers(0, 4, n)]
    values = [[LABELS[attribute][i] for i in rng.integers(0, 4, n)] for _ in range(2)]
    predicted, reference = (Doc(VOCAB, words=words, **{f"{attribute}s".replace("poss", "pos"): v}) for v in values)
    return Example(predicted, reference)


@pytest.mark.parametrize("attribute", ["tag", "pos"])
@pytest.mark.parametrize("seed", range(10))
def test_same_tokens(attribute, seed):
    """Spaces, missing gold labels, missing predicted ones, empty docs; a generator of them."""
    rng = np.random.default_rng(seed)
    examples = [random_example(rng, attribute, n) for n in rng.integers(0, 9, 6)]
    assert label_score(iter(examples), attribute=attribute) == Scorer.score_token_attr(examples, attribute)


@pytest.mark.parametrize("words", [["ab", "c"], ["abc"], ["A", "b", "C"], ["ab", "c", " "]])
def test_other_tokens(words):
    """Of another number, or as many but others: spaCy aligns them."""
    same = Example(Doc(VOCAB, words=["a"], tags=["A"]), Doc(VOCAB, words=["a"], tags=["A"]))
    gold = Doc(VOCAB, words=["a", "b", "c"], tags=["A", "B", "C"])
    other = Example(Doc(VOCAB, words=words, tags=["A", "C", "C"][: len(words)]), gold)
    assert label_score([same, other]) == Scorer.score_token_attr([same, other], "tag")


@pytest.mark.parametrize("tags", [None, ["A"]])
def test_nothing_to_score(tags):
    examples = [Example(Doc(VOCAB, words=["a"], tags=tags), Doc(VOCAB, words=["a"]))] if tags else []
    assert label_score(examples) == {"tag_acc": None}


def test_types_of_chunks_are_in_one_order():
    """In a set they are in that of the process: two trainings would save other bytes."""
    doc = Doc(VOCAB, words=list("abcdefghij"))
    doc.spans["chunks"] = [Span(doc, i, i + 1, f"TYPE-{9 - i}") for i in range(10)]
    scores = chunk_score([Example(doc, doc)])
    assert list(scores["spans_chunks_per_type"]) == [f"TYPE-{i}" for i in range(10)]
    assert scores == Scorer.score_spans([Example(doc, doc)], "spans_chunks", getter=lambda doc, _: doc.spans["chunks"])
