"""Pages of HTML. Each is one file that needs no network: a template that extends `page.html.jinja`,
with the style of `page.css.jinja`.

A template fills the blocks `heading`, `content` and `script`. All values are escaped, in scripts too
(`|tojson`), so that texts with markup are shown as they are.
"""

import base64
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from unicodedata import bidirectional

from jinja2 import Environment, PackageLoader, StrictUndefined
from spacy.language import Language
from wasabi import table

from ..errors import Warnings


def rendered(template: str, **values: object) -> str:
    """Fill the template of this name in the package. title: of the page."""
    return _environment().get_template(template).render(**values)


def uncalibrated(nlp: Language, names: Sequence[str] | None = None) -> dict[str, str]:
    """Components whose probabilities are not calibrated, and what to say of each. names: of those
    that are shown, None = all of the pipeline."""
    notes = {}
    for name, pipe in nlp.pipeline:
        is_shown = names is None or name in names
        # components of other packages say nothing about it
        if is_shown and not getattr(pipe, "is_calibrated", True):
            notes[name] = Warnings.HW009.format(name=name)
    return notes


@cache
def _environment() -> Environment:
    """Made once for a process: jinja2 compiles a template when it is first used."""
    environment = Environment(
        loader=PackageLoader("spacy_hoseq.reporting", "templates"),
        # texts and pictures by their endings; plain text and Markdown are not escaped
        autoescape=lambda name: str(name).endswith((".html.jinja", ".svg.jinja")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(round_ticks=round_ticks, table=table_lines)
    return environment


def table_lines(rows: Sequence[Sequence[str]], **settings: Any) -> list[str]:
    """Lines of a table in a fixed-width font."""
    lines = table(rows, max_col=80, **settings).strip("\n").splitlines()
    return [line.rstrip() for line in lines]


def packed(value: object) -> str:
    """Data of a page, compressed to a tenth; its scripts unpack them when a word is opened."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(data.encode("utf8", "replace"), 9)).decode()


def direction(words: Iterable[str]) -> str:
    """The direction of most letters of these words: "rtl" or "ltr"; "" = there are no letters."""
    # classes of Unicode's algorithm: L is left to right; R and AL, of Arabic letters, are not
    kinds = Counter(map(bidirectional, "".join(words)))
    if kinds["R"] + kinds["AL"] > kinds["L"]:
        return "rtl"
    return "ltr" if kinds["L"] else ""


def round_ticks(top: float) -> list[float]:
    """Ticks of an axis from 0 to top or a little above: multiples of 1, 2, 2.5 or 5 times a power
    of ten, five to seven of them."""
    if top <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(top / 4))
    for multiple in (1, 2, 2.5, 5, 10):
        step = power * multiple
        n = math.ceil(top / step - 1e-9)  # a tick at the top needs no other above it
        if n <= 6:
            break
    return [float(f"{i * step:.12g}") for i in range(n + 1)]
