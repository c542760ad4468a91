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
from typing import Iterable, List, NamedTuple, Optional, Tuple

from ..errors import Errors
from .attributes import numbered_names, numbers_of

PART = re.compile(
    r"(_\.[A-Za-z]\w*|[A-Za-z_]+)(?:(\d+)(?:\.\.(\d+))?)?"  # attribute, numbers
    r"\[([+-]?\d+)(?:\.\.([+-]?\d+))?\]"  # offsets
)
BETWEEN = re.compile(r"\+(?![^[\]]*\])")  # parts, not within brackets
MAX_OFFSET = 100
OFFSETS = range(-MAX_OFFSET, MAX_OFFSET + 1)


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
        raise ValueError(
            Errors.HS027.format(name="templates", value="none", expected="one or more")
        )
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
    [HS010], which points at the part that is wrong."""
    alternatives: List[List[Part]] = []
    at = 0
    for part in BETWEEN.split(str(text)):
        try:
            alternatives.append(_parts(part))
        except ValueError as error:
            given = {"text": text, "pointer": " " * at + "^", "at": at + 1}
            raise ValueError(Errors.HS010.format(**given, expected=error)) from error
        at += len(part) + 1
    return [Template(parts) for parts in itertools.product(*alternatives)]


def _parts(text: str) -> List[Part]:
    """One for each number and offset. RAISES ValueError: what is expected in its place."""
    if text == "bias":
        return [Part(text, 0)]
    match = PART.fullmatch(text)
    if match is None:
        raise ValueError('an attribute and an offset, such as "lower[0]" or "suffix1..3[-1..1]"')
    name, first, last, begin, end = match.groups()
    names = [name]
    if first is not None:
        known = numbers_of(name)
        if known is None:
            raise ValueError(f'"[" (only {", ".join(numbered_names())} take a number)')
        names = [f"{name}{number}" for number in _range(first, last, known)]
    return [Part(each, offset) for each in names for offset in _range(begin, end, OFFSETS)]


def _range(first: str, last: Optional[str], known: range) -> range:
    written = range(int(first), int(last or first) + 1)
    if not written or written[0] < known[0] or written[-1] > known[-1]:
        raise ValueError(f"a range from {known[0]} to {known[-1]}, smaller number first")
    return written
