"""Annotation of a teacher, as a student learns it."""

import numpy as np
import pytest
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

from spacy_hoseq.components.extensions import CONFIDENCES, write_marginals
from spacy_hoseq.pipelines.distillation.card import more_text
from spacy_hoseq.pipelines.distillation.silver import kinds_in, refine, write_corpus


def annotated(ents=("U-PERSON", "O", "U-GPE", "U-DATE")):
    words = ["Ann", "left", "Rome", "today"]
    iob = [tag.replace("U-", "B-") for tag in ents]
    return Doc(Vocab(), words=words, ents=iob, tags=["NNP", "VBD", "NNP", "NN"])


RENAMED = [
    ({}, ["PERSON", "GPE", "DATE"]),
    ({"PERSON": "PER", "DATE": ""}, ["PER", "GPE"]),
    ({"GPE": "LOC", "*": ""}, ["LOC"]),
]


@pytest.mark.parametrize("rename, expected", RENAMED)
def test_types(rename, expected):
    doc = annotated()
    labels = ["O", "B-PERSON", "U-DATE", "U-GPE", "X-RAY"]
    write_marginals(doc, "names", labels, np.zeros((4, 5), np.float32))
    assert [entity.label_ for entity in refine(doc, rename).ents] == expected
    tags = {rename.get(label, rename.get("*", label)) for label in ("PERSON", "DATE", "GPE")}
    found = doc._.hoseq_marginals["names"]["labels"]
    assert found[0] == "O" and found[-1] == "X-RAY"
    assert {tag[2:] for tag in found[1:-1] if tag != "O"} == tags - {""}


def test_what_is_not_sure_is_missing():
    doc = annotated()
    group = SpanGroup(doc, spans=list(doc.ents), attrs={"scores": [0.9, 0.4, 0.8]})
    doc.spans["entities"] = group
    doc.user_data[CONFIDENCES] = ([], [0.9, 0.6, 0.2, 0.9])
    refine(doc, {}, threshold=0.5)
    assert [entity.text for entity in doc.ents] == ["Ann", "today"] and not doc.spans
    assert [token.ent_iob for token in doc] == [3, 2, 0, 3]  # 0: missing
    assert [token.tag_ for token in doc] == ["NNP", "VBD", "", "NN"]


def test_spans_that_overlap():
    doc = annotated()
    doc.spans["sc"] = [Span(doc, 0, 2, "A"), Span(doc, 1, 4, "B"), Span(doc, 0, 1, "A")]
    assert [span.label_ for span in refine(doc, {"A": "C"}).spans["sc"]] == ["C", "B"]


def test_kinds():
    assert kinds_in([annotated(["O"] * 4)]) == ["tags"]
    assert kinds_in([annotated()]) == ["tags", "names"]
    assert kinds_in([Doc(Vocab(), words=["a"])]) == []


def test_parts_and_gold(tmp_path):
    docs = [Doc(Vocab(), words=["a", str(i)], tags=["X", "Y"]) for i in range(100)]
    silver = write_corpus(tmp_path, docs, ["tags"], docs[:3], gold_weight=2)
    assert silver.texts == {"dev": 9, "test": 9, "gold": 6, "train": 79}
    assert silver.words["gold"] == 12 and silver.keys == []


@pytest.mark.parametrize("gain, said", [(0.004, "hardly"), (0.02, "worth a try")])
def test_more_text(gain, said):
    assert said in more_text([(100, 0.5), (200, 0.5 + gain)])
