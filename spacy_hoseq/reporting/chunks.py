"""Chunks to look at: a page by spaCy's displacy, every chunk with its type and its probability."""

import re
from html import escape
from typing import Any, Dict, Iterable

from spacy import displacy
from spacy.tokens import Doc

from .sentence import shown

COLOURS = {
    "NP": "#cfe3f7", "VP": "#fbd5c5", "PP": "#e3f1cf", "ADVP": "#f6e6b4", "ADJP": "#e4d7f5", "SBAR": "#d9e2e8",
    "PRT": "#f5d3e2",
}  # fmt: skip


FIGURE = '<figure style="margin-bottom: {}rem">'


def chunks_page(docs: Iterable[Doc], *, spans_key: str = "chunks", title: str = "Chunks") -> str:
    """RETURNS (str): a page of HTML, without scripts.

    docs: with chunks that do not overlap in doc.spans[spans_key], such as `hoseq_chunker` writes.
    RAISES KeyError: a Doc without them.
    """
    shown = [chunks_of(doc, spans_key) for doc in docs]
    options = {"colors": COLOURS}
    page = displacy.render(
        shown, style="ent", manual=True, page=True, jupyter=False, options=options
    )
    # no links
    page = re.sub(
        r'<a [^>]*href="#">([^<]*)</a>', r'<span style="font-weight: normal">\1</span>', page
    )
    page = page.replace(FIGURE.format(6), FIGURE.format(2))
    return page.replace("<title>displaCy</title>", f"<title>{escape(title)}</title>", 1)


def chunks_of(doc: Doc, spans_key: str) -> Dict[str, Any]:
    """A Doc as displacy reads it; the probability stands where it has the id of an entity."""
    group = doc.spans[spans_key]
    scores = group.attrs.get("scores")
    chunks = []
    for i, span in enumerate(group):
        probability = "" if scores is None else f"{scores[i]:.2f}"
        place = {
            "start": span.start_char,
            "end": span.end_char,
            "label": escape(shown(span.label_)),
        }
        chunks.append({**place, "kb_id": probability, "kb_url": "#"} if probability else place)
    return {
        "text": doc.text,
        "ents": sorted(chunks, key=lambda chunk: chunk["start"]),
        "title": None,
    }
