"""word/TAG text: words, separators, escapes, lines that cannot be read."""

import pytest

from spacy_hoseq.readers.formats.tagged_text import found_separator, read_tagged_text
from spacy_hoseq.readers.sentences import Problem, Sentence, Settings


def read(folder, text, **settings):
    (folder / "a.txt").write_text(text, encoding="utf-8", newline="")
    return list(read_tagged_text(folder / "a.txt", Settings(**settings)))


def test_sentences(tmp_path):
    text = "\ufeffIt/PRP rains/VBZ\t ./.\r\n\r\n  1\\/2/CD //SYM and\\/or/CC\n"
    first = Sentence(["It", "rains", "."], ["PRP", "VBZ", "."])
    assert read(tmp_path, text) == [first, Sentence(["1/2", "/", "and/or"], ["CD", "SYM", "CC"])]


def test_other_separators(tmp_path):
    assert read(tmp_path, "雨_NN 下_VV a_b_NN 1/2_CD\n", separator="_") == [
        Sentence(["雨", "下", "a_b", "1/2"], ["NN", "VV", "NN", "CD"])
    ]
    assert read(tmp_path, "a::X b:::Y\n", separator="::") == [Sentence(["a", "b:"], ["X", "Y"])]


def test_markup_of_the_chinese_treebank(tmp_path):
    text = "<DOC>\n<DOCID> CHTB_1 </DOCID>\n<S ID=1>\n雨_NN 来_VV\n</S>\n<_PU 雨_NN >_PU\n<雨>_NN\n"
    for separator in ("_", "/"):
        sentences = read(tmp_path, text.replace("_", separator), separator=separator)
        assert [sentence.words for sentence in sentences] == [["雨", "来"], ["<", "雨", ">"], ["<雨>"]]


@pytest.mark.parametrize("piece", ["word", "word/", "/NN", "a\\/b", "/"])
def test_lines_that_cannot_be_read(tmp_path, piece):
    first, problem, third = read(tmp_path, f"a/A\nb/B {piece} c/C\nd/D\n", separator="/")
    assert (first, third) == (Sentence(["a"], ["A"]), Sentence(["d"], ["D"]))
    assert problem == Problem(tmp_path / "a.txt", 2, f'"{piece}"', 'a word, "/" and its tag')


PENN_POS = """
[ Ann/NNP Lee/NNP ]
sings/VBZ

./. ''/''

[ It/PRP ]
rains/VBZ ./.
======================================
[ A/DT title/NN ]
======================================
"""


def test_files_of_the_penn_treebank(tmp_path):
    sentences = read(tmp_path, PENN_POS)
    assert [" ".join(each.words) for each in sentences] == ["Ann Lee sings . ''", "It rains .", "A title"]
    assert sentences[0].tags == ["NNP", "NNP", "VBZ", ".", "''"]


@pytest.mark.parametrize("text, separator", [("a/A b/B", "/"), ("a_A b_B", "_"), ("a|A b|B", "|"), ("a b", "")])
def test_the_separator_is_found(text, separator):
    assert found_separator([text]) == separator


def test_names_behind_words(tmp_path):
    assert read(tmp_path, "Ann|B-PER sang|O\n") == [Sentence(["Ann", "sang"], None, None, [(0, 1, "PER")])]
    both, problem = read(tmp_path, "Ann|NNP|I-PER sang|VBD|O\na|b|c\n")
    assert both == Sentence(["Ann", "sang"], ["NNP", "VBD"], None, [(0, 1, "PER")], n_mended=1)
    assert problem.line == 2 and problem.expected == "entity tags behind the tags"
