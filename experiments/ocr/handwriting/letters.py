"""Handwritten words in the letter.data format (Taskar, Guestrin & Koller 2003; data of R. Kassel).

One letter a line, fields separated by tabs:

    id  letter  next_id  word_id  position  fold  p_0_0 ... p_15_7

`next_id` is -1 at the end of a word, `position` counts from 1, `fold` is 0 to 9, pixels are 0 or 1, row by row.
"""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from .pixels import COLUMNS, ROWS, image_to_word

FIELDS = 6  # before the pixels
Letter = tuple[str, str]  # image as a word (pixels.py), and what it shows


@registry.readers("spacy_hoseq.letter_corpus.v1")
def letter_corpus(
    path: str | Path | None, folds: list[int] | None = None
) -> Callable[[Language], Iterator[Example]]:
    """Words as Docs, their letters as tokens whose text is the image, and what they show as `token.tag`.

    path: plain or gzipped. folds: of which folds; None = all. RAISES ValueError: a line that cannot be read, by its
    number; no words in these folds; spaCy's E913: no path.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)

    def read(nlp: Language) -> Iterator[Example]:
        n_words = 0
        for letters, fold in read_letters(path):
            if folds is not None and fold not in folds:
                continue
            n_words += 1
            doc = Doc(
                nlp.vocab, words=[image for image, _ in letters], spaces=[False] * len(letters)
            )
            gold = doc.copy()
            for token, (_, name) in zip(gold, letters, strict=True):
                token.tag_ = name
            yield Example(doc, gold)
        if not n_words:
            wanted = "any fold" if folds is None else f"the folds {folds}"
            raise ValueError(
                f"There are no words in {wanted} of {path}. Give folds that it has, or another file."
            )

    return read


def read_letters(path: str | Path) -> Iterator[tuple[list[Letter], int]]:
    """All words, letter by letter, each with its fold. RAISES ValueError: a line that cannot be read."""
    word: list[Letter] = []
    before: list[str] = []  # fields of the letter before, in the same word
    number = 0
    opened = gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb")
    with opened as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            fields = line.decode("utf-8", errors="replace").rstrip("\r\n").rstrip("\t").split("\t")
            problem = _problem(fields, before)
            if problem:
                raise ValueError(f"Cannot read line {number} of {path}: {problem}.")
            pixels = np.array(fields[FIELDS:]) == "1"
            word.append((image_to_word(pixels.reshape(ROWS, COLUMNS)), fields[1]))
            before = fields
            if fields[2] == "-1":
                yield word, int(fields[5])
                word, before = [], []
    if word:
        raise ValueError(f"Cannot read line {number} of {path}: the file ends within a word.")


def _problem(fields: list[str], before: list[str]) -> str:
    """What is wrong with a line, "" if nothing. before: fields of the letter before it in its word, [] if none."""
    n_pixels = len(fields) - FIELDS
    if n_pixels != ROWS * COLUMNS:
        return f"expected {FIELDS} fields and {ROWS * COLUMNS} pixels separated by tabs, got {len(fields)} fields"
    if not fields[1]:
        return "the letter is missing"
    if "\ufffd" in fields[1]:
        return "the letter is not UTF-8"
    for i, name in ((2, "the next letter's id"), (5, "the fold")):
        digits = fields[i].removeprefix("-") if i == 2 else fields[i]
        if not (digits.isascii() and digits.isdigit()):
            return f'{name} must be a number, got "{fields[i]}"'
    position = int(before[4]) + 1 if before else 1
    if fields[4] != str(position):
        return f'expected position {position} in the word, got "{fields[4]}"'
    wrong = set(fields[FIELDS:]) - {"0", "1"}
    if wrong:
        return f'pixels must be 0 or 1, got "{sorted(wrong)[0]}"'
    for i, name in ((3, "word"), (5, "fold")):
        if before and fields[i] != before[i]:
            return f"the {name} changes from {before[i]} to {fields[i]} within a word"
    return ""
