"""Chunks of CoNLL-2000: three parts that are apart, and what each strategy finds."""

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin, Span

from ...repository import script

conll = script("papers/conll")
chunks = script("papers/chunks")
SENTENCE = "Ann NNP B-NP\nsaw VBD B-VP\nthe DT B-NP\nferry NN I-NP\n. . O"


def test_parts_are_apart():
    whole = [str(i) for i in range(20)]
    without = conll.divided(whole, [])
    assert without == {"train": whole[:16], "dev": whole[16:18], "test": whole[18:]}
    assert conll.divided(whole, ["x"]) == {"train": whole[:18], "dev": whole[18:], "test": ["x"]}


def test_a_sentence_has_tags_and_chunks():
    doc = conll.doc_of(spacy.blank("xx").vocab, SENTENCE)
    assert [t.tag_ for t in doc] == ["NNP", "VBD", "DT", "NN", "."] and len(list(doc.sents)) == 1
    assert [(s.text, s.label_) for s in doc.spans["chunks"]] == [("Ann", "NP"), ("saw", "VP"), ("the ferry", "NP")]


def test_chunks_are_counted():
    vocab = spacy.blank("xx").vocab
    found, gold = (Doc(vocab, ["a", "b", "c"]) for _ in range(2))
    found.spans["chunks"] = [Span(found, 0, 1, "NP"), Span(found, 1, 3, "NP")]
    gold.spans["chunks"] = [Span(gold, 0, 1, "NP"), Span(gold, 1, 2, "NP"), Span(gold, 2, 3, "VP")]
    assert chunks.counts(found, gold) == [1, 2, 3]


@pytest.mark.long
def test_every_model_is_a_row_and_is_made_once(tmp_path, monkeypatch):
    (tmp_path / "conll2000").mkdir()
    text = "\n\n".join([SENTENCE] * 20)
    (tmp_path / "conll2000" / "train.txt").write_text(text, encoding="utf8")
    conll.main(tmp_path / "corpus", environment=str(tmp_path))
    vocab = spacy.blank("xx").vocab
    assert len(list(DocBin().from_disk(tmp_path / "corpus" / "test.spacy").get_docs(vocab))) == 2
    output = tmp_path / "x.jsonl"
    chunks.main(output, tmp_path / "corpus", orders="1", representations="start_end", sentences=10)
    (row,) = srsly.read_jsonl(output)
    assert row["test"]["easiest_first"] == [[3, 3, 3]] * 2 and set(row["dev"]) == set(chunks.STRATEGIES)
    monkeypatch.setattr(chunks, "measured", None)
    chunks.main(output, tmp_path / "corpus", orders="1", representations="start_end", sentences=10)
