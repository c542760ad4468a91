"""The best words of texts: an exact labelling of their units in which every label sequence is a
sequence of words.

A label is that of a unit's place in its word, with the kind of the word (chunks.py): B, I, E for
the first, inner and last unit of a longer word, S for a word of one unit. With the potentials psi
of the tagger,

    y* = argmax_y  sum of psi(x, y),   y made of  S  and  B I* E  alone, and no word across white space
                                       unless it is of the kind that has some in it ("135 000").

What cannot be is taken from the potentials (pairs of labels, labels at the ends), so that every
decoder is exact as it is. Checked against enumeration in tests/segmentation/test_decoding.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints, Labels, Mask
from ..chunks import Grammar, grammar
from ..decoders.answers import best_labels
from ..decoders.problem import Potentials
from .units import Units

ONE_KIND = "W"  # of words whose kind is not known
LAST_KIND = "LAST"  # of words that are the last of their sentences, where labels say so
SPACED_KIND = "SPACED"  # of words with white space in them, where labels say so


class WordBounds(NamedTuple):
    """Words of one text. starts, ends (W,): first character of each, and the one after the last.
    sentence (W,) bool: it begins a sentence, by the labels, or else by the signs before it."""

    starts: Ints
    ends: Ints
    sentence: Mask


def unit_doc(vocab: Vocab, text: str, units: Units, sentences: bool = True) -> Doc:
    """A Doc of the units of a text, with one space for any white space. sentences (bool): mark
    sentence starts by the signs; sentences are labelled one by one."""
    words = units.of(text)
    spaces = [*units.after_space[1:].tolist(), False][: len(words)]
    starts = None
    if sentences and words:
        starts = units.sentence.tolist()
    return Doc(vocab, words=words, spaces=spaces, sent_starts=starts)


class WordLabels:
    """Labels of units, read as words. labels: all labels by id. RAISES ValueError [HS027]: a label
    has no known form."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.grammar: Grammar = grammar(labels, "start_end")
        self.begins: Mask = np.array([label.startswith(("B", "S")) for label in labels], bool)
        self.last: Mask = np.array([label[2:] == LAST_KIND for label in labels], bool)
        self.spaced: Mask = np.array([label[2:] == SPACED_KIND for label in labels], bool)

    def best(self, model: Any, docs: Sequence[Doc], texts: Sequence[Units]) -> list[WordBounds]:
        """The words of each text. docs: `unit_doc` of each. model: its potentials are over these
        labels."""
        labels: Labels = np.zeros(0, np.int32)
        if any(map(len, docs)):
            labels = best_labels(self.possible(model.predict(list(docs)), texts))
        words: list[WordBounds] = []
        ends = np.cumsum([len(doc) for doc in docs])
        # np.split gives what is behind the last end, too: nothing
        for units, text_labels in zip(texts, np.split(labels, ends), strict=False):
            first = np.flatnonzero(self.begins[text_labels])  # (W,)
            sentence = units.sentence[first]
            if self.last.any():
                sentence[1:] = self.last[text_labels[first[:-1]]]
            end = np.append(first, len(text_labels))[1:]
            words.append(WordBounds(units.starts[first], units.ends[end - 1], sentence))
        return words

    def possible(self, potentials: Potentials, texts: Sequence[Units]) -> Potentials:
        """Potentials restricted to labellings that are words, with no word across white space and
        no sentence across a blank line. Every sequence begins with a word."""
        after_space = np.concatenate([units.after_space for units in texts])
        after_blank = np.concatenate([units.after_blank for units in texts])
        begins = after_blank.copy()
        begins[np.cumsum(potentials.lengths) - potentials.lengths] = True
        allowed = np.ones(potentials.scores.shape, bool)
        # no word across white space, unless its kind has some in it
        allowed[after_space] &= self.grammar.first | self.spaced
        allowed[np.append(after_space[1:], True)] &= self.grammar.last | self.spaced
        allowed[begins] &= self.grammar.first
        allowed[np.append(begins[1:], True)] &= self.grammar.last
        if self.last.any():
            allowed[np.append(after_blank[1:], True)] &= self.last
        weights = potentials.weights.permitting(self.grammar.pairs)
        return potentials._replace(weights=weights).permitting(allowed)
