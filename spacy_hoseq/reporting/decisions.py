"""The order of the decisions in a sentence: as text, and as a page to look at.

Both need docs that `hoseq_bidirectional_tagger` has annotated with `save_decisions`.
"""

from collections.abc import Iterable, Sequence

from spacy.tokens import Doc, Span

from ..components.extensions import DECISIONS, values_on
from .pages import rendered
from .sentence import sentences_in, shown


def decisions_text(span: Span, labels: Sequence[str], order: Sequence[int]) -> str:
    """The words of one sentence as "word/LABEL/order word/LABEL/order ...", as Tsuruoka & Tsujii
    (2005, section 4.1) print it."""
    words = []
    for token, label, turn in zip(span, labels, order, strict=True):
        if turn:  # white space has none
            words.append(f"{shown(token.text)}/{shown(label)}/{turn}")
    return " ".join(words)


def decisions_page(docs: Iterable[Doc], name: str, *, title: str = "Decisions") -> str:
    """A page of HTML without scripts. The words of a sentence stand on a staircase: the lower, the
    earlier.

    docs: annotated with `save_decisions`. name (str): of the component.
    RAISES KeyError: a Doc without decisions of this component.
    """
    figures = []
    for doc in docs:
        for span, labels, order, probabilities in sentences_of(doc, name):
            picture = draw_decisions(span, labels, order, probabilities)
            figures.append((picture, decisions_text(span, labels, order)))
    return rendered("decisions.html.jinja", title=title, figures=figures) + "\n"


def sentences_of(doc: Doc, name: str) -> list[tuple[Span, list[str], list[int], list[float]]]:
    """Span, labels, order and probabilities of each sentence. RAISES KeyError: no decisions of this
    component."""
    saved = (values_on(doc, DECISIONS) or {})[name]
    order = saved["order"].tolist()
    probabilities = saved["probabilities"].tolist()
    rows = []
    for span in sentences_in(doc):
        here = slice(span.start, span.end)
        rows.append((span, saved["labels"][here], order[here], probabilities[here]))
    return rows


def draw_decisions(
    span: Span, labels: Sequence[str], order: Sequence[int], probabilities: Sequence[float]
) -> str:
    """One sentence on its staircase, as SVG. probabilities: of the labels when they were decided, 0
    to 1."""
    margin = 16  # pixels, as the others
    stair = 13
    character = 8.6
    gap = 14
    height = margin + stair * max(order, default=0)
    end = float(margin)
    dots = []
    for token, label, turn, p in zip(span, labels, order, probabilities, strict=True):
        if turn:  # white space has none
            width = max(len(token.text), len(label), 4) * character
            place = {"x": end + width / 2, "y": height - stair * (turn - 1), "turn": turn, "p": p}
            dots.append({**place, "word": shown(token.text), "label": shown(label)})
            end += width + gap
    return rendered("decisions.svg.jinja", width=round(end + margin), height=height, dots=dots)
