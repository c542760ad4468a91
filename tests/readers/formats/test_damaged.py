"""Files that are damaged at random: sentences, problems or a message with a code; never anything else."""

import json
import random
import re

import pytest
from spacy.vocab import Vocab

from spacy_hoseq.readers.docs import sentences_to_doc
from spacy_hoseq.readers.formats.recognised import FORMATS, read_corpus, recognised
from spacy_hoseq.readers.sentences import Problem, Sentence
from spacy_hoseq.readers.settings import Settings

from .test_lists_and_tables import KAGGLE, WEBANNO
from .test_rows import ROW

VOCAB = Vocab()
FILES = {
    "trees": "( (S (NP (NNP Ann)) (VP (VBD ran)) (. .)))\n( (S (NP (NNP Bo)) (VP (VBD ran)) (. .)))\n"
    * 3,
    "tagged": "Ann/NNP ran/VBD ./.\nBo/NNP sat/VBD ./.\n" * 3,
    "peoples-daily": "19980101-01-001-001/m [中国/ns 队/n]nt 来/v 。/w\n" * 3,
    "columns": "Ann NNP B-PER\nran VBD O\n\nBo NNP B-PER\nsat VBD O\n\n" * 3,
    "characters": "小 B-X\n村 E-X\n\n" * 3,
    "conllu": "# a\n1\tAnn\tAnn\tPROPN\tNNP\tA=B\t2\tx\t_\tNER=B-PER\n2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
    * 3,
    "offsets": '{"text": "Ann ran.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n' * 3,
    "rows": json.dumps(ROW) + "\n" + json.dumps(ROW),
    "tokens": '{"tokens": ["Ann", "ran"], "ner_tags": ["B-PER", "O"]}\n' * 3,
    "table": KAGGLE,
    "brat": "T1\tPER 0 3\tAnn\nT2\tPER 4 5\tran\n",
    "webanno": WEBANNO,
    "spacy-json": '[{"paragraphs": [{"sentences": [{"tokens": [{"orth": "Ann", "ner": "U-PER", "id": 0}]}]}]}]',
}


VALUES = b'-1|0|2|1000000000|1e400|null|[]|{}|"x"|true|1.5|'.split(b"|")


def damaged(data, rng):
    """Bytes that are cut out, put in or changed; lines that move or stand twice; other values for numbers and words."""
    for _ in range(rng.randint(1, 4)):
        what = rng.choice(["cut", "delete", "insert", "change", "line", "line", "value", "value"])
        at = rng.randint(0, len(data))
        if what == "cut" and rng.random() < 0.2:
            data = data[:at]
        elif what == "delete":
            data = data[:at] + data[at + rng.randint(1, 20) :]
        elif what == "insert":
            data = data[:at] + bytes([rng.choice(b'\t\n |()"[{\xff9_-')]) + data[at:]
        elif what == "change":
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif what == "line":
            lines = data.split(b"\n")
            lines.insert(rng.randint(0, len(lines)), rng.choice(lines))
            del lines[rng.randrange(len(lines)) : rng.randrange(len(lines))]
            data = b"\n".join(lines)
        elif values := [*re.finditer(rb"-?\b\d+|\w+", data)]:
            first, end = rng.choice(values).span()
            data = data[:first] + rng.choice(VALUES) + data[end:]
    return data


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(tmp_path, name):
    """600 of each format, through to Docs (of spaCy's JSON fewer, which takes longer)."""
    rng = random.Random(name)
    endings = {"brat": "a.ann", "characters": "a.bmes", "rows": "a.jsonl", "offsets": "a.jsonl"}
    path = tmp_path / endings.get(name, "a.txt")
    if name == "brat":
        (tmp_path / "a.txt").write_text("Ann ran.")
    for _ in range(60 if name == "spacy-json" else 650):
        data = damaged(FILES[name].encode(), rng)
        path.write_bytes(data)
        try:
            found = name if rng.random() < 0.5 else recognised(path, Settings())
            items = list(read_corpus(path, found, Settings()))
        except ValueError as error:
            assert str(error).startswith("[HS"), (data, error)
            continue
        for item in items:
            if isinstance(item, Problem):
                continue
            assert isinstance(item, Sentence), data
            for key in ("", "entities"):
                doc = sentences_to_doc(VOCAB, [item], "en", entities_key=key)
                assert len(doc) == len(item.words), data


@pytest.mark.parametrize("name", ["offsets", "rows", "tokens"])
def test_a_damaged_row_costs_only_itself(tmp_path, name):
    rng = random.Random(name)
    path = tmp_path / "a.jsonl"
    row = FILES[name].split("\n")[0].encode()
    path.write_bytes(row)
    good = list(read_corpus(path, name, Settings()))
    for _ in range(300):
        # no line break, which would make two rows of it
        bad = damaged(row, rng).replace(b"\n", b" ").replace(b"\r", b" ")
        path.write_bytes(b"\n".join([row, bad, row]))
        items = list(read_corpus(path, name, Settings()))
        assert items[: len(good)] == items[-len(good) :] == good, bad
