"""Traditional Chinese characters as simplified ones, one by one.

The table (characters.txt: a line of traditional characters, and one of the simplified character of
each) is that of OpenCC, TSCharacters (Apache License 2.0, see LICENSE), for characters of the basic
plane. Of several simplified characters it has the most common one. 著 and 着 are one character here:
Taiwan writes the first for the second.
"""

from functools import lru_cache
from pathlib import Path
from typing import Dict


@lru_cache(maxsize=1)
def simplified_characters() -> Dict[int, int]:
    """For `str.translate`."""
    path = Path(__file__).with_name("characters.txt")
    traditional, simplified = path.read_text(encoding="utf8").splitlines()
    return str.maketrans(traditional + "著", simplified + "着")


def in_simplified(text: str) -> str:
    """A text of the same length. Japanese and Korean texts are changed, too."""
    return text if text.isascii() else text.translate(simplified_characters())
