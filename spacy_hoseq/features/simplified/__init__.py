"""Traditional Chinese characters as simplified ones, full-width letters and digits as those of ASCII,
one by one.

The table (characters.txt: a line of traditional characters, and one of the simplified character of
each) is that of OpenCC, TSCharacters (Apache License 2.0, see LICENSE), for characters of the basic
plane. Of several simplified characters it has the most common one. 著 and 着 are one character here:
Taiwan writes the first for the second. Full-width signs are those of ASCII between digits only, where
they are part of a number ("１，２３４．５").
"""

import re
from functools import lru_cache
from pathlib import Path

FULL_WIDTH = ord("０") - ord("0")
WIDE = "".join(
    chr(ord(first) + i) for first, n in zip("０Ａａ", (10, 26, 26), strict=True) for i in range(n)
)
IN_NUMBERS = re.compile("(?<=[０-９])[，．：／](?=[０-９])")


@lru_cache(maxsize=1)
def simplified_characters() -> dict[int, int]:
    """For `str.translate`."""
    path = Path(__file__).with_name("characters.txt")
    traditional, simplified = path.read_text(encoding="utf8").splitlines()
    table = str.maketrans(traditional + "著", simplified + "着")
    return {**table, **{code: code - FULL_WIDTH for code in map(ord, WIDE)}}


def in_simplified(text: str) -> str:
    """A text of the same length. Japanese and Korean texts are changed, too."""
    if text.isascii():
        return text
    narrow = IN_NUMBERS.sub(lambda match: chr(ord(match[0]) - FULL_WIDTH), text)
    return narrow.translate(simplified_characters())
