"""The template language: which attributes, at which offsets, make a feature.

    template    := part ("+" part)*                      a conjunction fires when all of its parts do
    part        := name "[" offset [".." offset] "]" | "bias"
    name        := spaCy token attribute | "_." extension | numbered number [".." number]
    numbered    := the name of an attribute that is registered with numbers (features/attributes.py), as "suffix"

The number of an affix is its length in characters, that of a known tag its place among the tags of
the training data (features/known_tags.py). A range stands for one template per value:
"prefix1..3[0]" is three templates, "lower[-2..2]" is five.
"""

import itertools
import re
from typing import Iterable, List, NamedTuple, Tuple

from ..errors import Errors
from .attributes import numbered_names, numbers_of

_NAME = re.compile(r"_\.[A-Za-z]\w*|[A-Za-z_]+")
_LENGTHS = re.compile(r"(\d+)(?:\.\.(\d+))?")
_OFFSETS = re.compile(r"\[([+-]?\d+)(?:\.\.([+-]?\d+))?\]")
MAX_OFFSET = 100


class Part(NamedTuple):
    """One attribute at one offset: "lower" at -1 is the lower-case form of the token before."""

    attribute: str
    offset: int

    def __str__(self) -> str:
        return self.attribute if self.attribute == "bias" else f"{self.attribute}[{self.offset}]"


class Template(NamedTuple):
    """A conjunction of parts. Fires at a token when every part has a value there."""

    parts: Tuple[Part, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


def parse_templates(texts: Iterable[str]) -> List[Template]:
    """Read template strings, ranges written out, in the given order.

    RAISES ValueError [HS010]: a string that is no template (points at the place); [HS027]: no
        templates at all; [HS027]: the same template twice.
    """
    templates = [template for text in texts for template in parse_template(text)]
    if not templates:
        raise ValueError(Errors.HS027.format(name="templates", value="none", expected="one or more"))
    seen = set()
    for template in templates:
        if template in seen:
            expected = "each once, ranges written out"
            raise ValueError(
                Errors.HS027.format(name="templates", value=f'"{template}"', expected=expected)
            )
        seen.add(template)
    return templates


def parse_template(text: str) -> List[Template]:
    """Read one template string into one template per combination of its ranges. RAISES ValueError
    [HS010]."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(_message(str(text), 0, 'a template such as "lower[0]"'))
    alternatives = []
    at = 0
    while True:
        parts, at = _parse_part(text, at)
        alternatives.append(parts)
        if at == len(text):
            return [Template(parts) for parts in itertools.product(*alternatives)]
        if text[at] != "+":
            raise ValueError(_message(text, at, '"+" or the end'))
        at += 1


def _parse_part(text: str, at: int) -> Tuple[List[Part], int]:
    name = _NAME.match(text, at)
    if not name:
        raise ValueError(_message(text, at, "an attribute name"))
    at = name.end()
    if name.group() == "bias":
        return [Part("bias", 0)], at
    attributes = [name.group()]
    lengths = _LENGTHS.match(text, at)
    known = numbers_of(name.group())
    if lengths and known is not None:
        numbers = _range(text, lengths, least=known[0], most=known[-1])
        attributes = [f"{name.group()}{n}" for n in numbers]
    elif lengths and not name.group().startswith("_."):
        raise ValueError(
            _message(text, at, f'"[" (only {", ".join(numbered_names())} take a number)')
        )
    at = lengths.end() if lengths else at
    offsets = _OFFSETS.match(text, at)
    if not offsets:
        raise ValueError(_message(text, at, 'an offset such as "[-1]" or "[-2..2]"'))
    within = _range(text, offsets, least=-MAX_OFFSET, most=MAX_OFFSET)
    return [Part(a, o) for a in attributes for o in within], offsets.end()


def _range(text: str, match: "re.Match[str]", *, least: int, most: int) -> range:
    first = int(match.group(1))
    last = first if match.group(2) is None else int(match.group(2))
    if not least <= first <= last <= most:
        raise ValueError(
            _message(text, match.start(), f"a range from {least} to {most}, smaller number first")
        )
    return range(first, last + 1)


def _message(text: str, at: int, expected: str) -> str:
    return Errors.HS010.format(text=text, pointer=" " * at + "^", at=at + 1, expected=expected)
