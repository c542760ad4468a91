"""Why a text was labelled as it was, in the terminal."""

from spacy.tokens import Doc
from wasabi import table

from ..inspection import Explanation
from .sentence import shown

REASONS = 12  # rows
WIDEST = 80  # characters of a column


def explanation_text(one: Explanation, doc: Doc, *, calibrated: bool = True) -> str:
    """RETURNS (str): what was decided, how probable the alternatives are, and what the decision is
    the sum of. calibrated (bool): whether these probabilities are."""
    said = " ".join(shown(token.text) for token in doc[one.first : one.end])
    places = f"{one.first}-{one.end - 1}" if one.end - one.first > 1 else f"{one.first}"
    turn = f" (turn {one.turn})" if one.turn else ""
    alternatives = ", ".join(f"{label} {p:.3f}" for label, p in one.alternatives)
    lines = [
        f"{one.component}, {places}: {said}{turn}",
        f"  {alternatives}{'' if calibrated else ' (not calibrated)'}",
    ]
    if not one.against:
        return "\n".join([*lines, "  no other label is permitted here"])
    lines.append(
        f"  {one.label}, not {one.against}: ahead by {one.difference:.3f}, which is the sum of"
    )
    rows = [
        (f"{term.value:+.3f}", term.kind, term.name, shown(doc[term.token].text))
        for term in one.terms[:REASONS]
    ]
    rest = one.terms[REASONS:]
    if rest:
        rows.append((f"{sum(term.value for term in rest):+.3f}", f"{len(rest)} more", "", ""))
    header = ("value", "", "what", "at")
    text = table(rows, header=header, aligns=("r", "l", "l", "l"), max_col=WIDEST)
    return "\n".join([*lines, *(f"    {line}".rstrip() for line in text.strip("\n").splitlines())])
