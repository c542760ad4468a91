"""Sentences of tree files: words, tags, traces, escapes, headers and encodings."""

from pathlib import Path

import pytest

from spacy_hoseq.readers.files import Line
from spacy_hoseq.readers.formats.trees import Tree, leaves, parse_trees, read_trees
from spacy_hoseq.readers.sentences import Problem, Sentence
from spacy_hoseq.readers.settings import Settings

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
    expected = Sentence(["(", "1/2", "a*b", "}"], ["(", "CD", "NN", ")"], [(1, 3, "NP")], None)
    assert second == expected
    assert third == Sentence([], [], [], None, n_traces=1)


def test_escapes_as_they_stand(tmp_path):
    _, second, _ = read_trees(file_of(tmp_path, PENN), Settings(unescape=False))
    assert second.words == ["-LRB-", "1\\/2", "a\\*b", "-RCB-"]
    assert second.tags == ["(", "CD", "NN", ")"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_chinese(tmp_path, encoding, end):
    path = file_of(tmp_path, CHINESE.replace("\n", end), "chtb_9999.fid", encoding)
    sentences = list(read_trees(path, Settings(encoding="utf-8,gb18030", chunks=False)))
    assert sentences == [
        Sentence(["沪", "小学", "放假", "。"], ["NR", "NN", "VV", "PU"], None, None),
        Sentence(["都", "好"], ["AD", "VA"], None, None, n_traces=1),
    ]


def test_a_damaged_tree_costs_its_sentence(tmp_path):
    path = file_of(tmp_path, PENN + "\n( (S (NN end\n")
    *good, problem = read_trees(path, Settings())
    expected = "the end of the tree that begins at line 7: 3 brackets open"
    assert problem == Problem(path, 7, "the end of the file", expected) and len(good) == 3


# Trees in brackets: what is read, and what each damage is told


PATH = Path("some.mrg")
FORM = "(TAG word), or (LABEL (...) ...)"
END = "the end of the tree that begins at line {}: 1 bracket open"


def parse(text):
    return list(parse_trees([Line(i, line) for i, line in enumerate(text.split("\n"), 1)], PATH))


def written(tree):
    if tree.word is not None:
        return f"({tree.label} {tree.word})"
    return f"({tree.label} {' '.join(map(written, tree.children))})"


def test_a_tree():
    (tree,) = parse("( (S\n    (NP-SBJ (NN rain) )\n    (VP (VBZ falls)) (. .) ))")
    assert tree.label == "" and tree.word is None and tree.line == 1
    (clause,) = tree.children
    assert clause.label == "S" and clause.line == 1
    assert [child.label for child in clause.children] == ["NP-SBJ", "VP", "."]
    assert clause.children[0] == Tree("NP-SBJ", (Tree("NN", (), "rain", 2),), None, 2)
    words = [(leaf.label, leaf.word) for leaf in leaves(tree)]
    assert words == [("NN", "rain"), ("VBZ", "falls"), (".", ".")]


@pytest.mark.parametrize(
    "text",
    [
        "(S (A a))(S (B b))",
        "(S (A a)) (S (B b))",
        "\n(S (A a))\n\n\n(S\n(B\nb)\n)\n",
        "<DOC>\n<DOCID> X 1 </DOCID>\n<S ID=1>\n(S (A a))\n</S>\n(S (B b))",
        '<?xml version="1.0"?>\n<S ID="1"> (S (A a)) </S>\n<P>(S (B b))</P>\n</DOC>',
        "*x*x*x* a comment (in a header)\n(S (A a))\n*x*\n(S\t(B  b)\t)",
    ],
)
def test_lines_and_markup_are_no_matter(text):
    assert [written(tree) for tree in parse(text)] == ["(S (A a))", "(S (B b))"]


def test_words_that_look_like_markup():
    (tree,) = parse("(S (A <b>)\n(B *x*y)\n(C <))")
    assert [leaf.word for leaf in leaves(tree)] == ["<b>", "*x*y", "<"]


@pytest.mark.parametrize(
    "text, n_before, line, found, expected",
    [
        ("( )", 0, 1, "an empty tree ()", FORM),
        ("(S (A a))\n\n(S (A a) ())", 1, 3, "an empty bracket ()", FORM),
        ("(S (A a)\n(B))", 0, 2, '"(B)"', FORM),
        ("(S (A a b))", 0, 1, '"(A a b)"', FORM),
        ("(S x (A a))", 0, 1, '"S x" before a bracket', FORM),
        ("(S (A a)\nx (B b))", 0, 2, '"x" between or after brackets', "a bracket"),
        ("(S ((A a)))", 0, 1, "a bracket without a label", FORM),
        ("(S (A a)))", 1, 1, "a closing bracket without an opening one", "an opening bracket"),
        ("(S (A a))\nA a\n", 1, 2, '"A" outside of all brackets', "an opening bracket"),
        ("1998 <b>", 0, 1, '"1998" outside of all brackets', "an opening bracket"),
        ("\n(S (A a)\n", 0, 2, "the end of the file", END.format(2)),
        ("(S\n(A a))\n(S (B b)", 1, 3, "the end of the file", END.format(3)),
        ("(S " * 401, 0, 1, "more than 400 open brackets", "brackets that are closed"),
    ],
)
def test_damage(text, n_before, line, found, expected):
    items = parse(text)
    assert all(isinstance(item, Tree) for item in items[:-1]) and len(items) == n_before + 1
    assert items[-1] == Problem(PATH, line, found, expected)


def test_deep_trees_can_be_read():
    depth = 400 - 1
    (tree,) = parse("(S " * depth + "(A a)" + ")" * depth)
    assert [leaf.word for leaf in leaves(tree)] == ["a"]


@pytest.mark.parametrize(
    "text, line, found",
    [
        ("( (S (A a)\n  (B\n( (S (C c)))\n( (S (D d)))", 3, "a bracket without a label"),
        ("<S ID=1>\n(S (A a)\n</S>\n<S ID=2>\n(S (C c))\n</S>\n(S (D d))", 3, "</S>"),
        ("(S (A a b)\n(B b))\n(S (C c))\n(S (D d))", 1, '"(A a b)"'),
        (
            "# a remark\n(S (B b)))\n(S (C c))\n(S (D d))",
            2,
            "a closing bracket without an opening one",
        ),
    ],
)
def test_a_damaged_tree_costs_itself(text, line, found):
    problem = next(item for item in parse(text) if isinstance(item, Problem))
    assert (problem.line, problem.actual) == (line, found)
    trees = [item for item in parse(text) if isinstance(item, Tree)]
    assert [leaf.word for tree in trees[-2:] for leaf in leaves(tree)] == ["c", "d"]
