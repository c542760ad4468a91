"""Small black-and-white images as words: one Braille character for every 4 x 2 pixels.

A letter of 16 x 8 pixels is a token of 16 characters, four to a row. The word IS the image: it survives every format
that keeps words, lexical features can read it, and printed in rows of four it can be seen.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.util import registry

from spacy_hoseq.features import register_attribute

ROWS, COLUMNS = 16, 8  # pixels
CELL_ROWS, CELL_COLUMNS = 4, 2  # pixels of one character
CHARACTERS = (ROWS // CELL_ROWS) * (COLUMNS // CELL_COLUMNS)
BLANK = 0x2800  # the Braille pattern without dots; the others follow, one bit for each dot
_BIT_OF = np.array(
    [[0, 3], [1, 4], [2, 5], [6, 7]]
)  # of the dot at (row, column): dots 1-3 and 4-6 come first


def image_to_word(pixels: NDArray[Any]) -> str:
    """pixels (16, 8), non-zero = black."""
    cells = np.asarray(pixels, bool).reshape(
        ROWS // CELL_ROWS, CELL_ROWS, COLUMNS // CELL_COLUMNS, CELL_COLUMNS
    )
    dots = (cells << _BIT_OF[None, :, None, :]).sum(axis=(1, 3))  # (4, 4) characters
    return "".join(chr(BLANK + int(dot)) for dot in dots.reshape(-1))


def words_to_images(words: list[str]) -> NDArray[np.float32]:
    """RETURNS (n, 16, 8) float32, 1 = black. All words must be images (`is_image`)."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32) - BLANK
    cells = codes.reshape(len(words), ROWS // CELL_ROWS, 1, COLUMNS // CELL_COLUMNS, 1)
    pixels = (cells >> _BIT_OF[None, None, :, None, :].astype(np.uint32)) & 1
    return pixels.reshape(len(words), ROWS, COLUMNS).astype(np.float32)


def is_image(word: str) -> bool:
    return len(word) == CHARACTERS and all(BLANK <= ord(c) <= BLANK + 255 for c in word)


@register_attribute("pixel", numbers=range(ROWS * COLUMNS))
def pixel(number: int, word: str) -> int:
    """Pixel `number` (row by row, from 0) of a word: 1 if it is black, 0 (no feature) if not or if the word is none."""
    return _pixels(word)[number]


@lru_cache(maxsize=2**16)  # each attribute is asked for all words before the next one
def _pixels(word: str) -> bytes:
    return (
        words_to_images([word]).astype(np.uint8).tobytes()
        if is_image(word)
        else bytes(ROWS * COLUMNS)
    )


@registry.misc("spacy_hoseq.pixel_templates.v1")
def pixel_templates() -> list[str]:
    """Templates of handwritten letters: black pixels, and pairs of black pixels beside or above each other
    (Qian & Liu, "Optical Character Recognition")."""
    pairs = []
    for row in range(ROWS):
        for column in range(COLUMNS):
            here = row * COLUMNS + column
            if column + 1 < COLUMNS:
                pairs.append(f"pixel{here}[0]+pixel{here + 1}[0]")
            if row + 1 < ROWS:
                pairs.append(f"pixel{here}[0]+pixel{here + COLUMNS}[0]")
    return ["bias", f"pixel0..{ROWS * COLUMNS - 1}[0]", *pairs]
