"""Likely annotation errors as a page, as lines for annotation tools, and as spans of the corpus."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from spacy.tokens import Doc, Span, SpanGroup

from ..inspection.explanation import as_data
from ..inspection.findings import Finding, Stretch
from .pages import packed, rendered
from .sentence import around, shown
from .text import shortened

SPANS_KEY = "findings"
NOTHING = "nothing"  # of a region that is outside of all chunks
MOST = 700.0  # nats, of which exp is a number


def findings_page(
    docs: Sequence[Doc], findings: Sequence[Finding], *, title: str = "Likely annotation errors"
) -> str:
    """RETURNS (str): a page of HTML that needs no network. docs: of the corpus."""
    rows = [shown_finding(docs[one.doc], one) for one in findings]
    reasons = [one.why and shortened(as_data(one.why, docs[one.doc])) for one in findings]
    values = {"findings": rows, "reasons": any(reasons), "data": packed(reasons)}
    return rendered("findings.html.jinja", title=title, **values)


def shown_finding(doc: Doc, finding: Finding) -> dict[str, Any]:
    """A finding in words, for templates."""
    start, stop = finding.sentence
    return {
        **{name: value for name, value in finding._asdict().items() if name != "why"},
        **around(doc, start, finding.first, finding.end, stop),
        "gold": {"text": text_of(doc, finding.gold.spans), "p": finding.gold.p},
        "alternatives": [
            {"text": text_of(doc, other.spans), "p": other.p} for other in finding.alternatives
        ],
        "ratio": math.exp(min(finding.gap, MOST)),
    }


def text_of(doc: Doc, spans: Sequence[Stretch]) -> str:
    """A label, or if there are several spans, each with its words."""
    if len(spans) == 1 and spans[0][1] - spans[0][0] == 1:
        return spans[0][2]
    parts = [
        f"[{' '.join(shown(t.text) for t in doc[first:end])}] {label}"
        for first, end, label in spans
    ]
    return " ".join(parts) or NOTHING


def annotation_tasks(docs: Sequence[Doc], findings: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """A line of JSONL each, which Prodigy's `choice` and tools alike read: text, tokens, what is
    annotated as spans, and options: "0" as annotated, "1" and so on the alternatives. `hoseq
    correct` reads the answers."""
    for one in findings:
        doc = docs[one.doc]
        sentence = doc[slice(*one.sentence)]
        task = task_of(sentence)
        task["spans"] = [
            {
                "start": task["tokens"][first - sentence.start]["start"],
                "end": task["tokens"][end - sentence.start - 1]["end"],
                "token_start": first - sentence.start,
                "token_end": end - sentence.start - 1,
                "label": label,
            }
            for first, end, label in one.gold.spans
        ]
        choices = enumerate([one.gold, *one.alternatives])
        told = [{"id": f"{i}", "text": f"{text_of(doc, x.spans)} {x.p:.3f}"} for i, x in choices]
        meta = {"doc": one.doc, "first": one.first, "doubt": round(one.doubt, 2)}
        yield {**task, "options": told, "meta": meta, "finding": one._replace(why=None)._asdict()}


def task_of(text: Doc | Span) -> dict[str, Any]:
    """Text and tokens of a task for annotation tools."""
    shift = text[0].idx if len(text) else 0
    first = text.start if isinstance(text, Span) else 0
    tokens = [
        {
            "text": t.text,
            "start": t.idx - shift,
            "end": t.idx - shift + len(t),
            "id": t.i - first,
            "ws": bool(t.whitespace_),
        }
        for t in text
    ]
    return {"text": text.text, "tokens": tokens}


def marked(docs: Sequence[Doc], findings: Sequence[Finding]) -> list[Doc]:
    """The Docs with `doc.spans["findings"]`: regions, labelled with the best alternative; scores:
    doubts in nats."""
    for i, doc in enumerate(docs):
        here = [one for one in findings if one.doc == i]
        labels = [
            text_of(doc, one.alternatives[0].spans if one.alternatives else []) for one in here
        ]
        spans = [
            Span(doc, one.first, one.end, label) for one, label in zip(here, labels, strict=True)
        ]
        scores = {"scores": [one.doubt for one in here]}
        doc.spans[SPANS_KEY] = SpanGroup(doc, name=SPANS_KEY, spans=spans, attrs=scores)
    return list(docs)
