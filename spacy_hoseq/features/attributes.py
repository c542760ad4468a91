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
from ..errors import Errors, wrong_value
from ..words import Words, line_breaks, tokens_of
from .sequences import values_of

Value = str | int | bool | None  # "", 0, False and None: there is none
Word = Literal["text", "lexeme", "texts", "lexemes"]
Function = TypeVar("Function", bound=Callable[..., Any])

# a table of the vocabulary: name of another table -> who made it, as in meta.json
SOURCES_TABLE = "hoseq_sources"
FURTHER_TABLES = "more"  # key within a table: further tables, whose columns come after its own


class Attribute(NamedTuple):
    """A lexical attribute.

    function: (word) -> value, or (number, word) -> value if it takes a number. word: what the
    function is given, the "text" of the word or spaCy's "lexeme"; with "texts" or "lexemes" those
    of several words, and it returns a list of values. numbers: those that a template may name;
    None = it takes none. table: name of the table of the vocabulary on which values depend; None =
    on no table. number: the one that a template has named.
    """

    function: Callable[..., Any]
    word: Word = "text"
    numbers: range | None = None
    table: str | None = None
    number: int | None = None

    def values(self, lexemes: Sequence[Any], texts: Sequence[str]) -> Sequence[Any]:
        """Values of some words. lexemes: spaCy's. texts: of the lexemes."""
        words: Sequence[Any] = texts if self.word in ("text", "texts") else lexemes
        function = self.function
        if self.number is not None:
            function = partial(function, self.number)
        if self.word in ("text", "lexeme"):
            return [function(word) for word in words]
        return function(words)  # type: ignore[no-any-return]

    def value(self, lexeme: Any) -> Any:
        return self.values([lexeme], [lexeme.text])[0]


class DocAttribute(NamedTuple):
    """An attribute of tokens in their text.

    function: (docs, tables) -> values (N,) at all tokens of the docs, by name; perhaps also of other
    attributes. table: as in `Attribute`.
    """

    function: Callable[[Sequence[Doc], Lookups], dict[str, Keys]]
    table: str | None = None


DOC_ATTRIBUTES: dict[str, DocAttribute] = {}
WORD_ATTRIBUTES: dict[str, Attribute] = {}  # "prefixN" takes a number, "prefix" is another without


def register_attribute(
    name: str, *, word: Word = "text", numbers: range | None = None, table: str | None = None
) -> Callable[[Function], Function]:
    """Decorator of a function that computes a lexical attribute, which templates can name then.

        @register_attribute("has_vowel")
        def has_vowel(word: str) -> bool: ...            # "has_vowel[0]"

        @register_attribute("vowels", numbers=range(1, 5))
        def first_vowels(number: int, word: str) -> str: ...  # "vowels2[0]", "vowels1..4[-1]"

    The function is called once for each word type. It returns str, int, bool or None; "", 0, False
    and None are no value. Register it in the file given by --code, in training and wherever the
    pipeline is loaded.

    name (str): lower-case letters and "_". word, numbers, table: as in `Attribute`.
    RAISES ValueError [HS027]: the name cannot be used, or another file has registered it; the
        range of numbers is empty, negative or has gaps.
    """

    def register(function: Function) -> Function:
        key = name if numbers is None else f"{name}N"
        known = WORD_ATTRIBUTES.get(key)
        reserved = ("label", "upstream", "_", "line_break")
        problem = ""
        if not re.fullmatch("[a-z_]+", name) or name in reserved:
            names = ", ".join(reserved)
            problem = f'a name has lower-case letters and "_", and is none of {names}'
        elif numbers is not None and (not numbers or numbers.step != 1 or numbers[0] < 0):
            problem = f"its numbers are {numbers}"
        # the same file may be run again
        elif known is not None and known.function.__module__ != function.__module__:
            problem = "there is an attribute of that name"
        if problem:
            raise wrong_value("attribute", repr(name), f"another name: {problem}")
        WORD_ATTRIBUTES[key] = Attribute(function, word, numbers, table)
        return function

    return register


def lexical_attribute(name: str) -> Attribute | None:
    """The lexical attribute of a name, with its number if it has one ("suffix3"); None: there is
    none."""
    stem = name.rstrip("0123456789")
    if stem == name:
        return WORD_ATTRIBUTES.get(name)
    numbers = numbers_of(stem)
    number = int(name[len(stem) :])
    if numbers is None or number not in numbers:
        return None
    return WORD_ATTRIBUTES[f"{stem}N"]._replace(number=number)


def numbers_of(name: str) -> range | None:
    """The numbers that templates may name with an attribute; None: it takes none."""
    attribute = WORD_ATTRIBUTES.get(f"{name}N")
    return None if attribute is None else attribute.numbers


def numbered_names() -> list[str]:
    """Names that take a number, sorted."""
    return sorted(key[:-1] for key in WORD_ATTRIBUTES if key.endswith("N"))


def lend_tables(owner: Lookups, borrower: Lookups, names: Iterable[str]) -> bool:
    """Share tables with the vocabulary of another pipeline. If one of two tables has further
    columns, both share that one. RETURNS (bool): False, and nothing is shared, if there are other
    tables of these names."""
    shared: dict[str, Table] = {}
    for name in names:
        if not owner.has_table(name):
            continue
        ours = owner.get_table(name)
        theirs = borrower.get_table(name, ours)
        if theirs is ours or dict.__eq__(theirs, ours) or _extends(theirs, ours):
            shared[name] = theirs
        elif _extends(ours, theirs):
            shared[name] = ours
        else:
            return False
    for name, table in shared.items():
        # one object from now on, so that tables are compared once
        owner.set_table(name, table)
        borrower.set_table(name, table)
    return True


def _extends(table: Table, other: Table) -> bool:
    """True if a table has all columns of the other one, and further ones after them."""
    further = [*table.get(FURTHER_TABLES, ())]
    others = [*other.get(FURTHER_TABLES, ())]
    if len(further) <= len(others) or further[: len(others)] != others:
        return False
    more = get_string_id(FURTHER_TABLES)  # keys of a table are hashes
    return isinstance(further[-1], dict) and {**table, more: None} == {**other, more: None}


def check_attribute(name: str) -> None:
    """Check that templates can read an attribute. RAISES ValueError [HS013]: it is neither lexical,
    nor a token attribute, nor an extension."""
    is_contextual = name in DOC_ATTRIBUTES or name.startswith("_.") or name.upper() in IDS
    if not is_contextual and not lexical_attribute(name):
        known = ", ".join(
            [*sorted(WORD_ATTRIBUTES), *DOC_ATTRIBUTES, "_.extension", "tag", "pos", "lemma"]
        )
        raise ValueError(Errors.HS013.format(name=name, known=known))


def values_of_docs(docs: Sequence[Doc], names: Sequence[str], lookups: Lookups) -> dict[str, Keys]:
    """Values of non-lexical attributes at all tokens of some Docs, at least one. lookups: tables on
    which values depend. RETURNS (N,) uint64 by name. RAISES ValueError [HS014]: unknown extension;
    [HS027]: a value of another type."""
    values: dict[str, Keys] = {}
    for name in names:
        if name.startswith("_."):
            values[name] = np.concatenate([_values_of_extension(doc, name) for doc in docs])
        elif name not in DOC_ATTRIBUTES:
            (values[name],) = values_of(docs, [IDS[name.upper()]])
        elif name not in values:  # the function of another attribute may have computed it
            values.update(DOC_ATTRIBUTES[name].function(docs, lookups))
    return values


def is_read_at_once(name: str) -> bool:
    """True for spaCy's attributes of tokens, which are the same on a Doc without white space."""
    return name not in DOC_ATTRIBUTES and not name.startswith("_.")


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
    """Heads, as how many words after each word they stand."""
    heads = []
    for doc in docs:
        heads.append(doc.heads() if isinstance(doc, Words) else doc.to_array(HEAD))
    return {"head": np.concatenate(heads)}


DOC_ATTRIBUTES.update({"line_break": DocAttribute(_line_breaks), "head": DocAttribute(_heads)})


def as_keys(values: Sequence[Any]) -> Keys:
    """Values as numbers: the hash of a string, an int as it is. RETURNS (n,) uint64. RAISES
    ValueError [HS027]: a value of another type."""
    types = {*map(type, values)}
    if types <= {int, bool}:
        keys = [value & 2**64 - 1 for value in values]
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
        return int(value or 0) & 2**64 - 1
    raise wrong_value(
        f"{type(value).__name__} that a template reads", repr(value), "str, int, bool or None"
    )
