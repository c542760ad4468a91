"""Files in folders, their order, their encodings and their lines."""

import gzip
from pathlib import Path

import pytest

from spacy_hoseq.readers.files import Line, encoding_of, encodings_for, find_files, read_lines
from spacy_hoseq.readers.sentences import Problem
from spacy_hoseq.readers.splits import PARTS, SPLITS, in_part, ranges_of

TEXT = "第一 行\n两 行\n"


def names(path, suffixes):
    return [found.relative_to(path).as_posix() for found in find_files(path, suffixes)]


def test_folders_in_natural_order(tmp_path):
    for name in ["02/wsj_0210.mrg", "02/wsj_0209.mrg.gz", "10/wsj_1001.MRG", "9/x.mrg", "chtb_9.fid", "chtb_10.fid",
                 ".hidden/a.mrg", "02/.b.mrg", "02/readme.txt", "mrg"]:  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    expected = "02/wsj_0209.mrg.gz 02/wsj_0210.mrg 9/x.mrg 10/wsj_1001.MRG chtb_9.fid"
    expected = f"{expected} chtb_10.fid".split()
    assert names(tmp_path, [".mrg", ".fid"]) == expected
    assert names(tmp_path, [".fid"]) == expected[-2:]
    assert find_files(str(tmp_path / "mrg"), [".fid"]) == [tmp_path / "mrg"]


def test_nothing_to_read(tmp_path):
    message = r"\[HS074\].*the folder has no such file.*\.mrg, \.fid \(and \.gz\)"
    with pytest.raises(ValueError, match=message):
        find_files(tmp_path, [".mrg", ".fid"])
    with pytest.raises(ValueError, match=r"\[HS074\].*neither a file nor a folder"):
        find_files(tmp_path / "no", [".mrg"])
    with pytest.raises(ValueError, match="E913"):
        find_files(None, [".mrg"])


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_encoding_is_told_by_the_lines(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_text("ascii\n" + TEXT, encoding=encoding)
    expected = [Line(1, "ascii"), Line(2, "第一 行"), Line(3, "两 行")]
    assert list(read_lines(path, ["utf-8", "gb18030"])) == expected


def test_one_bad_byte_does_not_change_the_encoding(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("第一\n第".encode() + b"\xff\n" + "第三\n".encode())
    problem = Problem(path, 2, "the byte 0xFF", "text in utf-8 or gb18030")
    lines = list(read_lines(path, ["utf-8", "gb18030"]))
    assert lines == [Line(1, "第一"), problem, Line(3, "第三")]


@pytest.mark.parametrize("n_utf_8, encoding", [(1, "gb18030"), (2, "gb18030"), (4, "utf-8")])
def test_the_encoding_is_that_of_most_lines(tmp_path, n_utf_8, encoding):
    """Three lines are no UTF-8; all can be read as GB18030."""
    path = tmp_path / "a.txt"
    lines = ["第一".encode("gb18030")] * 3 + ["第一".encode()] * n_utf_8
    path.write_bytes(b"\n".join(lines))
    assert encoding_of(path, ["utf-8", "gb18030"]) == encoding


def test_all_ends_of_lines_in_one_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\rb\nc\r\n\r\r\nd\xff\re\r")
    problem = Problem(path, 5, "the byte 0xFF", "text in utf-8")
    expected = [Line(1, "a"), Line(2, "b"), Line(3, "c"), Line(4, ""), problem, Line(6, "e")]
    assert list(read_lines(path, ["utf-8"])) == expected


def test_damaged_gzip(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("".join(f"{i}\n" for i in range(5000)).encode())[:-20])
    items = list(read_lines(path, ["utf-8", "gb18030"]))
    assert items[0] == Line(1, "0") and isinstance(items[-1], Problem)
    assert (items[-1].line, items[-1].expected) == (len(items), "a file that can be read")
    path.write_bytes(b"no gzip")
    (problem,) = read_lines(path, ["utf-8"])
    assert "gzip" in problem.actual and problem.line == 1
    path.write_bytes(gzip.compress(bytes(range(256)) * 9)[:40] + bytes(300))
    *_, problem = read_lines(path, ["latin-1"])
    assert isinstance(problem, Problem)


def test_a_file_that_cannot_be_opened(tmp_path):
    (problem,) = read_lines(tmp_path / "gone.txt", ["utf-8", "gb18030"])
    assert "gone.txt" in problem.actual
    assert (problem.line, problem.expected) == (1, "a file that can be read")


def test_encodings():
    assert encodings_for("", "zh") == ["utf-8", "gb18030"]
    assert encodings_for("", "en") == ["utf-8"]
    assert encodings_for("gbk", "en") == ["gbk"]
    assert encodings_for("UTF-8-SIG", "zh") == ["UTF-8-SIG"]
    for wrong in ("klingon", "utf-16", "rot13", "hex"):
        with pytest.raises(ValueError, match=rf"\[HS027\].*{wrong}"):
            encodings_for(wrong, "zh")


# Named divisions of treebanks


def numbers(split, part):
    ranges = ranges_of(SPLITS[split].parts[part])
    return {i for first, last in ranges for i in range(first, last + 1)}


def wsj(section, number=1):
    return Path(f"wsj/{section:02}/wsj_{section:02}{number:02}.mrg")


def ctb(number):
    return Path(f"bracketed/chtb_{number:04}.nw")


def test_sections():
    assert {part: numbers("wsj-tagging", part) for part in PARTS} == {
        "train": set(range(19)), "dev": {19, 20, 21}, "test": {22, 23, 24},
    }  # fmt: skip
    assert [numbers("wsj-chunking", part) for part in PARTS] == [{15, 16, 17, 18}, {21}, {20}]
    files = [wsj(section, number) for section in range(25) for number in (1, 2)]
    assert in_part(files, "wsj-tagging", "dev") == [wsj(s, n) for s in (19, 20, 21) for n in (1, 2)]
    assert in_part(files, "", "") == files


def test_files_of_the_chinese_treebank():
    ctb5, ctb6 = ([len(numbers(split, part)) for part in PARTS] for split in ("ctb5", "ctb6"))
    assert ctb5 == [270 + 532 + 151, 25, 30]
    assert ctb6 == [1671, 160, 205] and sum(ctb6) == 2036, "CTB 6 has 2,036 files"
    assert numbers("sighan2008", "train") == numbers("ctb6", "train")
    assert numbers("sighan2008", "test") == numbers("ctb6", "dev")
    assert numbers("sighan2008", "dev") == numbers("ctb6", "test")
    assert {900, 1019, 3079} <= numbers("ctb6", "train")
    assert {1018, 1072, 3145} <= numbers("ctb6", "test")
    files = [ctb(i) for i in (270, 271, 300, 301, 326)]
    assert in_part(files, "ctb5", "test") == [ctb(271), ctb(300)]


@pytest.mark.parametrize(
    "split, part", [("ctb7", "train"), ("ctb5", "training"), ("ctb5", ""), ("", "dev")]
)
def test_unknown_names(split, part):
    message = rf"\[HS161\].*\"{split}/{part}\".*wsj-tagging.*train, dev, test"
    with pytest.raises(ValueError, match=message):
        in_part([ctb(1)], split, part)


def test_a_part_without_files():
    message = r"\[HS079\].*2 files.*\"dev\".*\"ctb5\".*file numbers 301-325; 1 of"
    with pytest.raises(ValueError, match=message):
        in_part([ctb(1), wsj(0)], "ctb5", "dev")
