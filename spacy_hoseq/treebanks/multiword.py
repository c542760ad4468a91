"""The words of multi-word tokens: French "du" is "de" and "le", Welsh "Roedd" is "Yr" and "oedd".

A token of spaCy is a piece of the text. So a multi-word token that its words do not spell stays one
token, and a table of the vocabulary says what its words are: those that it most often had in
training.
"""

from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Tuple

from spacy.tokens import Token
from spacy.vocab import Vocab

TABLE = "hoseq_multiword"  # form in lower case -> its words


class Word(NamedTuple):
    """A syntactic word: text, tag (XPOS), part of speech (UPOS), features and lemma."""

    text: str
    tag: str
    pos: str
    morph: str
    lemma: str


def words_of(token: Token) -> List[Word]:
    """The syntactic words of a token: itself, with what the pipeline found, but of a multi-word token
    that training has seen its words. The first of them begins with a capital if the token does."""
    table = token.vocab.lookups.get_table(TABLE, {})
    rows = table.get(token.text.lower())
    if not rows:
        return [Word(token.text, token.tag_, token.pos_, str(token.morph), token.lemma_)]
    words = [Word(*row) for row in rows]
    if token.text[:1].isupper():
        text = words[0].text
        words[0] = words[0]._replace(text=text[:1].upper() + text[1:])
    return words


def add_words(vocab: Vocab, tokens: Iterable[Tuple[str, List[List[str]]]]) -> None:
    """Put multi-word tokens into the table of a vocabulary. tokens: a form, and its words."""
    counts: Dict[str, Counter[Tuple[Tuple[str, ...], ...]]] = {}
    for form, rows in tokens:
        lower = [[row[0].lower(), *row[1:]] for row in rows]
        counts.setdefault(form.lower(), Counter())[tuple(map(tuple, lower))] += 1
    rows_of = {
        form: [list(row) for row in max(sorted(of_form), key=of_form.__getitem__)]
        for form, of_form in sorted(counts.items())
    }
    if rows_of:
        vocab.lookups.add_table(TABLE, rows_of)
