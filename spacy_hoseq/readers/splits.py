"""Divisions of treebanks into training, development and test parts, by section or by number of
file.

    name          part    numbers
    wsj-tagging   train   sections 0-18
                  dev     19-21
                  test    22-24
    wsj-chunking  train   sections 15-18
                  dev     21
                  test    20
    ctb5, ctb6, sighan2008: files, see SPLITS.

A section is the first two digits of `wsj_SSNN`, or the name of the folder ("00" to "24"); a file of
the Chinese Treebank has its number in its name (`chtb_0301.fid`).

Sources. wsj-tagging: Collins (2002), Toutanova et al. (2003). wsj-chunking: Tjong Kim Sang &
Buchholz (2000); dev is section 21, as in Tsuruoka & Tsujii (2005). ctb5:
Kruengkrai et al. (2009). ctb6: the manual of CTB 6, as in Yang & Xue (2012). sighan2008: Jin & Chen
(2008); the training and test parts of the bakeoff are the train and dev lists of ctb6; it had no
dev part, and here the test list of ctb6 stands for one, so that train and test keep their sizes. A
model chosen on that dev part must not be measured on the test part of ctb6.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, unknown_name

PARTS = ("train", "dev", "test")


class Split(NamedTuple):
    """number_of(path): what is divided, None for files that have no number. name: of what is
    divided. parts: numbers as they are written in papers."""

    number_of: Callable[[Path], int | None]
    name: str
    parts: dict[str, str]


def section_of(path: Path) -> int | None:
    """The section of the Wall Street Journal, by the name of the file or else of its folder."""
    match = re.match(r"wsj_(\d\d)\d\d", path.name, re.IGNORECASE) or re.fullmatch(
        r"(\d\d)", path.parent.name
    )
    return match and int(match.group(1))


def ctb_number_of(path: Path) -> int | None:
    """The number of a file of the Chinese Treebank: "chtb_0301.nw" is 301."""
    match = re.match(r"chtb_(\d+)", path.name, re.IGNORECASE)
    return match and int(match.group(1))


CTB6 = {
    "train": (
        "81-325, 400-454, 500-554, 590-596, 600-885, 900, 1001-1017, 1019, 1021-1035, 1037-1043, 1045-1059, 1062-1071, "
        "1073-1078, 1100-1117, 1130-1131, 1133-1140, 1143-1147, 1149-1151, 2000-2139, 2160-2164, 2181-2279, 2311-2549, "
        "2603-2774, 2820-3079"
    ),
    "dev": "41-80, 1120-1129, 2140-2159, 2280-2294, 2550-2569, 2775-2799, 3080-3109",
    "test": (
        "1-40, 901-931, 1018, 1020, 1036, 1044, 1060-1061, 1072, 1118-1119, 1132, 1141-1142, 1148, 2165-2180, "
        "2295-2310, 2570-2602, 2800-2819, 3110-3145"
    ),
}
SPLITS: dict[str, Split] = {
    "wsj-tagging": Split(section_of, "section", {"train": "0-18", "dev": "19-21", "test": "22-24"}),
    "wsj-chunking": Split(section_of, "section", {"train": "15-18", "dev": "21", "test": "20"}),
    "ctb5": Split(
        ctb_number_of,
        "file",
        {"train": "1-270, 400-931, 1001-1151", "dev": "301-325", "test": "271-300"},
    ),
    "ctb6": Split(ctb_number_of, "file", CTB6),
    "sighan2008": Split(
        ctb_number_of,
        "file",
        {"train": CTB6["train"], "dev": CTB6["test"], "test": CTB6["dev"]},
    ),
}


def check_split(split: str, part: str) -> None:
    """RAISES ValueError [HS161]: the split or the part is not known, or one of the two is
    missing."""
    if (split or part) and (split not in SPLITS or part not in PARTS):
        raise unknown_name(f"{split}/{part}", [*SPLITS, *PARTS])


def in_part(files: list[Path], split: str, part: str) -> list[Path]:
    """The files of a part, in their order. split: "" = all files.

    RAISES ValueError [HS161]: no such split or part; [HS079]: none of the files is in the part.
    """
    check_split(split, part)
    if not split:
        return files
    number_of, name, parts = SPLITS[split]
    ranges = ranges_of(parts[part])
    # files of folders that have no number belong to no part
    chosen = []
    n_numbered = 0
    for file in files:
        number = number_of(file)
        if number is not None:
            n_numbered += 1
            if any(first <= number <= last for first, last in ranges):
                chosen.append(file)
    if not chosen:
        raise ValueError(
            Errors.HS079.format(
                part=part,
                split=split,
                name=name,
                numbers=parts[part],
                n_files=len(files),
                n_numbered=n_numbered,
            )
        )
    return chosen


def ranges_of(text: str) -> list[tuple[int, int]]:
    """First and last number of each range."""
    ranges = []
    for piece in text.split(", "):
        first, _, last = piece.partition("-")
        ranges.append((int(first), int(last or first)))
    return ranges
