"""Two layers trained apart or jointly: settings, counts, and the corpus of names."""

import gzip

import spacy
from spacy.tokens import Doc, DocBin, Span

from ...repository import script

layers = script("papers/layers")
names = script("papers/names")
TREEBANK = """# sent_id = a-0001
1-2\tVom\t_\t_\t_
1\tAnn\tAnn\tPROPN\tNNP
2\tran\trun\tVERB\tVBD

# sent_id = a-0002
1\tUlm\tUlm\tPROPN\tNNP

# sent_id = b-0001
1\tno\tno\tDET\tDT
"""
NAMES = """# sent_id = a-0001
1\tAnn\tB-PER\t-\t-
2\tran\tO\t-\t-

# sent_id = a-0002
1\tUlm\tB-LOC\t-\t-

# sent_id = b-0001
1\tnot\tO\t-\t-
"""


def doc_of(vocab, tags, chunks):
    doc = Doc(vocab, ["w"] * len(tags), tags=tags, sent_starts=[True, False, True, False])
    doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    return doc


def test_what_was_stopped_goes_on_without_rows_twice(tmp_path, monkeypatch):
    """And what reads best tags is trained once for all thresholds."""
    trained = []

    def fit(config, output, changes):
        trained.append(output.name)
        return 1.0

    monkeypatch.setattr(layers, "fit", fit)
    monkeypatch.setattr(layers, "counts", lambda model, part: {"f": 0.5, "tags": 1.0, "sentences": []})
    output = tmp_path / "x.jsonl"
    layers.main(output, tmp_path, seeds="0", priors="l2=0.1")
    assert trained.count("tagger") == trained.count("best tags") == 1 and trained.count("joint") == 2
    whole = output.read_text(encoding="utf8")
    lines = whole.splitlines()
    assert len(lines) == 8
    output.write_text("\n".join(lines[:6]) + "\n", encoding="utf8")
    layers.main(output, tmp_path, seeds="0", priors="l2=0.1")
    assert output.read_text(encoding="utf8") == whole
    n_trained = len(trained)
    layers.main(output, tmp_path, seeds="0", priors="l2=0.1")
    assert len(trained) == n_trained


def test_names_and_tags_are_joined_where_words_agree(tmp_path):
    for file, text in (("treebank", TREEBANK), ("names", NAMES)):
        (tmp_path / file).write_bytes(gzip.compress(text.encode()))
    names.main(tmp_path / "out", treebank=tmp_path / "treebank", names=tmp_path / "names")
    vocab = spacy.blank("xx").vocab
    docs = list(DocBin().from_disk(tmp_path / "out" / "train.spacy").get_docs(vocab))
    assert [[t.text for t in doc] for doc in docs] == [["Ann", "ran"], ["Ulm"]]
    assert [t.tag_ for doc in docs for t in doc] == ["NNP", "VBD", "NNP"]
    assert [(s.text, s.label_) for doc in docs for s in doc.spans["chunks"]] == [
        ("Ann", "PER"),
        ("Ulm", "LOC"),
    ]
    assert [names.part_of(i) for i in (7, 8, 9, 10, 19)] == [
        "train",
        "dev",
        "test",
        "train",
        "test",
    ]
