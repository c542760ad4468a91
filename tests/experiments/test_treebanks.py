"""Treebanks: divisions, statistics, and how often the Chinese rules match."""

import gzip
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from spacy.cli._util import app
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds its commands to spaCy's)
from spacy_hoseq import patterns
from spacy_hoseq.patterns.chinese import chinese_pos_rules

from ..repository import call, script, tagged_file

TREE = "( (S (NP-SBJ (PRP {}) ) (VP (VBZ naps) (NP (-NONE- *))) (. .) ))\n"
CORPORA = {"ud": ("zh_ud_gsd/train.conllu", 1, 4), "ctb": ("zh_ctb_sdp/train.tsv", 0, 1)}
RULES = [
    {"name": "tea", "tokens": [{"ORTH": "茶"}, {}], "labels": ["NN", "*"]},
    {"name": "same", "tokens": [{}, {"LENGTH": 1}, {}], "labels": ["?y", ["VV", "CC"], "?y"]},
    {"name": "any two", "tokens": [{}, {}], "labels": ["?x", "?x"]},
    {"name": "never", "tokens": [{"ORTH": "海"}, {}], "labels": ["NN", "NN"]},
]


def test_a_named_division(tmp_path, monkeypatch):
    def run(command):
        return SimpleNamespace(returncode=CliRunner().invoke(app, command[3:]).exit_code)

    module = script("treebanks/convert")
    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=run))
    code, output = call(module, tmp_path / "out", "--folder", "", "--name", "the Penn Treebank")
    assert code == 1 and "No folder with the Penn Treebank" in output
    for section in range(25):
        path = tmp_path / "wsj" / f"{section:02}" / f"wsj_{section:02}01.mrg"
        path.parent.mkdir(parents=True)
        path.write_text(TREE.format(path.stem), "utf8")
    options = ["--folder", tmp_path / "wsj", "--split", "wsj-tagging"]
    assert call(module, tmp_path / "out", *options)[0] == 0
    sections = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}
    for part, expected in sections.items():
        docs = list(DocBin().from_disk(tmp_path / "out" / f"{part}.spacy").get_docs(Vocab()))
        assert [int(doc[0].text[4:6]) for doc in docs] == list(expected)
    assert [(t.text, t.tag_) for t in docs[0]] == [("wsj_2201", "PRP"), ("naps", "VBZ"), (".", ".")]


def test_statistics_by_hand(tmp_path):
    """In training 茶 has two tags, 香 and 。 one each; 桥 is not there."""
    train = tagged_file(tmp_path / "train.spacy", "茶/NN 香/VV 茶/VV 。/PU", "茶/NN 。/PU")
    dev = tagged_file(tmp_path / "dev.spacy", "茶/NN 桥/NN 香/JJ | 香/VV 桥/VV 。/PU")
    statistics = script("treebanks/corpus_statistics")
    code, printed = call(statistics, tmp_path / "new.md", train, f"dev={dev}")
    assert code == 0 and "train 6 3 3 1.3333 0 0.00% 3 50.00%" in printed
    assert "dev 6 4 4 1.5000 2 33.33% 1 16.67%" in printed


def test_rules_are_counted_within_sentences(tmp_path):
    """tea: NN CC, NN VV; VV VV, VV NN do not agree. same: NN CC NN agrees, CC NN VV does not."""
    texts = ["茶/NN 和/CC 茶/NN 香/VV", "茶/VV 茶/VV | 茶/VV 桥/NN"]
    corpus = tagged_file(tmp_path / "corpus.spacy", *texts)
    expected = [(2, 4), (1, 2), (1, 5), (0, 0)]
    assert script("treebanks/count_rules").count(RULES, corpus) == expected


@pytest.mark.parametrize("tag_set", CORPORA)
def test_rule_files_are_as_the_script_writes_them(tag_set):
    folder = Path(patterns.__file__).parent
    text = (folder / f"chinese_pos_rules_{tag_set}.json").read_text("utf8")
    assert script("treebanks/count_rules").one_key_a_line(json.loads(text)) == text


@pytest.mark.long
@pytest.mark.parametrize("tag_set", CORPORA)
def test_counts_of_the_rules_are_those_of_the_training_data(tag_set, tmp_path):
    file, word, tag = CORPORA[tag_set]
    path = Path(os.environ.get("HOSEQ_CORPORA") or "/nowhere", file)
    packed = path.with_name(f"{path.name}.gz")
    if not path.exists() and not packed.exists():
        pytest.skip(f"HOSEQ_CORPORA names no folder with {file}")
    data = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
    docs = DocBin()
    for block in data.decode("utf8").replace("\r\n", "\n").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and line[0] != "#"]
        words, tags = [row[word] for row in rows], [row[tag] for row in rows]
        docs.add(Doc(Vocab(), words=words, tags=tags))
    docs.to_disk(tmp_path / "train.spacy")
    rules = chinese_pos_rules(tag_set)
    found = script("treebanks/count_rules").count(rules, tmp_path / "train.spacy")
    assert found == [tuple(rule["count"]) for rule in rules]
