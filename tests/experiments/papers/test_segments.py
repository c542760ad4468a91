"""Names that read the chunks of a lower layer as segments."""

import gzip

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin, Span

from ...repository import script

segments = script("papers/segments")
WORDS = ["the", "old", "Ulm", "ran"]


def test_each_word_of_a_segment_has_its_probability_once():
    chunks = [(0, 3, "NP", 0.75), (2, 1, "NP", 0.25), (3, 1, "VP", 1.0)]
    table = segments.places(iter(chunks), ["NP", "VP"], 5).reshape(5, 2, segments.SIZES, segments.PLACES)
    assert table.sum(axis=(1, 2, 3)).tolist() == [0.75, 0.75, 1.0, 1.0, 0.0]
    first, inner, last = (table[i, 0, 2] for i in range(3))
    assert (first[1], inner[2], last[3], table[2, 0, 0, 0], table[3, 1, 0, 0]) == (0.75, 0.75, 0.75, 0.25, 1.0)


@pytest.mark.long
def test_every_system_is_a_row(tmp_path, monkeypatch):
    vocab = spacy.blank("xx").vocab
    docs = [Doc(vocab, [*WORDS[: 2 + i % 3], "."]) for i in range(30)]
    for doc in docs:
        doc.spans["chunks"] = [Span(doc, 0, len(doc) - 1, "NP")]
    for part in ("train", "dev", "test"):
        DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / f"{part}.spacy")
    lines = [
        srsly.json_dumps({"words": [t.text for t in doc], "entities": [[0, 1, "place", "Ulm"], [1, 2, "person", ""]]})
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
