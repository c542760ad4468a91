"""Small images, words of them, and files in the letter.data format, all invented."""

import gzip
from pathlib import Path

import numpy as np

WORDS = ["bead", "dace", "cab", "bade", "ace", "dab", "added", "cede"]


def image_of(letter, seed=0, noise=0.0):
    """(16, 8) bool. The same for the same letter, but for a share `noise` of pixels."""
    pixels = np.random.default_rng(ord(letter)).random((16, 8)) < 0.3
    return pixels ^ (np.random.default_rng(seed).random((16, 8)) < noise)


def fields_of(letter, *, number=1, next_id=-1, word=1, position=1, fold=0, image=None):
    """The fields of a line."""
    pixels = image_of(letter) if image is None else image
    return [
        *map(str, (number, letter, next_id, word, position, fold)),
        *(str(int(p)) for p in pixels.reshape(-1)),
    ]


def word_fields(text, *, first=1, word=1, fold=0, noise=0.0):
    """The fields of all lines of a word."""
    return [
        fields_of(
            letter,
            number=first + i,
            next_id=-1 if i == len(text) - 1 else first + i + 1,
            word=word,
            position=i + 1,
            fold=fold,
            image=image_of(letter, 1000 * word + i, noise),
        )
        for i, letter in enumerate(text)
    ]


def file_fields(words, noise=0.0):
    """The fields of all lines of a file. words: (text, fold)."""
    rows = []
    for i, (text, fold) in enumerate(words):
        rows += word_fields(text, first=len(rows) + 1, word=i + 1, fold=fold, noise=noise)
    return rows


def text_of(rows, end="\t\n"):
    return "".join("\t".join(fields) + end for fields in rows)


def write(path, rows, end="\t\n"):
    """As letter.data has it (a tab after the last pixel), gzipped if the name ends so."""
    data = text_of(rows, end).encode("utf8")
    Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)
    return Path(path)


def toy_file(path, folds=3, noise=0.02):
    """Words of five letters, some more than once, in several folds."""
    words = [(text, (i + shift) % folds) for shift in range(3) for i, text in enumerate(WORDS)]
    return write(path, file_fields(words, noise))
