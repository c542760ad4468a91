"""Rules by amount of training text."""

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from ...repository import script

amounts = script("papers/amounts")


@pytest.mark.long
def test_systems_learn_from_the_same_sentences(tmp_path, monkeypatch):
    vocab = spacy.blank("zh").vocab
    docs = [
        Doc(vocab, ["我", "看", "书"][: 2 + i % 2], tags=["PN", "VV", "NN"][: 2 + i % 2])
        for i in range(8)
    ]
    for part in ("train", "test"):
        DocBin(docs=docs).to_disk(tmp_path / f"{part}.spacy")
    output = tmp_path / "x.jsonl"
    for settings in amounts.LEARNERS.values():
        monkeypatch.setitem(settings, "training.max_epochs", 1)
    for learners in ("the paper's", "recipe"):
        amounts.main(output, [f"ctb={tmp_path}"], sentences="4,0", learners=learners)
    rows = list(srsly.read_jsonl(output))
    keys = [(row["learner"], row["sentences"], row["system"]) for row in rows]
    assert len(set(keys)) == len(rows) == 8
    assert [row["words"] for row in rows[::2]] == [row["words"] for row in rows[1::2]]
    assert rows[2]["words"] == 20 and all(
        sum(words for _, words in row["tested"]) == 20 for row in rows
    )
    monkeypatch.setattr(amounts, "measured", None)
    amounts.main(output, [f"ctb={tmp_path}"], sentences="4,0")
