"""Pages of HTML, each one file that needs no network: templates over `page.html.jinja`, which has
the looks of all.

A template extends it and fills its blocks `style`, `content` and `script`. Words of texts stay
words: all values are escaped, in scripts too (`|tojson`).
"""

from functools import cache
from typing import Any, List, Optional, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from spacy.language import Language

from ..errors import Warnings


def rendered(template: str, **values: Any) -> str:
    """RETURNS (str): the template of this name in the package, with the values. title: of the
    page."""
    return (
        _environment(template.endswith((".html.jinja", ".svg.jinja")))
        .get_template(template)
        .render(**values)
    )


def uncalibrated(nlp: Language, names: Optional[Sequence[str]] = None) -> List[str]:
    """A sentence for each component whose probabilities are not calibrated. names: of those that
    are shown, None = all of the pipeline."""
    shown = [(name, pipe) for name, pipe in nlp.pipeline if names is None or name in names]
    return [Warnings.HW009.format(name=name) for name, pipe in shown if not calibrated(pipe)]


def calibrated(pipe: Any) -> bool:
    """Whether nine in ten labels with probability 0.9 are right, as far as training can see to it.
    Components of other packages say nothing of their probabilities."""
    return bool(getattr(pipe, "is_calibrated", True))


@cache
def _environment(is_page: bool) -> Environment:
    loader = PackageLoader("spacy_hoseq.reporting", ".")
    return Environment(
        loader=loader,
        autoescape=is_page,
        undefined=StrictUndefined,
        trim_blocks=not is_page,
        lstrip_blocks=not is_page,
    )
