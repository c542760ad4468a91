"""Sentences of tree files: words, tags, traces, escapes, headers and encodings."""

import pytest

from spacy_hoseq.readers.formats.trees import read_trees
from spacy_hoseq.readers.sentences import Problem, Sentence, Settings

PENN = """
( (S (NP-SBJ-1 (NNS cats) ) (VP (MD ca) (RB n't) (VP (VB have)
    (S (NP-SBJ (-NONE- *-1) ) (VP (VBN been) (VP (VBN seen) (NP (-NONE- *-1) )))))) (. .) ))
( (NP (-LRB- -LRB-) (NP (CD 1\\/2) (NN a\\*b)) (-RRB- -RCB-) ))
( (S (-NONE- 0)) )
"""
CHINESE = """<DOC>
<DOCID> CHTB_9999 </DOCID>
<BODY>
<HEADLINE>
<S ID=1>
( (IP-HLN (NP-PN-SBJ (NR-SHORT 沪) (NN 小学)) (VP (VV 放假)) (PU 。)) )
</S>
</HEADLINE>
<P>
<S ID=2>
( (IP (NP-SBJ (-NONE- *pro*)) (VP (ADVP (AD 都)) (VP (VA 好)))) )
</S>
</P>
</BODY>
</DOC>
"""


def file_of(folder, text, name="wsj_9901.mrg", encoding="utf-8"):
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


def test_penn(tmp_path):
    first, second, third = read_trees(file_of(tmp_path, PENN), Settings())
    assert first == Sentence(
        "cats ca n't have been seen .".split(), "NNS MD RB VB VBN VBN .".split(),
        [(0, 1, "NP"), (1, 6, "VP")], None, n_traces=2,
    )  # fmt: skip
    assert second == Sentence(["(", "1/2", "a*b", "}"], ["(", "CD", "NN", ")"], [(1, 3, "NP")], None)
    assert third == Sentence([], [], [], None, n_traces=1)


def test_escapes_as_they_stand(tmp_path):
    _, second, _ = read_trees(file_of(tmp_path, PENN), Settings(unescape=False))
    assert second.words == ["-LRB-", "1\\/2", "a\\*b", "-RCB-"] and second.tags == ["(", "CD", "NN", ")"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_chinese(tmp_path, encoding, end):
    path = file_of(tmp_path, CHINESE.replace("\n", end), "chtb_9999.fid", encoding)
    sentences = list(read_trees(path, Settings(encodings=["utf-8", "gb18030"], chunks=False)))
    assert sentences == [
        Sentence(["沪", "小学", "放假", "。"], ["NR", "NN", "VV", "PU"], None, None),
        Sentence(["都", "好"], ["AD", "VA"], None, None, n_traces=1),
    ]


def test_a_damaged_tree_costs_its_sentence(tmp_path):
    path = file_of(tmp_path, PENN + "\n( (S (NN end\n")
    *good, problem = read_trees(path, Settings())
    expected = "the end of the tree that begins at line 7: 3 brackets open"
    assert problem == Problem(path, 7, "the end of the file", expected) and len(good) == 3
