"""A corpus with the corrections that somebody has accepted."""

from typing import Any, Dict, Iterable, Sequence

from spacy.tokens import Doc

from ..components import target_at
from ..errors import Errors


def corrected(docs: Sequence[Doc], tasks: Iterable[Dict[str, Any]]) -> int:
    """Write what was accepted of findings on the Docs. tasks: lines of findings.jsonl with answers,
    `"accept": ["1"]` (and no `"answer": "reject"` or "ignore", as Prodigy has it); lines without
    are left as annotated.

    RETURNS (int): how many were changed. RAISES ValueError [HS153]: a line that is no finding in
    these Docs.
    """
    n_changed = 0
    for number, task in enumerate(tasks, 1):
        try:
            chosen = task.get("accept") or []
            if task.get("answer", "accept") != "accept" or not chosen or chosen[0] == "0":
                continue
            finding = task["finding"]
            doc = docs[finding["doc"]]
            spans = finding["alternatives"][int(chosen[0]) - 1][0]
            if [token["text"] for token in task["tokens"]] != [
                t.text for t in doc[slice(*finding["sentence"])]
            ]:
                raise ValueError
            target_at(finding["attribute"]).put(doc, finding["first"], finding["end"], spans)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(Errors.HS153.format(line=number)) from error
        n_changed += 1
    return n_changed
