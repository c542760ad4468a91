"""Why a text was labelled as it was: as text, and as a page on which each word opens its
alternatives and reasons."""

from typing import Any, Dict, Iterable, List, Optional, Sequence

from spacy.language import Language
from spacy.tokens import Doc
from wasabi import table

from ..inspection.accounts import Account, accounts, as_data, explained
from .pages import rendered, uncalibrated
from .sentence import shown

REASONS = 12  # rows of the text
WITHOUT = 6


def account_text(account: Account, component: str, doc: Doc, *, calibrated: bool = True) -> str:
    """RETURNS (str): what was decided, how probable the alternatives are, and what the decision is
    made of. calibrated (bool): whether these probabilities are."""
    said = " ".join(shown(token.text) for token in doc[account.first : account.end])
    alternatives = ", ".join(f"{label} {p:.3f}" for label, p in account.alternatives)
    turn = f" (turn {account.turn})" if account.turn else ""
    places = (
        f"{account.first}-{account.end - 1}"
        if account.end - account.first > 1
        else f"{account.first}"
    )
    lines = [
        f"{component}, {places}: {said}{turn}",
        f"  {alternatives}{'' if calibrated else ' (not calibrated)'}",
    ]
    why = account.why
    if why is None:
        return "\n".join([*lines, "  no other label is permitted here"])
    lines.append(
        f"  {why.label}, not {why.against}: ahead by {why.difference:.3f}, which is the sum of"
    )
    rows = [
        (f"{term.value:+.3f}", term.kind, term.name, shown(doc[term.token].text))
        for term in why.terms[:REASONS]
    ]
    rest = why.terms[REASONS:]
    if rest:
        rows.append((f"{sum(term.value for term in rest):+.3f}", f"{len(rest)} more", "", ""))
    lines.append(
        _indented(
            table(
                rows,
                header=("value", "", "what", "at"),
                aligns=("r", "l", "l", "l"),
                max_col=80,
            )
        )
    )
    lines.append(f"  log-odds {why.log_odds:.3f}; they would be")
    without = [
        (f"{change.log_odds:.3f}", "without", change.kind, change.name)
        for change in why.changes[:WITHOUT]
    ]
    lines.append(_indented(table(without, aligns=("r", "l", "l", "l"), max_col=80)))
    if why.fewest:
        names = "; ".join(why.fewest)
        lines.append(
            f"  it would be {why.instead} without {len(why.fewest)} of its features: {names}"
        )
    lines += [
        f"  it would be {turn.instead} if {shown(turn.text)} were {turn.label}, which has probability {turn.p:.3f}"
        for turn in why.turns[:2]
    ]
    return "\n".join(lines)


def explanation_page(
    nlp: Language, docs: Iterable[Doc], names: Optional[Sequence[str]] = None, *, title: str
) -> str:
    """RETURNS (str): a page of HTML of its own. docs: annotated by the pipeline. names: of
    components, None = all."""
    notes = uncalibrated(nlp, explained(nlp, names))
    return rendered(
        "explanation.html.jinja", title=title, notes=notes, **explanation_data(nlp, docs, names)
    )


def explanation_data(
    nlp: Language,
    docs: Iterable[Doc],
    names: Optional[Sequence[str]] = None,
    *,
    reasons: bool = True,
) -> Dict[str, Any]:
    """RETURNS "sentences": each with "words" and "rows", a row of each component; "reasons": all of
    them, by number.
    reasons (bool): False = alternatives only, which takes a small part of the time."""
    sentences: List[Dict[str, object]] = []
    every: List[Dict[str, object]] = []
    for doc in docs:
        of_doc = [
            (name, accounts(nlp.get_pipe(name), doc, reasons=reasons))
            for name in explained(nlp, names)
        ]
        for sent in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
            words = [token.i for token in sent if not token.is_space]
            if not words:
                continue
            column = {token: i + 1 for i, token in enumerate(words)}
            rows = []
            for name, some in of_doc:
                cells = []
                for account in some:
                    inside = [column[i] for i in range(account.first, account.end) if i in column]
                    if inside:
                        data = {
                            **as_data(account),
                            "component": name,
                            "text": doc[account.first : account.end].text,
                        }
                        data["token"] = account.first
                        data["at"] = {i: shown(doc[i].text) for i in range(sent.start, sent.end)}
                        cells.append(
                            {**data, "first": inside[0], "n": len(inside), "number": len(every)}
                        )
                        every.append(data)
                if cells:
                    rows.append({"component": name, "cells": cells})
            sentences.append({"words": [shown(doc[i].text) for i in words], "rows": rows})
    return {"sentences": sentences, "reasons": every}


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())
