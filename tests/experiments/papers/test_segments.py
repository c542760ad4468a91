"""Names that read the chunks of a lower layer as segments."""

import gzip

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin, Span

from ...repository import script

segments = script("papers/segments")
WORDS = ["the", "old", "Ulm", "ran"]


@pytest.mark.long
def test_every_system_is_a_row(tmp_path, monkeypatch):
    vocab = spacy.blank("xx").vocab
    docs = [Doc(vocab, [*WORDS[: 2 + i % 3], "."]) for i in range(30)]
    for doc in docs:
        doc.spans["chunks"] = [Span(doc, 0, len(doc) - 1, "NP")]
    for part in ("train", "dev", "test"):
        DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / f"{part}.spacy")
    lines = [
        srsly.json_dumps(
            {
                "words": [t.text for t in doc],
                "entities": [[0, 1, "place", "Ulm"], [1, 2, "person", ""]],
            }
        )
        for doc in docs
    ]
    (tmp_path / "entities.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    files = {"train": tmp_path / "entities.gz", "test": tmp_path / "entities.gz"}
    segments.main(tmp_path / "x.jsonl", tmp_path, **files, epochs=1)
    rows = list(srsly.read_jsonl(tmp_path / "x.jsonl"))
    assert [row["system"] for row in rows] == list(segments.SYSTEMS)
    assert all(gold == 1 for row in rows for _, _, gold in row["sentences"])
    monkeypatch.setattr(segments, "fit", None)
    segments.main(tmp_path / "x.jsonl", tmp_path, **files, epochs=1)
