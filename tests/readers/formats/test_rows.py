"""What `hoseq apply` writes is read again: text, words, tags, sentences, chunks and entities."""

import json

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hoseq.readers.formats.recognised import read_corpus, recognised
from spacy_hoseq.readers.sentences import Problem
from spacy_hoseq.readers.settings import Settings

TEXT = "Ann  ran. It rained."
TOKENS = [(0, 3, "NNP"), (5, 8, "VBD"), (8, 9, ".")]
TOKENS += [(10, 12, "PRP"), (13, 19, "VBD"), (19, 20, ".")]
ROW = {
    "id": "a",
    "text": TEXT,
    "tokens": [{"start": a, "end": b, "word": TEXT[a:b], "tag": tag} for a, b, tag in TOKENS],
    "sentences": [{"start": 0, "end": 9}, {"start": 10, "end": 20}],
    "spans": [
        {"start": 0, "end": 3, "label": "NP", "group": "chunks"},
        {"start": 13, "end": 19, "label": "VP", "group": "chunks"},
        {"start": 0, "end": 3, "label": "PER", "group": "ents"},
        {"start": 0, "end": 3, "label": "PER", "group": "entities"},
    ],
    "error": None,
}


def read(path, text):
    path.write_text(text, "utf8")
    assert recognised(path, Settings()) == "rows"
    return list(read_corpus(path, "rows", Settings()))


def test_rows(tmp_path):
    first, second = read(tmp_path / "a.jsonl", json.dumps(ROW))
    assert first.words == ["Ann", " ", "ran", "."] and first.spaces == [True, False, False, True]
    assert first.tags == ["NNP", "", "VBD", "."] and first.pos is None
    assert (first.chunks, first.entities) == ([(0, 1, "NP")], [(0, 1, "PER")])
    assert (second.words, second.entities) == (["It", "rained", "."], [])
    assert second.chunks == [(1, 2, "VP")]


BACKWARDS = [{"start": 0, "end": 3}, {"start": 4, "end": 8}, {"start": 0, "end": 8}]
CROSSING = [{"start": 0, "end": 3}, {"start": 5, "end": 8}, {"start": 7, "end": 20}]
BEYOND = [{"start": 0, "end": 3}, {"start": 5, "end": 20}, {"start": 20, "end": 25}]
OVERLAP = [{"start": 0, "end": 3, "label": name, "group": "ents"} for name in ("PER", "ORG")]


@pytest.mark.parametrize(
    "changed",
    [{"text": "Ann"}, {"tokens": None}, {"text": None, "error": "HS000"}, {"spans": OVERLAP}, {"tokens": BACKWARDS},
     {"tokens": CROSSING}, {"tokens": BEYOND},
     {"spans": [{"start": 5, "end": 3, "label": "X", "group": "ents"}]}],
)  # fmt: skip
def test_rows_that_cannot_be_read(tmp_path, changed):
    text = "\n".join(map(json.dumps, [ROW, {**ROW, **changed}]))
    _, _, problem = read(tmp_path / "a.jsonl", text)
    assert isinstance(problem, Problem) and problem.line == 2


def test_docs_as_json_of_spacy(tmp_path):
    doc = Doc(Vocab(), words=["Ann", "ran", "."], tags=["NNP", "VBD", "."], ents=["B-PER", "O", "O"],
              sent_starts=[True, False, False])  # fmt: skip
    (sentence,) = read(tmp_path / "a.jsonl", json.dumps(doc.to_json()))
    assert (sentence.words, sentence.tags) == (["Ann", "ran", "."], ["NNP", "VBD", "."])
    assert sentence.entities == [(0, 1, "PER")]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([ROW]), tmp_path / "a.parquet")
    assert recognised(tmp_path / "a.parquet", Settings()) == "rows"
    assert len(list(read_corpus(tmp_path / "a.parquet", "rows", Settings()))) == 2


def test_tables_of_apply(tmp_path):
    """A row for each token; sentences count anew in each text."""
    header = "id,sentence,token,start,end,word,tag,pos,chunk,entity\n"
    rows = "x,0,0,0,3,Ann,NNP,PROPN,B-NP,B-PER\ny,0,0,0,2,It,PRP,PRON,B-NP,O\ny,1,1,3,5,is,VBZ,AUX,O,O\n"
    (tmp_path / "a.csv").write_text(header + rows)
    assert recognised(tmp_path / "a.csv", Settings()) == "table"
    sentences = list(read_corpus(tmp_path / "a.csv", "table", Settings()))
    assert [each.words for each in sentences] == [["Ann"], ["It"], ["is"]]
    assert [each.tags for each in sentences] == [["NNP"], ["PRP"], ["VBZ"]]
    assert sentences[0].entities == [(0, 1, "PER")]
