"""Traditional Chinese characters as simplified ones, full-width letters and digits as those of ASCII,
one by one.

The table (characters.txt: a line of traditional characters, and one of the simplified character of
each) is that of OpenCC, TSCharacters (Apache License 2.0, see LICENSE), for characters of the basic
plane. Of several simplified characters it has the most common one. 著 and 着 are one character here:
Taiwan writes the first for the second. Full-width signs are those of ASCII between digits only, where
they are part of a number ("１，２３４．５").
"""

import re
from functools import cache
from pathlib import Path
from unicodedata import normalize


@cache
def simplified_characters() -> dict[int, int]:
    """The table for `str.translate`."""
    path = Path(__file__).with_name("characters.txt")
    traditional, simplified = path.read_text(encoding="utf8").splitlines()
    wide = "".join(filter(str.isalnum, map(chr, range(0xFF10, 0xFF5B))))  # "０" to "ｚ"
    return str.maketrans(traditional + "著" + wide, simplified + "着" + normalize("NFKC", wide))


def in_simplified(text: str) -> str:
    """A text of the same length. Japanese and Korean texts are changed, too."""
    if text.isascii():
        return text
    narrow = re.sub(
        "(?<=[０-９])[，．：／](?=[０-９])", lambda match: normalize("NFKC", match[0]), text
    )
    return narrow.translate(simplified_characters())
