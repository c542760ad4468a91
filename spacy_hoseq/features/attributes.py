"""Attributes that templates read, and their values as uint64 (0 = no value here).

Lexical attributes depend on the word alone. They are functions, registered under their names
(`word_attributes.py`, `known_tags.py`, files of users), and computed once per word type
(`lexicon.py`). All others are read from the Docs each time: spaCy's own through `doc.to_array`,
extensions ("_.name") token by token, line breaks and known words (`known_words.py`) by functions of
whole batches.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
)

import numpy as np
from spacy.attrs import HEAD, IDS
from spacy.lookups import Lookups, Table
from spacy.strings import SYMBOLS_BY_STR, get_string_id, hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

from ..arrays import Keys
from ..errors import Errors
from ..words import Words, line_breaks, tokens_of
from .sequences import values_of

Value = str | int | bool | None  # "", 0, False and None: there is none
Word = Literal["text", "lexeme", "texts", "lexemes"]
Function = TypeVar("Function", bound=Callable[..., Any])

ALL_BITS = 0xFFFFFFFFFFFFFFFF
_NAME = re.compile(r"[a-z_]+")
# table of the vocabulary: name of another table -> who made it, as in meta.json
SOURCES = "hoseq_sources"
MORE = "more"  # key of a table: further tables, whose columns come after its own
_RESERVED = ("label", "upstream", "_", "line_break")


class Attribute(NamedTuple):
    """A lexical attribute. function: (word) -> value, or (number, word) -> value if it takes a
    number. word: whether it is given the text of the word, or spaCy's Lexeme; or "texts" or
    "lexemes", those of one or more words at once, and gives a list of as many values. numbers:
    those that a template may name; None = it takes none.
    table: of the vocabulary's lookups, on which values depend; None = on no table. number: the one
    that a template has named."""

    function: Callable[..., Any]
    word: Word = "text"
    numbers: range | None = None
    table: str | None = None
    number: int | None = None

    def values(self, lexemes: Sequence[Any], texts: Sequence[str]) -> Sequence[Any]:
        """Values of some words. lexemes: spaCy's. texts: of them."""
        words: Sequence[Any] = texts if self.word in ("text", "texts") else lexemes
        number = [] if self.number is None else [self.number]
        function = partial(self.function, *number)
        if self.word in ("text", "lexeme"):
            return [*map(function, words)]
        return function(words)  # type: ignore[no-any-return]

    def value(self, lexeme: Any) -> Any:
        return self.values([lexeme], [lexeme.text])[0]


class DocAttribute(NamedTuple):
    """An attribute of tokens in their text. function: (docs, tables) -> values (N,) at all tokens of
    the docs, by name; perhaps of others with it. table: as `Attribute` has it."""

    function: Callable[[Sequence[Doc], Lookups], dict[str, Keys]]
    table: str | None = None


OF_DOCS: dict[str, DocAttribute] = {}  # by name
# by name; "prefixN" takes a number, "prefix" is another one without
ATTRIBUTES: dict[str, Attribute] = {}


def register_attribute(
    name: str, *, word: Word = "text", numbers: range | None = None, table: str | None = None
) -> Callable[[Function], Function]:
    """Decorator of a function that gives a lexical attribute: templates can name it from then on.

        @register_attribute("has_vowel")
        def has_vowel(word: str) -> bool: ...            # "has_vowel[0]"

        @register_attribute("vowels", numbers=range(1, 5))
        def first_vowels(number: int, word: str) -> str: ...  # "vowels2[0]", "vowels1..4[-1]"

    The function is called once for each word type. It returns str, int, bool or None; "", 0, False
    and None are no value. Register in the file given by --code, in training and wherever the
    pipeline is loaded.

    name (str): lower-case letters and "_". word, numbers, table: as `Attribute` has them.
    RAISES ValueError [HS027]: the name cannot be used, or is that of another attribute (a function
        of the same file takes the place of the one before); the numbers are none.
    """

    def register(function: Function) -> Function:
        key = name if numbers is None else f"{name}N"
        known = ATTRIBUTES.get(key)
        problem = ""
        if not _NAME.fullmatch(name) or name in _RESERVED:
            problem = 'a name has lower-case letters and "_", and is none of ' + ", ".join(
                _RESERVED
            )
        elif numbers is not None and (not numbers or numbers.step != 1 or numbers[0] < 0):
            problem = f"its numbers are {numbers}"
        elif known is not None and known.function.__module__ != function.__module__:
            problem = "there is an attribute of that name"
        if problem:
            expected = f"another name: {problem}"
            raise ValueError(
                Errors.HS027.format(name="attribute", value=repr(name), expected=expected)
            )
        ATTRIBUTES[key] = Attribute(function, word, numbers, table)
        return function

    return register


def lexical_attribute(name: str) -> Attribute | None:
    """The lexical attribute of a name, with its number if it has one ("suffix3"); None = there is
    none."""
    stem = name.rstrip("0123456789")
    if stem == name:
        return ATTRIBUTES.get(name)
    numbers = numbers_of(stem)
    number = int(name[len(stem) :])
    if numbers is None or number not in numbers:
        return None
    return ATTRIBUTES[f"{stem}N"]._replace(number=number)


def numbers_of(name: str) -> range | None:
    """The numbers that templates may give with a name; None = none."""
    attribute = ATTRIBUTES.get(f"{name}N")
    return None if attribute is None else attribute.numbers


def numbered_names() -> list[str]:
    """Names that take a number, sorted."""
    return sorted(key[:-1] for key in ATTRIBUTES if key.endswith("N"))


def lend_tables(owner: Lookups, borrower: Lookups, names: Iterable[str]) -> bool:
    """Share tables on which values depend with the vocabulary of another pipeline: of two of which
    one has further columns ("more"), that one. RETURNS (bool): False, and nothing is shared, if it
    has other tables of these names."""
    shared: dict[str, Table] = {}
    for name in filter(owner.has_table, names):
        own = owner.get_table(name)
        other = borrower.get_table(name, own)
        if other is own or dict.__eq__(other, own) or _extends(other, own):
            shared[name] = other
        elif _extends(own, other):
            shared[name] = own
        else:
            return False
    for name, table in shared.items():
        # one and the same from now on, so that it is compared once
        owner.set_table(name, table)
        borrower.set_table(name, table)
    return True


def _extends(table: Table, other: Table) -> bool:
    """It begins as the other one does, and has further columns."""
    further, of_other = (list(each.get(MORE, ())) for each in (table, other))
    more = get_string_id(MORE)  # keys are hashes
    first, of_first = ({**each, more: None} for each in (table, other))
    goes_on = len(further) > len(of_other) and further[: len(of_other)] == of_other
    return goes_on and isinstance(further[-1], dict) and first == of_first


def check_attribute(name: str) -> None:
    """RAISES ValueError [HS013]: the attribute is neither lexical, nor a token attribute, nor an
    extension."""
    is_of_doc = name in OF_DOCS or name.startswith("_.") or name.upper() in IDS
    if not is_of_doc and not lexical_attribute(name):
        known = ", ".join([*sorted(ATTRIBUTES), *OF_DOCS, "_.extension", "tag", "pos", "lemma"])
        raise ValueError(Errors.HS013.format(name=name, known=known))


def values_of_docs(docs: Sequence[Doc], names: Sequence[str], lookups: Lookups) -> dict[str, Keys]:
    """Values of non-lexical attributes at all tokens of some Docs, at least one. lookups: the tables
    on which they depend. RETURNS (N,) uint64 by name. RAISES ValueError [HS014]: unknown
    extension; [HS027]: a value of another type."""
    values: dict[str, Keys] = {}
    for name in names:
        if name.startswith("_."):
            values[name] = np.concatenate([_values_of_extension(doc, name) for doc in docs])
        elif name not in OF_DOCS:
            (values[name],) = values_of(docs, [IDS[name.upper()]])
        elif name not in values:
            values.update(OF_DOCS[name].function(docs, lookups))
    return values


def is_read_at_once(name: str) -> bool:
    """True for spaCy's attributes of tokens that are the same on a Doc without white space."""
    return name not in OF_DOCS and not name.startswith("_.")


def token_values(doc: Doc, name: str) -> Keys:
    """Values of a non-lexical attribute in one Doc. RETURNS (len(doc),) uint64. RAISES as
    `values_of_docs`."""
    return values_of_docs([doc], [name], doc.vocab.lookups)[name]


def _values_of_extension(doc: Doc, name: str) -> Keys:
    if not Token.has_extension(name[2:]):
        raise ValueError(Errors.HS014.format(name=name))
    return as_keys([getattr(token._, name[2:]) for token in tokens_of(doc)])


def _line_breaks(docs: Sequence[Doc], lookups: Lookups) -> dict[str, Keys]:
    return {"line_break": np.concatenate([*map(line_breaks, docs)])}


def _heads(docs: Sequence[Doc], lookups: Lookups) -> dict[str, Keys]:
    """Where the head of each word stands, counted in words."""
    heads = [each.heads() if isinstance(each, Words) else each.to_array(HEAD) for each in docs]
    return {"head": np.concatenate(heads)}


OF_DOCS.update({"line_break": DocAttribute(_line_breaks), "head": DocAttribute(_heads)})


def as_keys(values: Sequence[Any]) -> Keys:
    """RETURNS (n,) uint64. RAISES ValueError [HS027]: what is no `Value`."""
    types = {*map(type, values)}
    if types <= {int, bool}:
        keys = [value & ALL_BITS for value in values]
    elif types == {str}:  # as `get_string_id`, which takes three times as long
        symbols = SYMBOLS_BY_STR
        keys = [symbols[text] if text in symbols else hash_string(text) for text in values]
    else:
        keys = [*map(_as_key, values)]
    return np.array(keys, np.uint64)


def _as_key(value: Any) -> int:
    if isinstance(value, str):
        return int(get_string_id(value))
    if value is None or isinstance(value, (int, np.integer)):
        return int(value or 0) & ALL_BITS
    name = f"{type(value).__name__} that a template reads"
    expected = "str, int, bool or None"
    raise ValueError(Errors.HS027.format(name=name, value=repr(value), expected=expected))
