"""Why a model that has not seen a text prefers another annotation: the account of `explain`, for a
finding."""

from typing import List, Optional, Tuple

from spacy.tokens import Span

from ..inspection import Explanation, Reading
from ..inspection.accounts import Account
from ..inspection.chunk_explanation import explain_chunk
from ..inspection.explanation import explain_word
from .judgement import Judgement


def reasons(
    judgement: Judgement, word: int, chunks: List[Tuple[int, int, str]]
) -> Optional[Account]:
    """Of a word of a judgement: why its best label is not the gold one. chunks: tokens and labels
    of the chunk that is annotated there, or else of the one that the model finds; none of a tagger.
    RETURNS None if there is nothing to compare with."""
    reading = judgement.reading
    number, token = reading.token(word)
    doc = reading.texts[number]
    one = Reading(reading.pipe, [doc])
    try:
        if judgement.goes_on is not None:
            first, end, label = chunks[0]
            why = explain_chunk(one, Span(doc, first, end, label))
        else:
            gold = int(judgement.gold[word])
            best = int(reading.best[word])
            why = explain_word(one, token, None if gold in (-1, best) else reading.labels[gold])
    except (ValueError, IndexError):  # nothing else can stand there, or there is no chunk
        return None
    return _account(why)


def _account(why: Explanation) -> Account:
    alternatives = sorted(
        [(why.label, why.p), (why.against, why.p_against)], key=lambda pair: -pair[1]
    )
    return Account(why.first, why.end, why.label, why.p, alternatives, why)
