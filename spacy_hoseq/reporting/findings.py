"""Likely annotation errors as a page, as lines for annotation tools, and as spans of the corpus."""

import math
from typing import Any, Dict, Iterator, List, Sequence

from spacy.tokens import Doc, Span, SpanGroup

from ..curation.findings import Alternative, Finding
from ..inspection.explanation import as_data
from .pages import rendered
from .sentence import shown, written

SPANS_KEY = "findings"
NOTHING = "nothing"  # of a region that is outside of all chunks
MOST = 700.0  # nats, of which exp is a number


def findings_page(
    docs: Sequence[Doc], findings: Sequence[Finding], *, title: str = "Likely annotation errors"
) -> str:
    """RETURNS (str): a page of HTML that needs no network. docs: of the corpus."""
    rows = [shown_finding(docs[one.doc], one) for one in findings]
    reasons = [one.why and as_data(one.why, docs[one.doc]) for one in findings]
    return rendered(
        "findings.html.jinja", title=title, findings=rows, reasons=reasons if any(reasons) else []
    )


def shown_finding(doc: Doc, finding: Finding) -> Dict[str, Any]:
    """A finding in words, for templates."""
    words = written(doc)
    start, end = finding.sentence
    return {
        **{name: value for name, value in finding._asdict().items() if name != "why"},
        "before": words[start : finding.first],
        "words": words[finding.first : finding.end],
        "after": words[finding.end : end],
        "gold": {"text": text_of(doc, finding.gold), "p": finding.gold.p},
        "alternatives": [
            {"text": text_of(doc, other), "p": other.p} for other in finding.alternatives
        ],
        "ratio": math.exp(min(finding.gap, MOST)),
    }


def text_of(doc: Doc, alternative: Alternative) -> str:
    """A label, or if there are several spans, each with its words."""
    spans = alternative.spans
    if len(spans) == 1 and spans[0][1] - spans[0][0] == 1:
        return spans[0][2]
    parts = [
        f"[{' '.join(shown(t.text) for t in doc[first:end])}] {label}"
        for first, end, label in spans
    ]
    return " ".join(parts) or NOTHING


def annotation_tasks(docs: Sequence[Doc], findings: Sequence[Finding]) -> Iterator[Dict[str, Any]]:
    """A line of JSONL each, which Prodigy's `choice` and tools alike read: text, tokens, what is
    annotated as spans, and options: "0" as annotated, "1" and so on the alternatives. `hoseq
    correct` reads the answers."""
    for finding in findings:
        doc = docs[finding.doc]
        start, end = finding.sentence
        sentence = doc[start:end]
        shift = sentence.start_char

        def placed(
            first: int,
            last: int,
            label: str,
            doc: Doc = doc,
            start: int = start,
            shift: int = shift,
        ) -> Any:
            span = doc[first:last]
            characters = {"start": span.start_char - shift, "end": span.end_char - shift}
            return {
                **characters,
                "token_start": first - start,
                "token_end": last - start - 1,
                "label": label,
            }

        choices = [finding.gold, *finding.alternatives]
        yield {
            "text": sentence.text,
            "tokens": [
                {
                    "text": t.text,
                    "start": t.idx - shift,
                    "end": t.idx - shift + len(t),
                    "id": t.i - start,
                }
                | {"ws": bool(t.whitespace_)}
                for t in sentence
            ],
            "spans": [placed(*span) for span in finding.gold.spans],
            "options": [
                {"id": str(i), "text": f"{text_of(doc, choice)} {choice.p:.3f}"}
                for i, choice in enumerate(choices)
            ],
            "meta": {"doc": finding.doc, "first": finding.first, "doubt": round(finding.doubt, 2)},
            "finding": {name: value for name, value in finding._asdict().items() if name != "why"},
        }


def marked(docs: Sequence[Doc], findings: Sequence[Finding]) -> List[Doc]:
    """The Docs with `doc.spans["findings"]`: regions, labelled with the best alternative; scores:
    doubts in nats."""
    of_doc: Dict[int, List[Finding]] = {}
    for finding in findings:
        of_doc.setdefault(finding.doc, []).append(finding)
    for i, doc in enumerate(docs):
        some = of_doc.get(i, [])
        labels = [
            text_of(doc, one.alternatives[0]) if one.alternatives else NOTHING for one in some
        ]
        spans = [
            Span(doc, one.first, one.end, label) for one, label in zip(some, labels, strict=True)
        ]
        scores = [one.doubt for one in some]
        doc.spans[SPANS_KEY] = SpanGroup(doc, name=SPANS_KEY, spans=spans, attrs={"scores": scores})
    return list(docs)
