"""Files that are damaged at random: sentences, problems or a message with a code; never anything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
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


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes that are cut out, put in, or changed."""
    found = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(found)))
        what = draw(st.sampled_from(["cut", "delete", "insert", "change"]))
        if what == "cut":
            del found[at:]
        elif what == "delete":
            del found[at : at + draw(st.integers(1, 20))]
        elif what == "insert":
            found[at:at] = draw(st.sampled_from(b'\t\n |()"[{\xff9_-')).to_bytes(1, "big")
        elif at < len(found):
            found[at] = draw(st.integers(0, 255))
    return bytes(found)


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_damaged_files(tmp_path_factory, name, data):
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / ("a.ann" if name == "brat" else "a.bmes" if name == "characters" else "a.txt")
    if name == "brat":
        (folder / "a.txt").write_text("Ann ran.")
    path.write_bytes(data.draw(damaged(FILES[name].encode())))
    for format_name in (None, name):
        try:
            items = list(read_corpus(path, format_name or recognised(path, Settings()), Settings()))
        except ValueError as error:
            assert str(error).startswith("[HS"), error
            continue
        assert all(isinstance(item, (Sentence, Problem)) for item in items)
        for item in items:
            if isinstance(item, Sentence) and item.words:
                assert len(sentences_to_doc(VOCAB, [item], "en")) == len(item.words)
