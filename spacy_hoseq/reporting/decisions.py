"""The order in which a sentence was understood: as text, and as a page to look at.

Both need docs annotated by `hoseq_bidirectional_tagger` with `save_decisions`.
"""

from html import escape
from typing import Any, Dict, Iterable, List, Sequence

from spacy.tokens import Doc, Span

from .sentence import shown

CHARACTER = 8.6  # pixels
GAP = 14
STEP = 13
MARGIN = 16
DOT = 5
FEWEST = 3  # characters a column is wide at least

PALE = (176, 201, 228)  # colours of probability 1/2 and 1, as red, green, blue
CERTAIN = (37, 91, 141)
PAGE_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;color:#1c2733;margin:2em auto;max-width:1200px;padding:0 1em}"
    "figure{margin:0 0 2.5em;overflow-x:auto}figcaption{font:13px/1.7 monospace;color:#51606f;margin-top:.4em}"
)
STYLE = (
    ".word{font:14px monospace;fill:#1c2733}.label{font:bold 12px monospace;fill:#2f6fb3}"
    ".turn{font:11px monospace;fill:#51606f}.path{fill:none;stroke:#cfd6dd;stroke-width:1.2}.drop{stroke:#e9edf1}"
)


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
    figures = [_figure(*sentence) for doc in docs for sentence in sentences_of(doc, name)]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{PAGE_STYLE}</style>'
    note = (
        "<p>Each token stands at the height of its turn: the lowest was decided first. The colour is the probability "
        "of its label at that moment, given the neighbours decided before it: blue is certain, red is below one half. "
        "Point at a dot to read it.</p>"
    )
    body = f"<h1>{escape(title)}</h1>{note}{''.join(figures)}"
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>\n"


def sentences_of(doc: Doc, name: str) -> "List[tuple[Span, List[str], List[int], List[float]]]":
    """Span, labels, order and probabilities of each sentence. RAISES KeyError: no decisions of this
    component."""
    kept: Dict[str, Any] = (
        (Doc.has_extension("hoseq_decisions") and doc._.get("hoseq_decisions")) or {}
    )[name]
    sentences = doc.sents if doc.has_annotation("SENT_START") else [doc[:]] if len(doc) else []
    result = []
    for span in sentences:
        here = slice(span.start, span.end)
        order = kept["order"][here].tolist()
        probabilities = kept["probabilities"][here].tolist()
        result.append((span, kept["labels"][here], order, probabilities))
    return result


def draw_decisions(
    span: Span, labels: Sequence[str], order: Sequence[int], probabilities: Sequence[float]
) -> str:
    """RETURNS (str): SVG of one sentence on its staircase. probabilities: of the labels when
    decided, 0 to 1."""
    height = MARGIN + STEP * max(order, default=0)
    x = float(MARGIN)
    points = []
    marks = []
    for token, label, turn, probability in zip(span, labels, order, probabilities, strict=True):
        if not turn:
            continue  # white space
        width = max(len(token.text), len(label), FEWEST) * CHARACTER
        word = escape(shown(token.text))
        label = escape(shown(label))
        middle = x + width / 2
        y = height - STEP * (turn - 1)
        points.append((turn, middle, y))
        marks.append(
            f'<line x1="{middle:.1f}" y1="{y:.1f}" x2="{middle:.1f}" y2="{height + 14}" class="drop"/>'
            f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="{DOT}" fill="{_colour(probability)}">'
            f"<title>{turn}. {word}: {label}, {probability:.3f}</title></circle>"
            f'<text x="{middle + DOT + 2:.1f}" y="{y + 4:.1f}" class="turn">{turn}</text>'
            f'<text x="{middle:.1f}" y="{height + 28}" text-anchor="middle" class="word">{word}</text>'
            f'<text x="{middle:.1f}" y="{height + 46}" text-anchor="middle" class="label">{label}</text>'
        )
        x += width + GAP
    path = " ".join(f"{middle:.1f},{y:.1f}" for _, middle, y in sorted(points))
    width = round(x + MARGIN)
    height = height + 58
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<polyline points="{path}" class="path"/>{"".join(marks)}</svg>'
    )


def _figure(
    span: Span, labels: Sequence[str], order: Sequence[int], probabilities: Sequence[float]
) -> str:
    caption = escape(decisions_text(span, labels, order))
    return f"<figure>{draw_decisions(span, labels, order, probabilities)}<figcaption>{caption}</figcaption></figure>"


def _colour(probability: float) -> str:
    """Blue when certain, paler down to one half, red below."""
    if probability < 0.5:
        return "#c0392b"
    share = (probability - 0.5) / 0.5
    return "#" + "".join(
        f"{round(p + share * (c - p)):02x}" for p, c in zip(PALE, CERTAIN, strict=True)
    )
