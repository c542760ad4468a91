"""The template language: which attributes, at which offsets, make a feature.

    template    := part ("+" part)*                      a conjunction fires when all of its parts do
    part        := name "[" offset [".." offset] "]" | "bias"
    name        := spaCy token attribute | "_." extension | numbered number [".." number]
    numbered    := the name of an attribute that is registered with numbers (features/attributes.py), as "suffix"

The number of an affix is its length in characters, that of a known tag its place among the tags of
the training data (features/known_tags.py). A range stands for one template per value:
"prefix1..3[0]" is three templates, "lower[-2..2]" is five.

Templates that look at labels are written like all others: `label` is the label of a neighbour, which
becomes known while decoding; `upstream` one of an earlier component, known as a probability.
"label[-1]+orth[0]" has a part that is about words, a template of its own.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from spacy.strings import get_string_id

from ..errors import Errors, unknown_name, wrong_value
from .attributes import numbered_names, numbers_of


class Part(NamedTuple):
    """One attribute at one offset: "lower" at -1 is the lower-case form of the token before."""

    attribute: str
    offset: int

    def __str__(self) -> str:
        return self.attribute if self.attribute == "bias" else f"{self.attribute}[{self.offset}]"


class Template(NamedTuple):
    """A conjunction of parts. Fires at a token when every part has a value there."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


def parse_templates(texts: Iterable[str]) -> list[Template]:
    """Read template strings, ranges written out, in the given order.

    RAISES ValueError [HS010]: a string that is no template (points at the place); [HS027]: no
        templates at all; [HS027]: the same template twice.
    """
    templates: list[Template] = []
    for text in texts:
        templates += parse_template(text)
    twice = [template for template, n in Counter(templates).items() if n > 1]
    if twice:
        raise wrong_value("templates", f'"{twice[0]}"', "each once, ranges written out")
    if not templates:
        raise wrong_value("templates", "none", "one or more")
    return templates


def parse_template(text: str) -> list[Template]:
    """Read one template string, which gives one template per combination of its ranges. RAISES
    ValueError [HS010], which points at the part that is wrong."""
    alternatives: list[list[Part]] = []
    at = 0
    for part in re.split(r"\+(?![^[\]]*\])", str(text)):  # at each "+" that is not within brackets
        try:
            alternatives.append(_parts(part))
        except ValueError as error:
            given = {"text": text, "pointer": " " * at + "^", "at": at + 1}
            raise ValueError(Errors.HS010.format(**given, expected=error)) from error
        at += len(part) + 1
    return [Template(parts) for parts in itertools.product(*alternatives)]


def _parts(text: str) -> list[Part]:
    """A part for each number and offset. RAISES ValueError: what is expected in its place."""
    if text == "bias":
        return [Part(text, 0)]
    attribute = r"(_\.[A-Za-z]\w*|[A-Za-z_]+)(?:(\d+)(?:\.\.(\d+))?)?"  # with numbers
    offsets = r"\[([+-]?\d+)(?:\.\.([+-]?\d+))?\]"
    match = re.fullmatch(attribute + offsets, text)
    if match is None:
        raise ValueError('an attribute and an offset, such as "lower[0]" or "suffix1..3[-1..1]"')
    name, first, last, begin, end = match.groups()
    names = [name]
    if first is not None:
        known = numbers_of(name)
        if known is None:
            raise ValueError(f'"[" (only {", ".join(numbered_names())} take a number)')
        names = [f"{name}{number}" for number in _range(first, last, known)]
    return [Part(*each) for each in itertools.product(names, _range(begin, end, range(-100, 101)))]


def _range(first: str, last: str | None, known: range) -> range:
    written = range(int(first), int(last or first) + 1)
    if not written or written[0] < known[0] or written[-1] > known[-1]:
        raise ValueError(f"a range from {known[0]} to {known[-1]}, smaller number first")
    return written


class LabelTemplate(NamedTuple):
    """A template that looks at labels.

    seed: of its keys. word (int): which of the word parts it has, -1 = none. offsets: labels
    that it looks at. parts: all, those about words first.
    """

    seed: np.uint64
    word: int
    offsets: tuple[int, ...]
    parts: tuple[Part, ...]


class SplitTemplates(NamedTuple):
    """Templates, by whether they look at labels.

    plain: templates about words only. words: word parts of label templates. labels: the label
    templates.
    """

    plain: list[Template]
    words: list[Template]
    labels: list[LabelTemplate]


def split_templates(
    templates: Sequence[Template], attribute: Literal["label", "upstream"] = "label"
) -> SplitTemplates:
    """Split templates by whether they look at labels. Labels of an earlier component ("upstream")
    are read from left to right. RAISES ValueError [HS027]: one looks at the token's own label; at
    none of the earlier component, or at one place twice."""
    plain = []
    labels = []
    words: dict[Template, int] = {}
    for template in templates:
        label_parts = [part for part in template.parts if part.attribute == attribute]
        word_parts = tuple(part for part in template.parts if part.attribute != attribute)
        if attribute == "upstream":
            label_parts.sort()
        offsets = tuple(part.offset for part in label_parts)
        _check_offsets(template, attribute, offsets)
        if not label_parts:
            plain.append(template)
            continue
        word = -1
        if word_parts:
            word = words.setdefault(Template(word_parts), len(words))
        seed = np.uint64(get_string_id(str(template)))
        labels.append(LabelTemplate(seed, word, offsets, (*word_parts, *label_parts)))
    return SplitTemplates(plain, list(words), labels)


def _check_offsets(template: Template, attribute: str, offsets: tuple[int, ...]) -> None:
    """RAISES ValueError [HS027] as `split_templates`."""
    if attribute == "upstream":
        is_wrong = not offsets or len({*offsets}) < len(offsets)
        expected = (
            'labels of the earlier component, each place once, such as "upstream[-1]+upstream[0]"'
        )
    else:
        is_wrong = 0 in offsets
        expected = 'labels of neighbours, such as "label[-1]"'
    if is_wrong:
        raise wrong_value("template", f'"{template}"', expected)


def templates_named(name: str, classes: int = 0) -> list[str]:
    """Registered as `spacy_hoseq.templates.v1`: the templates of a ready-made set.

    name (str): of the set; of several, joined by "+". classes (int): columns of the table of word
        classes that are read, too; the last one, such as the tags of a lexicon, also in pairs.
    RAISES ValueError [HS161]: there is no such set.
    """
    sets = template_sets()
    result: list[str] = []
    for part in name.split("+"):
        if part not in sets:
            raise unknown_name(part, sets)
        result += sets[part]["templates"]
    if classes:
        last = f"word_class{classes}"
        result.append(f"word_class1..{classes}[-1..1]")
        result += [f"{last}[-1]+{last}[0]", f"{last}[0]+{last}[1]"]
    return result


@cache
def template_sets() -> dict[str, dict[str, Any]]:
    """What each set is for ("about"), and its "templates", by name."""
    text = Path(__file__).with_name("template_sets.json").read_text(encoding="utf8")
    sets: dict[str, dict[str, Any]] = json.loads(text)
    return sets
