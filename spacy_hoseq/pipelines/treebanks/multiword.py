"""The words of multi-word tokens: French "du" is "de" and "le", Welsh "Roedd" is "Yr" and "oedd".

A token of spaCy is a piece of the text. So a multi-word token that its words do not spell stays one
token, and a table of the vocabulary says what its words are: those that it most often had in
training. A token that was not seen in training has the words of its beginning and of its end, if
both were seen in others: "amdanoch" is "am" and "chi" after "amdani" and "wrthoch".
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from spacy.tokens import Token
from spacy.vocab import Vocab

TABLE = "hoseq_multiword"  # form in lower case -> its words; none: it is a word
PARTS = "hoseq_multiword_parts"  # "first", "last" -> beginnings, ends of forms -> word
SHORTEST = 4  # characters of a beginning

Rows = list[list[str]]


class Word(NamedTuple):
    """A syntactic word: text, tag (XPOS), part of speech (UPOS), features and lemma."""

    text: str
    tag: str
    pos: str
    morph: str
    lemma: str


def words_of(token: Token) -> list[Word]:
    """The syntactic words of a token: itself, with what the pipeline found. A multi-word token that its
    words spell ("don't") is several tokens in training; one that they do not spell is one token, and has
    the words that it most often had there. The first of them begins with a capital if the token does."""
    lookups = token.vocab.lookups
    form = token.text.lower()
    rows = lookups.get_table(TABLE, {}).get(form)
    if rows is None:
        rows = _by_parts(form, lookups.get_table(PARTS, {}))
    if not rows:
        return [Word(token.text, token.tag_, token.pos_, str(token.morph), token.lemma_)]
    words = [Word(*row) for row in rows]
    if token.text[:1].isupper():
        text = words[0].text
        words[0] = words[0]._replace(text=text[:1].upper() + text[1:])
    return words


def add_words(
    vocab: Vocab, tokens: Iterable[tuple[str, Rows]], forms: Mapping[str, int] | None = None
) -> None:
    """Put multi-word tokens into the tables of a vocabulary. tokens: a form, and its words. forms:
    how often each form was a token in training, in lower case. One that was most often a word stays
    one."""
    counts: dict[str, Counter[tuple[tuple[str, ...], ...]]] = {}
    for form, rows in tokens:
        lower = [[row[0].lower(), *row[1:]] for row in rows]
        counts.setdefault(form.lower(), Counter())[tuple(map(tuple, lower))] += 1
    rows_of = {
        form: [list(row) for row in max(sorted(of_form), key=of_form.__getitem__)]
        for form, of_form in sorted(counts.items())
    }
    if not rows_of:
        return
    parts = {"first": _seen(rows_of, 0), "last": _seen(rows_of, 1)}
    for form, n in sorted((forms or {}).items()):
        is_word = n > 2 * sum(counts.get(form, {}).values())
        if is_word and (form in rows_of or _by_parts(form, parts)):
            rows_of[form] = []
    vocab.lookups.add_table(TABLE, rows_of)
    vocab.lookups.add_table(PARTS, parts)


def _seen(rows_of: dict[str, Rows], place: int) -> dict[str, list[str]]:
    """Beginnings (place 0) or ends (1) of forms with two words -> the word that they stand for, if it
    is always the same."""
    seen: dict[str, Rows] = {}
    for form, rows in rows_of.items():
        for cut in range(SHORTEST, len(form) if len(rows) == 2 else 0):
            seen.setdefault((form[:cut], form[cut:])[place], []).append(rows[place])
    return {
        part: max(rows, key=rows.count)
        for part, rows in seen.items()
        if len({row[0] for row in rows}) == 1
    }


def _by_parts(form: str, parts: Mapping[str, Any]) -> Rows:
    """The words of a beginning and an end that make up a form; none if two cuts of it differ."""
    found = [
        [parts["first"][form[:cut]], parts["last"][form[cut:]]]
        for cut in range(SHORTEST, len(form) if parts else 0)
        if form[:cut] in parts["first"] and form[cut:] in parts["last"]
    ]
    is_one = len({(one[0], two[0]) for one, two in found}) == 1
    return found[0] if is_one else []
