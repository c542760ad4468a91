"""Pages of HTML, each one file that needs no network: templates over `page.html.jinja`, which has the looks of all.

A template extends it and fills its blocks `style`, `content` and `script`. Words of texts stay words: all values are
escaped, in scripts too (`|tojson`).
"""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def rendered(template: str, **values: Any) -> str:
    """RETURNS (str): the template of this name in the package, with the values. title: of the page."""
    return _environment(template.endswith((".html.jinja", ".svg.jinja"))).get_template(template).render(**values)


@cache
def _environment(is_page: bool) -> Environment:
    loader = PackageLoader("spacy_hoseq.reporting", ".")
    return Environment(
        loader=loader, autoescape=is_page, undefined=StrictUndefined, trim_blocks=not is_page, lstrip_blocks=not is_page
    )
