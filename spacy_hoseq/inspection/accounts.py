"""All decisions of a text, explained: what pages, notebooks and the command line show."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from ..arrays import Floats
from ..components.bidirectional_tagger import HoseqBidirectionalTagger
from ..components.chunker import HoseqChunker
from ..components.structured import StructuredComponent
from ..errors import Errors
from .chunk_explanation import explain_chunk
from .decision_explanation import explain_decision
from .decisions import Decisions
from .explanation import Explanation, explain_word
from .extensions import can_tell
from .reading import Reading
from .spans import Places, chunk_probabilities

ALTERNATIVES = 6  # labels
NO_CHUNK = "no chunk of exactly these words"
LEAST = 0.001  # probability of an alternative that is said


class Account(NamedTuple):
    """why: None where there was no other label. alternatives: labels with their probabilities, most probable first, the
    best label among them. turn: of a bidirectional tagger, when it was decided, else 0."""

    first: int
    end: int
    label: str
    p: float
    alternatives: List[Tuple[str, float]]
    why: Optional[Explanation]
    turn: int = 0


def explained(nlp: Language, names: Optional[Sequence[str]] = None) -> List[str]:
    """Components of a pipeline whose decisions can be explained: those of these names, or all. RAISES ValueError
    [HS152]: there are none, or not of these names."""
    known = [name for name, pipe in nlp.pipeline if can_tell(pipe)]
    if not known or not set(names or ()) <= set(known):
        raise ValueError(Errors.HS152.format(names=", ".join(names or ["any"]), known=", ".join(known) or "none"))
    return [name for name in known if names is None or name in names]


def accounts(
    pipe: Any, doc: Doc, tokens: Optional[Sequence[int]] = None, *, reasons: bool = True, against: Optional[str] = None
) -> List[Account]:
    """Of each word (of some tokens), or of each chunk that was found (and has one of the tokens).

    pipe: of the pipeline that has annotated the doc. reasons (bool): False = `why` is None everywhere.
    against: a label to compare with. RAISES ValueError [HS141, HS146] as `explain`.
    """
    return list(each_account(pipe, doc, tokens, reasons=reasons, against=against))


def each_account(
    pipe: Any, doc: Doc, tokens: Optional[Sequence[int]] = None, *, reasons: bool = True, against: Optional[str] = None
) -> Iterator[Account]:
    """As `accounts`, one after the other: each is found when it is asked for."""
    if isinstance(pipe, HoseqBidirectionalTagger):
        return _of_decisions(pipe, doc, tokens, reasons, against)
    if isinstance(pipe, HoseqChunker):
        return _of_chunks(pipe, doc, tokens, reasons, against)
    return _of_words(pipe, doc, tokens, reasons, against)


def as_data(account: Account) -> Dict[str, Any]:
    """For JSON, numbers rounded."""
    data: Dict[str, Any] = account._asdict()
    if account.why is not None:
        why = account.why._asdict()
        why["log_odds"] = account.why.log_odds
        for key in ("terms", "changes", "turns"):
            why[key] = [row._asdict() for row in why[key]]
        data["why"] = why
    rounded: Dict[str, Any] = _rounded(data)
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 5) if np.isfinite(value) else None
    return value


def _of_words(
    pipe: StructuredComponent, doc: Doc, tokens: Optional[Sequence[int]], reasons: bool, against: Optional[str]
) -> Iterator[Account]:
    reading = Reading(pipe, [doc])
    for token in words_among(doc) if tokens is None else tokens:
        word = reading.word(0, token)
        p, best = reading.answers.nodes[word], int(reading.best[word])
        why = None
        if reasons and np.isfinite(reading.best_with[word]).sum() > 1:
            why = explain_word(reading, token, against)
        yield Account(
            token, token + 1, reading.labels[best], float(p[best]), _alternatives(p, best, reading.labels), why
        )


def _of_chunks(
    pipe: HoseqChunker, doc: Doc, tokens: Optional[Sequence[int]], reasons: bool, against: Optional[str]
) -> Iterator[Account]:
    names, reading = [*pipe.labels, NO_CHUNK], Reading(pipe, [doc])
    for span in doc.spans.get(pipe.cfg["spans_key"], ()):
        if tokens is None or any(span.start <= token < span.end for token in tokens):
            first, last = reading.word(0, span.start), reading.word(0, span.end - 1)
            n = len(pipe.labels)
            places = Places(np.full(n, first), np.full(n, last - first + 1), pipe.labels)
            p = np.append(chunk_probabilities(reading, places)[:, 0], 0.0)
            p[-1] = max(0.0, 1.0 - p.sum())
            best = names.index(span.label_)
            why = explain_chunk(reading, span, against) if reasons else None
            yield Account(span.start, span.end, span.label_, float(p[best]), _alternatives(p, best, names), why)


def _of_decisions(
    pipe: HoseqBidirectionalTagger, doc: Doc, tokens: Optional[Sequence[int]], reasons: bool, against: Optional[str]
) -> Iterator[Account]:
    decisions = Decisions(pipe, [doc])
    for token in words_among(doc) if tokens is None else tokens:
        word = decisions.word(0, token)
        p, best = np.exp(decisions.log_probabilities[word]), int(decisions.labels[word])
        turn, why = int(decisions.turns[word]), None
        if reasons and (p > 0).sum() > 1:
            turn, why = explain_decision(pipe, doc, token, against)
        alternatives = _alternatives(p, best, decisions.names)
        yield Account(token, token + 1, decisions.names[best], float(p[best]), alternatives, why, turn)


def words_among(doc: Doc) -> List[int]:
    """Tokens that are no white space."""
    return [token.i for token in doc if not token.is_space]


def _alternatives(p: Floats, best: int, names: Sequence[str]) -> List[Tuple[str, float]]:
    order = [int(y) for y in np.argsort(-p, kind="stable")[:ALTERNATIVES] if p[y] >= LEAST or y == best]
    order = order if best in order else [*order, best]
    return [(names[y], float(p[y])) for y in order]
