"""Features, transitions and labels as a person says them:

    lower[-1] = the + suffix3[0] = ing     the word before is "the", this word ends in -ing
    known_tags[0] = 21                     is known as NN
    word_class2[1] = 59                    the word after is like says, adds, writes
    U-PP U-NP                              NP after PP
    lower *ies>*y                          drop -ies, add -y

`names.py` names features as templates do, so that they can be kept in a file and found in a config.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from spacy.vocab import Vocab

from ..chunks import OUTSIDE
from ..components.targets.lemmas import script_named
from ..features.word_classes import CLASS_WORDS_TABLE

VALUE = re.compile(r" \(\d+\.\d\d\)$")
PART = re.compile(r"([\w.]+?)(\d*)\[(-?\d+)\] = (.*)")
# what is said of the value of an attribute
SAYINGS = {
    "orth": 'is written "{}"',
    "lower": 'is "{}"',
    "norm": 'is "{}"',
    "folded": 'is "{}"',
    "simplified": 'is "{}"',
    "lemma": 'has the lemma "{}"',
    "tag": "is tagged {}",
    "upstream": "is tagged {}",
    "label": "is labelled {}",
    "morph": "has the features {}",
    "prefix": "begins with {}-",
    "suffix": "ends in -{}",
    "simplified_prefix": "begins with {}-",
    "simplified_suffix": "ends in -{}",
    "infix": "has -{}- within",
    "short_infix": "has -{}- within",
    "length": "has {} characters",
    "spacy": "has a space after it",
    "char_classes": "has characters of the kinds {}",
    "repeated_char": "repeats its characters as {}",
    "word_class": "is listed as {}",
}
CASE_WORDS = {"lower": "in lower case", "upper": "in capitals", "title": "with a capital"}
SHAPES = {
    "x": "is in lower case",
    "X": "is in capitals",
    "Xx": "begins with a capital",
    "d": "is a number",
}


class Wording(NamedTuple):
    """What is needed to put the features of a component into words.

    tags: names of known tags, by number. class_words: some words of each class, by attribute and
    name of the class.
    """

    tags: Sequence[str]
    class_words: Mapping[str, Mapping[str, Sequence[str]]]

    def feature(self, name: str) -> str:
        """A feature in words. name: of `FeatureNames`; "(0.95)" at its end is its value."""
        value = VALUE.search(name)
        if value:
            name = name[: value.start()]
        sayings: dict[int, list[str]] = {}
        for piece in name.split(" + "):
            part = PART.fullmatch(piece)
            if part is None:
                return "always" if piece == "bias" else name
            attribute, number, offset, text = part.groups()
            place = int(offset)
            sayings.setdefault(place, []).append(self._saying(attribute, number, place, text))
        clauses = []
        for place in sorted(sayings):
            clause = " and ".join(sayings[place])
            if (place or len(sayings) > 1) and not clause.startswith("there is no"):
                clause = f"{_place(place)} {clause}"
            clauses.append(clause)
        words = ", ".join(clauses)
        return f"{words}{value[0]}" if value else words

    def _saying(self, attribute: str, number: str, place: int, value: str) -> str:
        """What is said of one word. number: of the attribute, "" = it takes none."""
        if value in ("<s>", "</s>"):
            return f"there is no {_place(place).removeprefix('the ')}"
        if attribute == "known_tags":
            numbers = value.split("\u2423")  # what `shown` makes of spaces
            return f"is known as {' or '.join(map(self._tag, numbers))}"
        if attribute == "known_tag":
            return f"is known as {self._tag(number)}"
        if attribute == "word_class" and value.isdecimal():
            words = self.class_words.get(f"{attribute}{number}", {}).get(value, ())
            return f"is like {', '.join(words)}" if words else f"is in word class {value}"
        if attribute == "word_class":
            value = value.replace("|", " or ").replace("of_", "a word of ").replace("_", " ")
        if attribute == "short_shape" and value in SHAPES:
            return SHAPES[value]
        plain = attribute.replace("_", " ").strip()
        if value == "True":
            return plain
        return SAYINGS.get(attribute, f"has the {plain} {{}}").format(value)

    def _tag(self, number: str) -> str:
        is_known = number.isdecimal() and int(number) < len(self.tags)
        return self.tags[int(number)] if is_known else f"tag {number}"


def wording_of(labels: Sequence[str], vocab: Vocab) -> Wording:
    """labels: of a component, which are the tags that it knows of words. vocab: its own."""
    return Wording(sorted(labels), vocab.lookups.get_table(CLASS_WORDS_TABLE, {}))


def _place(offset: int) -> str:
    """The word at an offset."""
    if offset == 0:
        return "this word"
    side = "before" if offset < 0 else "after"
    distance = {1: "", 2: "second ", 3: "third "}.get(abs(offset), f"{abs(offset)}th ")
    return f"the {distance}word {side}"


def transition(before: str, label: str, *, is_chunk: bool) -> str:
    """A pair of neighbouring labels. is_chunk (bool): they are tags of chunks."""
    if not is_chunk:
        return f"{label} after {before}"
    if _goes_on(before, label):
        return f"{chunk_type(label)} goes on"
    return f"{chunk_type(label)} after {chunk_type(before)}"


def chunk_type(tag: str) -> str:
    """The type of the chunk that a tag such as "B-NP" belongs to."""
    return "no chunk" if tag == OUTSIDE else tag[2:]


def chunks_in_words(tags: Sequence[str]) -> str:
    """The chunks that neighbouring tags stand for, such as "LOC" for "B-LOC L-LOC"."""
    types = [chunk_type(tags[0])]
    for before, tag in zip(tags, tags[1:], strict=False):
        if not (tag == before == OUTSIDE or _goes_on(before, tag)):
            types.append(chunk_type(tag))
    return " and ".join(types)


def _goes_on(before: str, tag: str) -> bool:
    """True if the second tag goes on with the chunk of the first."""
    return tag[0] in "ILE" and before[1:] == tag[1:]


def lemma_in_words(label: str, word: str) -> str:
    """The lemma that an edit script makes of a word, and how: "lady (drop -ies, add -y)"."""
    script = script_named(label)
    lemma = script.lemma(word)
    if script.is_whole:
        return lemma
    steps = []
    sides = (script.prefix_cut, script.prefix, "{}-"), (script.suffix_cut, script.suffix, "-{}")
    for cut, added, side in sides:
        if cut:
            steps.append(f"drop {side.format(cut)}")
        if added:
            steps.append(f"add {side.format(added)}")
    if script.case != "keep":
        steps.append(CASE_WORDS[script.case])
    return f"{lemma} ({', '.join(steps)})" if steps else lemma
