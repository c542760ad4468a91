"""Pages of HTML, each one file that needs no network: templates over `page.html.jinja`, with the
looks of `page.css.jinja`.

A template extends it and fills its blocks `heading`, `content` and `script`. Words of texts stay
words: all values are escaped, in scripts too (`|tojson`).
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

WIDEST = 80  # characters of a column
DIRECTIONS = {"L": "ltr", "R": "rtl", "AL": "rtl"}  # of kinds of letters


def rendered(template: str, **values: object) -> str:
    """RETURNS (str): the template of this name in the package, with the values. title: of the
    page."""
    return _environment().get_template(template).render(**values)


def uncalibrated(nlp: Language, names: Sequence[str] | None = None) -> dict[str, str]:
    """Components whose probabilities are not calibrated, and what to say of each. names: of those
    that are shown, None = all of the pipeline. Components of other packages tell nothing."""
    shown = [(name, pipe) for name, pipe in nlp.pipeline if names is None or name in names]
    rough = [name for name, pipe in shown if not getattr(pipe, "is_calibrated", True)]
    return {name: Warnings.HW009.format(name=name) for name in rough}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("spacy_hoseq.reporting", "templates"),
        autoescape=lambda name: str(name).endswith((".html.jinja", ".svg.jinja")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(round_ticks=round_ticks, table=text_table)
    return environment


def text_table(rows: Sequence[Sequence[str]], **settings: Any) -> list[str]:
    """Lines of a table in a fixed-width font."""
    lines = table(rows, max_col=WIDEST, **settings).strip("\n").splitlines()
    return [line.rstrip() for line in lines]


def packed(value: object) -> str:
    """Data of a page, as its scripts unpack them: what many words open is a tenth as large so."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(data.encode("utf8", "replace"), 9)).decode()


def direction(words: Iterable[str]) -> str:
    """ "rtl" or "ltr", as most letters of these words are written; "" = there are none."""
    sides = Counter(DIRECTIONS.get(bidirectional(c), "") for word in words for c in word)
    return "rtl" if sides["rtl"] > sides["ltr"] else "ltr" if sides["ltr"] else ""


def round_ticks(top: float) -> list[float]:
    """Ticks of an axis from 0 to top or a little above: multiples of 1, 2, 2.5 or 5 times a power
    of ten, five to seven of them."""
    if top <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(top / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if math.ceil(top / (power * m) - 1e-9) <= 6)
    return [float(f"{i * step:.12g}") for i in range(math.ceil(top / step - 1e-9) + 1)]
