"""word/TAG text: words, separators, escapes, lines that cannot be read."""

import pytest

from spacy_hoseq.readers.formats.peoples_daily import read_peoples_daily
from spacy_hoseq.readers.formats.tagged_text import found_separator, read_tagged_text
from spacy_hoseq.readers.sentences import Problem, Sentence
from spacy_hoseq.readers.settings import Settings


def read(folder, text, **settings):
    (folder / "a.txt").write_text(text, encoding="utf-8", newline="")
    return list(read_tagged_text(folder / "a.txt", Settings(**settings)))


def test_sentences(tmp_path):
    text = "\ufeffIt/PRP rains/VBZ\t ./.\r\n\r\n  1\\/2/CD //SYM and\\/or/CC\n"
    first = Sentence(["It", "rains", "."], ["PRP", "VBZ", "."])
    assert read(tmp_path, text) == [first, Sentence(["1/2", "/", "and/or"], ["CD", "SYM", "CC"])]


def test_other_separators(tmp_path):
    found = read(tmp_path, "雨_NN 下_VV a_b_NN 1/2_CD\n", separator="_")
    assert found == [Sentence(["雨", "下", "a_b", "1/2"], ["NN", "VV", "NN", "CD"])]
    assert read(tmp_path, "a::X b:::Y\n", separator="::") == [Sentence(["a", "b:"], ["X", "Y"])]


def test_entity_tags(tmp_path):
    (sentence,) = read(tmp_path, "Ann/B-PER Lee/I-PER ran/O\n")
    assert (sentence.tags, sentence.entities) == (None, [(0, 2, "PER")])


def test_markup_of_the_chinese_treebank(tmp_path):
    text = "<DOC>\n<DOCID> CHTB_1 </DOCID>\n<S ID=1>\n雨_NN 来_VV\n</S>\n<_PU 雨_NN >_PU\n<雨>_NN\n"
    for separator in ("_", "/"):
        sentences = read(tmp_path, text.replace("_", separator), separator=separator)
        words = [" ".join(sentence.words) for sentence in sentences]
        assert words == ["雨 来", "< 雨 >", "<雨>"]


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
[ A/DT title/NN|VB ]
======================================
"""


def test_files_of_the_penn_treebank(tmp_path):
    sentences = read(tmp_path, PENN_POS)
    texts = [" ".join(each.words) for each in sentences]
    assert texts == ["Ann Lee sings . ''", "It rains .", "A title"]
    assert sentences[0].tags == ["NNP", "NNP", "VBZ", ".", "''"]
    assert sentences[2].tags == ["DT", "NN"], "the first of those that it may be"


@pytest.mark.parametrize(
    "text, separator", [("a/A b/B", "/"), ("a_A b_B", "_"), ("a|A b|B", "|"), ("a b", "")]
)
def test_the_separator_is_found(text, separator):
    assert found_separator([text]) == separator


def test_names_behind_words(tmp_path):
    found = read(tmp_path, "Ann|B-PER sang|O\n")
    assert found == [Sentence(["Ann", "sang"], None, None, [(0, 1, "PER")])]
    both, problem = read(tmp_path, "Ann|NNP|I-PER sang|VBD|O\na|b|c\n")
    assert both == Sentence(["Ann", "sang"], ["NNP", "VBD"], None, [(0, 1, "PER")], n_mended=1)
    assert problem.line == 2 and problem.expected == "entity tags behind the tags"


# The form of the People's Daily corpus: groups, entities, sentences. The sentences are made up


NUMBER = "19990131-01-002-003/m  "


def read_daily(folder, text, encoding="utf-8", **settings):
    (folder / "a.txt").write_bytes(text.encode(encoding))
    settings = Settings(encoding="utf-8,gb18030", **settings)
    return list(read_peoples_daily(folder / "a.txt", settings))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
@pytest.mark.parametrize("number", [NUMBER, "19990131-01-002-003 ", ""])
def test_groups_and_words(tmp_path, encoding, number):
    line = "[小城/n  图书馆/n]nt  昨天/t  请/v  书社/nt  和/c  [大/a  书店/n]nz\r\n\r\n"
    assert read_daily(tmp_path, number + line, encoding) == [
        Sentence(
            ["小城", "图书馆", "昨天", "请", "书社", "和", "大", "书店"], ["n", "n", "t", "v", "nt", "c", "a", "n"],
            None, [(0, 2, "ORG"), (4, 5, "ORG")],
        )
    ]  # fmt: skip


def test_other_entities(tmp_path):
    names = {"nt": "组织", "nr": "PER", "nz": "X"}
    line = "[小/nr 书社/nt]nt 王/nr 四/nr [a/n [b/nt]nt c/n]nz [d/n]q"
    (sentence,) = read_daily(tmp_path, line, groups=names)
    assert sentence.entities == [(0, 2, "组织"), (2, 3, "PER"), (3, 4, "PER"), (4, 7, "X")]
    (sentence,) = read_daily(tmp_path, "[小/nr 书社/nt]nt", groups={})
    assert sentence.entities == []


def test_brackets_and_slashes_as_words(tmp_path):
    (sentence,) = read_daily(tmp_path, "[/w a/n ]/w //w [[/w b/n]nt")
    assert sentence.words == ["[", "a", "]", "/", "[", "b"] and sentence.entities == [(4, 6, "ORG")]


def test_paragraphs_are_cut_into_sentences(tmp_path):
    line = "“/w 下雨/v 。/w ”/w 他/r 说/v ？/w ！/w [好/a 。/w 书社/n]nt 来/v 。/w ）/w\n"
    text = f"{NUMBER}{line}{NUMBER}完/v\n"
    sentences = read_daily(tmp_path, text)
    words = [" ".join(sentence.words) for sentence in sentences]
    assert words == ["“ 下雨 。 ”", "他 说 ？ ！", "好 。 书社 来 。 ）", "完"]
    assert [len(sentence.tags) for sentence in sentences] == [4, 4, 6, 1]
    assert [sentence.entities for sentence in sentences] == [[], [], [(0, 3, "ORG")], []]
    paragraphs = read_daily(tmp_path, text, split_sentences=False)
    assert [len(paragraph.words) for paragraph in paragraphs] == [14, 1]


@pytest.mark.parametrize(
    "line, found",
    [
        ("a/n b", '"b"'),
        ("a/n /n", '"/n"'),
        ("a/n b/n]nt", '"b/n]nt" without an opening bracket'),
        ("[a/n b/n", '"[a/n" without a closing bracket'),
        ("a/n/%", '"a/n/%"'),
        ("[a/n]", '"[a/n]"'),
    ],
)
def test_paragraphs_that_cannot_be_read(tmp_path, line, found):
    first, problem, last = read_daily(tmp_path, f"c/n\n{line}\nd/n\n")
    assert problem[:3] == (tmp_path / "a.txt", 2, found) and "[ before" in problem.expected
    assert (first.words, last.words) == (["c"], ["d"])
