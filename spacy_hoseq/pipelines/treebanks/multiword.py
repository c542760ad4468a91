"""The words of multi-word tokens: French "du" is "de" and "le", Welsh "Roedd" is "Yr" and "oedd".

A token of spaCy is a piece of the text. A multi-word token whose words spell it ("don't") is several
tokens in training. One that they do not spell stays one token, and a table of the vocabulary has its
words: those that it most often had in training. A token that was not seen in training has the words
of its beginning and of its end, if both were seen in others: "amdanoch" is "am" and "chi" after
"amdani" and "wrthoch".
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from spacy.tokens import Token
from spacy.vocab import Vocab

MULTIWORD_TABLE = "hoseq_multiword"  # form in lower case -> its words; none: it is a word
PARTS_TABLE = "hoseq_multiword_parts"  # "first", "last" -> beginnings, ends of forms -> word

Rows = list[list[str]]


class Word(NamedTuple):
    """A syntactic word: text, tag (XPOS), part of speech (UPOS), features and lemma."""

    text: str
    tag: str
    pos: str
    morph: str
    lemma: str


def words_of(token: Token) -> list[Word]:
    """The syntactic words of a token: those that it most often had in training if it is a multi-word
    token, else itself with its labels. The first word of a token that begins with a capital does so,
    too."""
    lookups = token.vocab.lookups
    form = token.text.lower()
    rows = lookups.get_table(MULTIWORD_TABLE, {}).get(form)
    # an empty row says that the form is a word; None says nothing
    if rows is None:
        rows = _by_parts(form, lookups.get_table(PARTS_TABLE, {}))
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
    """Put multi-word tokens into the tables of a vocabulary.

    tokens: forms with their words. forms: how often each form, in lower case, was a token in
        training. A form that was most often a word stays one.
    """
    counts: dict[str, Counter[tuple[tuple[str, ...], ...]]] = {}
    for form, rows in tokens:
        words = tuple((row[0].lower(), *row[1:]) for row in rows)
        counts.setdefault(form.lower(), Counter())[words] += 1
    table: dict[str, Rows] = {}
    for form, readings in sorted(counts.items()):
        # the most frequent words; of equally frequent ones the first in the alphabet
        best = max(sorted(readings), key=readings.__getitem__)
        table[form] = [list(word) for word in best]
    if not table:
        return
    parts = {"first": _seen(table, 0), "last": _seen(table, 1)}
    for form, n in sorted((forms or {}).items()):
        # n counts the form as a multi-word token, too
        is_word = n > 2 * sum(counts.get(form, {}).values())
        if is_word and (form in table or _by_parts(form, parts)):
            table[form] = []
    vocab.lookups.add_table(MULTIWORD_TABLE, table)
    vocab.lookups.add_table(PARTS_TABLE, parts)


def _seen(table: dict[str, Rows], place: int) -> dict[str, list[str]]:
    """Beginnings (place 0) or ends (1) of forms with two words -> the word that they stand for, if it
    is always the same."""
    seen: dict[str, Rows] = {}
    for form, rows in table.items():
        if len(rows) == 2:
            for pieces in _cuts(form):
                seen.setdefault(pieces[place], []).append(rows[place])
    words = {}
    for piece, rows in seen.items():
        if len({row[0] for row in rows}) == 1:
            words[piece] = max(rows, key=rows.count)
    return words


def _by_parts(form: str, parts: Mapping[str, Any]) -> Rows:
    """The words of a beginning and an end that make up a form; none if two cuts of it differ."""
    pairs: list[Rows] = []
    for first, last in _cuts(form):
        if parts and first in parts["first"] and last in parts["last"]:
            pairs.append([parts["first"][first], parts["last"][last]])
    if len({(one[0], two[0]) for one, two in pairs}) != 1:
        return []
    return pairs[0]


def _cuts(form: str) -> list[tuple[str, str]]:
    """All divisions of a form into a beginning of at least four characters and an end."""
    return [(form[:i], form[i:]) for i in range(4, len(form))]
