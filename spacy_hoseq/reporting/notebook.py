"""`render(doc)`: the pages of a text inline in a notebook, without taking over its styles."""

from html import escape
from typing import Any, Iterable, Optional, Sequence, Union

from spacy.language import Language
from spacy.tokens import Doc

from .explanation import explanation_page
from .text import text_page

HEIGHT = 420  # pixels


class Page:
    """What a notebook shows: a page in a frame of its own. html (str): the whole page."""

    def __init__(self, html: str, height: int = HEIGHT) -> None:
        self.html = html
        self.height = height

    def _repr_html_(self) -> str:
        source = escape(self.html, quote=True)
        return (
            f'<iframe title="spacy_hoseq" sandbox="allow-scripts" srcdoc="{source}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def render(
    docs: Union[Doc, Iterable[Doc]],
    nlp: Optional[Language] = None,
    names: Optional[Sequence[str]] = None,
    *,
    title: str = "Text",
    height: int = HEIGHT,
) -> Any:
    """Words with their labels, how probable these are, and chunks as frames. nlp: the pipeline that
    has annotated the docs; with it each word opens its alternatives and reasons, of all components
    or of those of these names.

    RETURNS (Page): a notebook shows it as the last value of a cell; elsewhere, `html` is the page.
    """
    some = [docs] if isinstance(docs, Doc) else list(docs)
    html = (
        text_page(some, title=title)
        if nlp is None
        else explanation_page(nlp, some, names, title=title)
    )
    return Page(html, height)
