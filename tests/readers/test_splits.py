"""Named divisions of treebanks."""

from pathlib import Path

import pytest

from spacy_hoseq.readers.splits import PARTS, SPLITS, in_part, ranges_of


def numbers(split, part):
    return {i for first, last in ranges_of(SPLITS[split].parts[part]) for i in range(first, last + 1)}


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
    assert {900, 1019, 3079} <= numbers("ctb6", "train") and {1018, 1072, 3145} <= numbers("ctb6", "test")
    assert in_part([ctb(i) for i in (270, 271, 300, 301, 326)], "ctb5", "test") == [ctb(271), ctb(300)]


@pytest.mark.parametrize("split, part", [("ctb7", "train"), ("ctb5", "training"), ("ctb5", ""), ("", "dev")])
def test_unknown_names(split, part):
    with pytest.raises(ValueError, match=rf"\[HS161\].*\"{split}/{part}\".*wsj-tagging.*train, dev, test"):
        in_part([ctb(1)], split, part)


def test_a_part_without_files():
    with pytest.raises(ValueError, match=r"\[HS079\].*2 files.*\"dev\".*\"ctb5\".*file numbers 301-325; 1 of"):
        in_part([ctb(1), wsj(0)], "ctb5", "dev")
