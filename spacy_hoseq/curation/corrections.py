"""A corpus with the corrections that somebody has accepted."""

from typing import Any, Dict, Iterable, List, Sequence

from spacy.tokens import Doc, Span, SpanGroup

from ..errors import Errors
from .findings import SPANS


def corrected(docs: Sequence[Doc], tasks: Iterable[Dict[str, Any]]) -> int:
    """Write what was accepted of findings on the Docs. tasks: lines of findings.jsonl with answers, `"accept": ["1"]`
    (and no `"answer": "reject"` or "ignore", as Prodigy has it); lines without are left as annotated.

    RETURNS (int): how many were changed. RAISES ValueError [HS153]: a line that is no finding in these Docs.
    """
    n_changed = 0
    for number, task in enumerate(tasks, 1):
        chosen = task.get("accept") or []
        if task.get("answer", "accept") != "accept" or not chosen or chosen[0] == "0":
            continue
        try:
            finding = task["finding"]
            doc = docs[finding["doc"]]
            spans = finding["alternatives"][int(chosen[0]) - 1][0]
            if [token["text"] for token in task["tokens"]] != [t.text for t in doc[slice(*finding["sentence"])]]:
                raise ValueError
            write(doc, finding["attribute"], finding["first"], finding["end"], spans)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(Errors.HS153.format(line=number)) from error
        n_changed += 1
    return n_changed


def write(doc: Doc, attribute: str, first: int, end: int, spans: List[Any]) -> None:
    """Put other labels into the region first <= i < end. spans: [first, end, label] each."""
    if attribute.startswith(SPANS):
        key = attribute[len(SPANS) :]
        group = doc.spans[key]
        kept = [span for span in group if span.end <= first or span.start >= end]
        new = [Span(doc, start, stop, label) for start, stop, label in spans]
        together = sorted([*kept, *new], key=lambda span: span.start)
        doc.spans[key] = SpanGroup(doc, name=key, spans=together)
        return
    for start, _, label in spans:
        if attribute.startswith("_."):
            setattr(doc[start]._, attribute[2:], label)
        elif attribute == "sent_start":
            doc[start].is_sent_start = label == "S"
        else:
            setattr(doc[start], f"{attribute}_", label)
