"""The form of the People's Daily corpus: groups, entities, sentences. The sentences are made up."""

import pytest

from spacy_hoseq.readers.formats.peoples_daily import EXPECTED, read_peoples_daily
from spacy_hoseq.readers.sentences import Problem, Sentence, Settings

NUMBER = "19990131-01-002-003/m  "


def read(folder, text, encoding="utf-8", **settings):
    (folder / "a.txt").write_bytes(text.encode(encoding))
    return list(read_peoples_daily(folder / "a.txt", Settings(encodings=["utf-8", "gb18030"], **settings)))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
@pytest.mark.parametrize("number", [NUMBER, "19990131-01-002-003 ", ""])
def test_groups_and_words(tmp_path, encoding, number):
    line = "[小城/n  图书馆/n]nt  昨天/t  请/v  书社/nt  和/c  [大/a  书店/n]nz\r\n\r\n"
    assert read(tmp_path, number + line, encoding) == [
        Sentence(
            ["小城", "图书馆", "昨天", "请", "书社", "和", "大", "书店"], ["n", "n", "t", "v", "nt", "c", "a", "n"],
            None, [(0, 2, "ORG"), (4, 5, "ORG")],
        )
    ]  # fmt: skip


def test_other_entities(tmp_path):
    names = {"nt": "组织", "nr": "PER", "nz": "X"}
    (sentence,) = read(tmp_path, "[小/nr 书社/nt]nt 王/nr 四/nr [a/n [b/nt]nt c/n]nz [d/n]q", groups=names)
    assert sentence.entities == [(0, 2, "组织"), (2, 3, "PER"), (3, 4, "PER"), (4, 7, "X")]
    (sentence,) = read(tmp_path, "[小/nr 书社/nt]nt", groups={})
    assert sentence.entities == []


def test_brackets_and_slashes_as_words(tmp_path):
    (sentence,) = read(tmp_path, "[/w a/n ]/w //w [[/w b/n]nt")
    assert sentence.words == ["[", "a", "]", "/", "[", "b"] and sentence.entities == [(4, 6, "ORG")]


def test_paragraphs_are_cut_into_sentences(tmp_path):
    line = NUMBER + "“/w 下雨/v 。/w ”/w 他/r 说/v ？/w ！/w [好/a 。/w 书社/n]nt 来/v 。/w ）/w\n" + NUMBER + "完/v\n"
    sentences = read(tmp_path, line)
    expected = [["“", "下雨", "。", "”"], ["他", "说", "？", "！"], ["好", "。", "书社", "来", "。", "）"], ["完"]]
    assert [sentence.words for sentence in sentences] == expected
    assert [len(sentence.tags) for sentence in sentences] == [4, 4, 6, 1]
    assert [sentence.entities for sentence in sentences] == [[], [], [(0, 3, "ORG")], []]
    assert [len(sentence.words) for sentence in read(tmp_path, line, split_sentences=False)] == [14, 1]


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
    first, problem, last = read(tmp_path, f"c/n\n{line}\nd/n\n")
    assert problem == Problem(tmp_path / "a.txt", 2, found, EXPECTED)
    assert (first.words, last.words) == (["c"], ["d"])
