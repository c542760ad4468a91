"""Tokens in their sentences, as pages show them."""

from typing import List, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..features.sequences import sentence_starts
from .sentence import written


class Place(NamedTuple):
    """doc (int): its number. before, words, after: of the sentence; the words are those that it is
    about, each with the space that follows it."""

    doc: int
    first: int
    before: List[str]
    words: List[str]
    after: List[str]
    gold: str
    guess: str


def place_of(doc: Doc, number: int, first: int, end: int, gold: str, guess: str) -> Place:
    """The tokens first <= i < end."""
    starts = np.flatnonzero(sentence_starts(doc))
    at = int(np.searchsorted(starts, first, side="right"))
    start = int(starts[at - 1])
    stop = int(starts[at]) if at < len(starts) else len(doc)
    words = written(doc[start : max(stop, end)])
    parts = words[: first - start], words[first - start : end - start], words[end - start :]
    return Place(number, first, *parts, gold, guess)
