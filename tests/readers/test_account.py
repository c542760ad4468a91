"""The account of a run: each file is read, or left out for a reason that is told."""

import os

import pytest

from spacy_hoseq.readers.account import Account
from spacy_hoseq.readers.files import read_lines
from spacy_hoseq.readers.sentences import Problem

from .unreadable import unreadable


@pytest.fixture
def folder(tmp_path):
    """Files and folders of all kinds."""
    names = "good.txt part.txt bad.txt c.md .DS_Store .git/x.txt shut/s.txt".split()
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a\nb\n")
    (tmp_path / "part.txt").write_bytes(b"a\n\xff\n")
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    (tmp_path / "gone.txt").symlink_to("nothing")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "link").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    with unreadable(tmp_path / "shut"):
        yield tmp_path


def read(account, file):
    return [*account.read(file, read_lines(file, ["utf-8"]))]


def test_what_became_of_each(folder):
    account = Account()
    files = account.find(folder, [".txt"])
    with pytest.raises(ValueError, match=r"\[HS115\].*bad.txt, .* of 11 files were not read"):
        account.check()
    for file in files:
        read(account, file)
    account.check(3)
    with pytest.raises(ValueError, match=r"\[HS115\].*3 texts were read, and 2 processed"):
        account.check(2)
    assert {file.name: outcome for file, outcome in account.outcomes.items()} == {
        "good.txt": "read",
        "part.txt": "read in part",
        "bad.txt": "not readable",
        "gone.txt": "not readable",
        "loop.txt": "not readable",
        "shut": "not readable",
        "c.md": "of other endings",
        ".DS_Store": "hidden",
        ".git": "hidden",
        "link": "links to folders",
        "pipe.txt": "pipes or devices",
    }
    names = [problem.path.name for problem in account.problems]
    assert names == ["shut", "bad.txt", "gone.txt", "loop.txt", "part.txt"]
    first, second, *_, last = account.rows()
    assert first == ("Files", "11", "")
    assert second == ("  not readable", "4", "bad.txt, gone.txt, loop.txt")
    assert sum(int(n) for _, n, _ in account.rows()[1:]) == 11


def test_read_to_the_end_or_not_read(folder):
    account = Account()
    (file,) = account.find(folder / "good.txt", [".txt"])
    next(account.read(file, read_lines(file, ["utf-8"])))
    with pytest.raises(ValueError, match=r"\[HS115\].*good.txt"):
        account.check()
    for _ in range(2):  # read again, it counts anew
        read(account, file)
    account.check(2)
    assert account.rows() == [("Files", "1", "")]


def test_nothing_to_read(folder):
    with pytest.raises(ValueError, match=r"\[HS074\].*the folder has no such file"):
        Account().find(folder / ".git", [".md"])
    for name, problem in (("loop.txt", "neither a file"), ("pipe.txt", "a pipe or a device")):
        with pytest.raises(ValueError, match=rf"\[HS074\].*{problem}"):
            Account().find(folder / name, [".txt"])
    account = Account()
    assert account.find(folder / "shut", [".txt"]) == []
    assert isinstance(account.problems[0], Problem)


def test_what_was_written_is_still_there(tmp_path):
    account = Account()
    with account.writing(tmp_path / "out" / "a.txt") as new:
        new.write_text("abc")
    (tmp_path / "out" / "b.txt").write_text("b")
    account.wrote(tmp_path / "out")
    account.check()
    (tmp_path / "out" / "a.txt").write_text("ab")
    with pytest.raises(ValueError, match=r"\[HS115\].*a.txt of 2 files that were written"):
        account.check()
    (tmp_path / "out" / "a.txt").unlink()
    with pytest.raises(ValueError, match="HS115"):
        account.check()
