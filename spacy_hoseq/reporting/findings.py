"""Likely annotation errors as a page, as lines for annotation tools, and as spans of the corpus."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from spacy.tokens import Doc, Span, SpanGroup

from ..inspection.explanation import as_data
from ..inspection.findings import Finding, Stretch
from .pages import packed, rendered
from .sentence import around, shown
from .text import shortened


def findings_page(
    docs: Sequence[Doc], findings: Sequence[Finding], *, title: str = "Likely annotation errors"
) -> str:
    """A page of HTML that needs no network. docs: of the corpus."""
    rows = []
    reasons = []
    for finding in findings:
        doc = docs[finding.doc]
        rows.append(shown_finding(doc, finding))
        reasons.append(finding.why and shortened(as_data(finding.why, doc)))
    values = {"findings": rows, "reasons": any(reasons), "data": packed(reasons)}
    return rendered("findings.html.jinja", title=title, **values)


def shown_finding(doc: Doc, finding: Finding) -> dict[str, Any]:
    """A finding in words, for templates."""
    start, stop = finding.sentence
    data = finding._asdict()
    data.pop("why")
    data.update(around(doc, start, finding.first, finding.end, stop))
    data["gold"] = {"text": text_of(doc, finding.gold.spans), "p": finding.gold.p}
    data["alternatives"] = []
    for other in finding.alternatives:
        data["alternatives"].append({"text": text_of(doc, other.spans), "p": other.p})
    # JSON has no infinity: the largest ratio is e to the 700th
    data["ratio"] = math.exp(min(finding.gap, 700.0))
    return data


def text_of(doc: Doc, spans: Sequence[Stretch]) -> str:
    """The label of a token, or spans with their words; "nothing" = outside of all chunks."""
    if len(spans) == 1 and spans[0][1] - spans[0][0] == 1:
        return spans[0][2]
    parts = []
    for first, end, label in spans:
        words = " ".join(shown(token.text) for token in doc[first:end])
        parts.append(f"[{words}] {label}")
    return " ".join(parts) or "nothing"


def annotation_tasks(docs: Sequence[Doc], findings: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """Each finding as a line of JSONL for Prodigy's `choice` and similar tools: text, tokens, the
    annotation as spans, and options: "0" as annotated, "1" and so on the alternatives. `hoseq
    correct` reads the answers."""
    for finding in findings:
        doc = docs[finding.doc]
        sentence = doc[slice(*finding.sentence)]
        task = task_of(sentence)
        task["spans"] = []
        for first, end, label in finding.gold.spans:
            # tokens of a task are counted from the beginning of its sentence
            first -= sentence.start
            last = end - sentence.start - 1
            characters = {
                "start": task["tokens"][first]["start"],
                "end": task["tokens"][last]["end"],
            }
            tokens = {"token_start": first, "token_end": last}
            task["spans"].append({**characters, **tokens, "label": label})
        task["options"] = []
        for i, choice in enumerate([finding.gold, *finding.alternatives]):
            text = f"{text_of(doc, choice.spans)} {choice.p:.3f}"
            task["options"].append({"id": f"{i}", "text": text})
        task["meta"] = {
            "doc": finding.doc,
            "first": finding.first,
            "doubt": round(finding.doubt, 2),
        }
        task["finding"] = finding._replace(why=None)._asdict()
        yield task


def task_of(text: Doc | Span) -> dict[str, Any]:
    """Text and tokens of a task for annotation tools."""
    # tools count characters and tokens from the beginning of the text that they show
    shift = text[0].idx if len(text) else 0
    tokens = []
    for number, token in enumerate(text):
        start = token.idx - shift
        place = {"start": start, "end": start + len(token), "id": number}
        tokens.append({"text": token.text, **place, "ws": bool(token.whitespace_)})
    return {"text": text.text, "tokens": tokens}


def marked(docs: Sequence[Doc], findings: Sequence[Finding]) -> list[Doc]:
    """The Docs with `doc.spans["findings"]`: regions, labelled with the best alternative; scores:
    doubts in nats."""
    # a span group of spaCy's is set at once, so findings are collected by Doc first
    by_doc = defaultdict(list)
    for finding in findings:
        by_doc[finding.doc].append(finding)
    for number, doc in enumerate(docs):
        spans = []
        for finding in by_doc[number]:
            best = finding.alternatives[0].spans if finding.alternatives else []
            spans.append(Span(doc, finding.first, finding.end, text_of(doc, best)))
        scores = {"scores": [finding.doubt for finding in by_doc[number]]}
        doc.spans["findings"] = SpanGroup(doc, name="findings", spans=spans, attrs=scores)
    return list(docs)
