"""Chunks of CoNLL-2000: three parts that are apart, and what each strategy finds."""

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from ...repository import script

conll = script("papers/conll")
chunks = script("papers/chunks")
SENTENCE = "Ann NNP B-NP\nsaw VBD B-VP\nthe DT B-NP\nferry NN I-NP\n. . O"


def test_parts_are_apart():
    whole = [str(i) for i in range(20)]
    without = conll.divided(whole, [])
    assert without == {"train": whole[:16], "dev": whole[16:18], "test": whole[18:]}
    assert conll.divided(whole, ["x"]) == {"train": whole[:18], "dev": whole[18:], "test": ["x"]}


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
