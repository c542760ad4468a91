"""The order in which a sentence was understood: as text, and as a page to look at.

Both need docs annotated by `hoseq_bidirectional_tagger` with `save_decisions`.
"""

from collections.abc import Iterable, Sequence

from spacy.tokens import Doc, Span

from ..components.extensions import DECISIONS, values_on
from .pages import rendered
from .sentence import shown

CHARACTER = 8.6  # pixels
GAP = 14
STEP = 13
MARGIN = 16
FEWEST = 4  # characters a column is wide at least


def decisions_text(span: Span, labels: Sequence[str], order: Sequence[int]) -> str:
    """The words of one sentence as "word/LABEL/order word/LABEL/order ...", as Tsuruoka & Tsujii
    (2005, section 4.1) print it."""
    told = zip(span, labels, order, strict=True)
    return " ".join(
        f"{shown(token.text)}/{shown(label)}/{turn}" for token, label, turn in told if turn
    )


def decisions_page(docs: Iterable[Doc], name: str, *, title: str = "Decisions") -> str:
    """RETURNS (str): a page of HTML, without scripts. Each sentence stands on a staircase: the
    lower, the earlier.

    docs: annotated with `save_decisions`. name (str): of the component.
    RAISES KeyError: a Doc without decisions of this component.
    """
    sentences = [sentence for doc in docs for sentence in sentences_of(doc, name)]
    figures = [(draw_decisions(*each), decisions_text(*each[:3])) for each in sentences]
    return rendered("decisions.html.jinja", title=title, figures=figures) + "\n"


def sentences_of(doc: Doc, name: str) -> list[tuple[Span, list[str], list[int], list[float]]]:
    """Span, labels, order and probabilities of each sentence. RAISES KeyError: no decisions of this
    component."""
    kept = (values_on(doc, DECISIONS) or {})[name]
    sentences = doc.sents if doc.has_annotation("SENT_START") else [doc[:]] if len(doc) else []
    columns = (kept["labels"], kept["order"].tolist(), kept["probabilities"].tolist())
    return [(span, *(column[span.start : span.end] for column in columns)) for span in sentences]


def draw_decisions(
    span: Span, labels: Sequence[str], order: Sequence[int], probabilities: Sequence[float]
) -> str:
    """RETURNS (str): SVG of one sentence on its staircase. probabilities: of the labels when
    decided, 0 to 1."""
    height = MARGIN + STEP * max(order, default=0)
    end = float(MARGIN)
    dots = []
    for token, label, turn, p in zip(span, labels, order, probabilities, strict=True):
        if turn:  # (white space has none)
            width = max(len(token.text), len(label), FEWEST) * CHARACTER
            place = {"x": end + width / 2, "y": height - STEP * (turn - 1), "turn": turn, "p": p}
            dots.append({**place, "word": shown(token.text), "label": shown(label)})
            end += width + GAP
    return rendered("decisions.svg.jinja", width=round(end + MARGIN), height=height, dots=dots)
