"""All decisions of a text, explained: what pages, notebooks and the command line show."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..arrays import Floats
from ..errors import Errors
from .chunk_explanation import explain_chunk
from .decision_explanation import explain_decision
from .decisions import Decisions
from .explanation import Explanation, explain_word
from .extensions import can_tell
from .reading import Reading, own_component, own_components
from .spans import Places, chunk_probabilities

ALTERNATIVES = 6  # labels
NO_CHUNK = "no chunk of exactly these words"
LEAST = 0.001  # probability of an alternative that is said


class Account(NamedTuple):
    """why: None where there was no other label. alternatives: labels with their probabilities, most
    probable first, the best label among them. turn: of a bidirectional tagger, when it was decided,
    else 0."""

    first: int
    end: int
    label: str
    p: float
    alternatives: List[Tuple[str, float]]
    why: Optional[Explanation]
    turn: int = 0


def explained(nlp: Language, names: Optional[Sequence[str]] = None) -> List[str]:
    """Components of a pipeline whose decisions can be explained: those of these names, or all that
    do more than to find sentences. RAISES ValueError [HS142]: it makes no decisions one by one;
    [HS152]: there is no such component."""
    own = own_components(nlp, names or ())
    chosen = [name for name, pipe in own.items() if can_tell(pipe)]
    if not chosen or len(chosen) < len(names or ()):
        name = next(name for name in own if name not in chosen)
        raise ValueError(Errors.HS142.format(name=name, strategy=own[name].cfg["strategy"]))
    return chosen


def accounts(
    pipe: object,
    doc: Doc,
    tokens: Optional[Sequence[int]] = None,
    *,
    reasons: bool = True,
    against: Optional[str] = None,
) -> List[Account]:
    """Of each word (of some tokens), or of each chunk that was found (and has one of the tokens).

    pipe: of the pipeline that has annotated the doc. reasons (bool): False = `why` is None
        everywhere.
    against: a label to compare with. RAISES ValueError [HS141, HS146] as `explain`.
    """
    return list(each_account(pipe, doc, tokens, reasons=reasons, against=against))


def each_account(
    pipe: object,
    doc: Doc,
    tokens: Optional[Sequence[int]] = None,
    *,
    reasons: bool = True,
    against: Optional[str] = None,
) -> Iterator[Account]:
    """As `accounts`, one after the other: each is found when it is asked for."""
    if own_component(pipe).knows != "sums":
        return _of_decisions(pipe, doc, tokens, reasons, against)
    reading = Reading(pipe, [doc])
    if reading.target.of_spans:
        return _of_chunks(reading, tokens, reasons, against)
    return _of_words(reading, tokens, reasons, against)


def as_data(account: Account) -> Dict[str, Any]:
    """For JSON, numbers rounded."""
    data: Dict[str, object] = account._asdict()
    if account.why is not None:
        why = account.why._asdict()
        why["log_odds"] = account.why.log_odds
        for key in ("terms", "changes", "turns"):
            why[key] = [row._asdict() for row in why[key]]
        data["why"] = why
    return _rounded(data)


def _rounded(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 5) if np.isfinite(value) else None
    return value


def _of_words(
    reading: Reading, tokens: Optional[Sequence[int]], reasons: bool, against: Optional[str]
) -> Iterator[Account]:
    for token in words_among(reading.texts[0]) if tokens is None else tokens:
        word = reading.word(0, token)
        p = reading.posterior.nodes[word]
        best = int(reading.best[word])
        is_choice = reasons and np.isfinite(reading.best_with[word]).sum() > 1
        why = explain_word(reading, token, against) if is_choice else None
        alternatives = _alternatives(p, best, reading.labels)
        yield Account(token, token + 1, reading.labels[best], float(p[best]), alternatives, why)


def _of_chunks(
    reading: Reading, tokens: Optional[Sequence[int]], reasons: bool, against: Optional[str]
) -> Iterator[Account]:
    doc = reading.texts[0]
    types = reading.pipe.labels
    names = [*types, NO_CHUNK]
    items = [
        (start, end, label)
        for start, end, label in reading.items(0)
        if label in types  # (others can have been written by another component)
        and (tokens is None or any(start <= token < end for token in tokens))
    ]
    for start, end, label in items:
        first, size = reading.span(0, start, end)
        places = Places(np.full(len(types), first), np.full(len(types), size), types)
        p = np.append(chunk_probabilities(reading, places)[:, 0], 0.0)
        p[-1] = max(0.0, 1.0 - p.sum())
        best = names.index(label)
        why = explain_chunk(reading, Span(doc, start, end, label), against) if reasons else None
        yield Account(start, end, label, float(p[best]), _alternatives(p, best, names), why)


def _of_decisions(
    pipe: object, doc: Doc, tokens: Optional[Sequence[int]], reasons: bool, against: Optional[str]
) -> Iterator[Account]:
    decisions = Decisions(pipe, [doc])
    for token in words_among(doc) if tokens is None else tokens:
        word = decisions.word(0, token)
        p = np.exp(decisions.log_probabilities[word])
        best = int(decisions.best[word])
        turn = int(decisions.turns[word])
        why = None
        if reasons and (p > 0).sum() > 1:
            turn, why = explain_decision(pipe, doc, token, against)
        alternatives = _alternatives(p, best, decisions.labels)
        yield Account(
            token, token + 1, decisions.labels[best], float(p[best]), alternatives, why, turn
        )


def words_among(doc: Doc) -> List[int]:
    """Tokens that are no white space."""
    return [token.i for token in doc if not token.is_space]


def _alternatives(p: Floats, best: int, names: Sequence[str]) -> List[Tuple[str, float]]:
    order = [
        int(y) for y in np.argsort(-p, kind="stable")[:ALTERNATIVES] if p[y] >= LEAST or y == best
    ]
    order = order if best in order else [*order, best]
    return [(names[y], float(p[y])) for y in order]
