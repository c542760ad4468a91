"""Classes of words: word clusters, or the tags that a lexicon gives.

They are a table of the vocabulary, read from a file in initialization and saved with the
vocabulary:

    [initialize.lookups]
    @misc = "spacy_hoseq.word_classes.v1"
    path = "clusters.tsv"
    lexicon = "forms.tsv"

Each line of the file has a word and its classes, separated by tabs; "" is no class. A template
names the column: "word_class1[-1..1]". A word that is not in the table has the classes of its
lower-case form, if that is there, or else of its form in simplified Chinese characters.

Each line of a lexicon has a form and one of its tags, or a form, its part of speech and its
features as in CoNLL-U; the last column is all tags of the form.

The table holds 32 bits of each word's hash: of 100,000 unknown words two or three are taken for a
known one.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.errors import Errors as SpacyErrors
from spacy.lookups import Lookups
from spacy.strings import get_string_id

from ..errors import Errors
from .attributes import MORE, as_keys, register_attribute
from .simplified import in_simplified

# {"columns": names of the classes of each, "rows": packed keys, and numbers of names}. Further tables
# of this form under MORE: their columns come after these
TABLE = "hoseq_word_classes"
MAX_COLUMNS = 16
KEY = 0xFFFFFFFF
CLASSES = f"a word and 1 to {MAX_COLUMNS} classes (of at most 65,535 names), as many in each line"
FORM = "a form and its tag, or a form, its part of speech and its features"


def word_classes(path: str | Path | None = None, lexicon: str | Path | None = None) -> Lookups:
    """Registered as `spacy_hoseq.word_classes.v1`: the classes of words in a file, the tags of
    forms in a lexicon.

    RAISES ValueError [E913]: neither path nor lexicon; [HS073]: what `read_forms` raises, and:
    a line with another number of columns, or too many classes.
    """
    if path is None and lexicon is None:
        raise ValueError(SpacyErrors.E913)
    columns = [] if path is None else _read_classes(path)
    if lexicon is not None:
        tags_of = read_forms(lexicon).items()
        columns.append({_key(form): " ".join(tags) for form, tags in tags_of})
    names = [["", *sorted({*column.values()} - {""})] for column in columns]
    if any(len(known) > 1 << 16 for known in names) or len(columns) > MAX_COLUMNS:
        sizes = ", ".join(f"{len(known) - 1:,}" for known in names)
        actual = f"{len(columns)} columns, of {sizes} classes"
        raise ValueError(
            Errors.HS073.format(path=path or lexicon, line="all", expected=CLASSES, actual=actual)
        )
    keys = sorted(set().union(*columns))
    numbers = [{name: i for i, name in enumerate(known)} for known in names]
    of_words = [
        [number_of[column.get(key, "")] for key in keys]
        for column, number_of in zip(columns, numbers, strict=True)
    ]
    packed = pack_rows(np.array(keys, np.uint32), np.array(of_words, "<u2"))
    lookups = Lookups()
    lookups.add_table(TABLE, {"columns": names, "rows": packed})
    return lookups


def pack_rows(keys: NDArray[np.uint32], of_words: NDArray[np.uint16]) -> bytes:
    """keys (W,): ascending; of_words (K, W). RETURNS the first bytes of all differences of keys, then
    their second bytes, and so on, and the same of the numbers: much alike stands together."""
    differences = np.diff(keys, prepend=np.uint32(0)).astype("<u4")
    numbers = np.ascontiguousarray(of_words, "<u2").reshape(-1)
    parts = (differences, numbers)
    places = [part.view(np.uint8).reshape(len(part), part.itemsize).T for part in parts]
    return zlib.compress(b"".join(place.tobytes() for place in places), 9)


def _key(word: str) -> int:
    return int(get_string_id(word)) & KEY


def _read_classes(path: str | Path) -> list[dict[int, str]]:
    """The class of each word, by key, in each column; of a word that is there twice the first."""
    columns: list[dict[int, str]] = []
    for number, line in lines_of(path):
        word, *classes = line.split("\t")
        columns = columns or [{} for _ in classes]
        if not word or len(classes) != len(columns) or not 1 <= len(columns) <= MAX_COLUMNS:
            raise ValueError(
                Errors.HS073.format(path=path, line=number, expected=CLASSES, actual=line[:40])
            )
        for column, name in zip(columns, classes, strict=True):
            column.setdefault(_key(word), name)
    return columns


def lines_of(path: str | Path | None) -> Iterable[tuple[int, str]]:
    """The lines of a list of words and their numbers, from 1. RAISES ValueError [E913]: no path;
    [HS073]: no UTF-8."""
    if path is None:
        raise ValueError(SpacyErrors.E913)
    try:
        return enumerate(Path(path).read_text(encoding="utf-8-sig").splitlines(), start=1)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        actual = f"the byte 0x{error.object[error.start]:02X}"
        raise ValueError(
            Errors.HS073.format(path=path, line=line, expected="words in utf-8", actual=actual)
        ) from error


def read_forms(path: str | Path | None) -> dict[str, list[str]]:
    """The tags of each form in a lexicon, sorted; with features they are
    "NOUN|Case=Nom|Number=Sing".

    RAISES ValueError [E913]: no path; [HS073]: a line without a form and a tag, or with more than
    three columns.
    """
    tags_of: dict[str, set[str]] = {}
    for number, line in lines_of(path):
        form, *tag = line.split("\t")
        if not form or not 1 <= len(tag) <= 2 or not tag[0]:
            raise ValueError(
                Errors.HS073.format(path=path, line=number, expected=FORM, actual=line[:40])
            )
        tags_of.setdefault(form, set()).add("|".join(part for part in tag if part not in ("", "_")))
    return {form: sorted(tags) for form, tags in tags_of.items()}


@register_attribute("word_class", numbers=range(1, MAX_COLUMNS + 1), word="lexemes", table=TABLE)
def word_class(number: int, words: Sequence[Any]) -> list[str]:
    """The class in this column of the table, of each word, of its lower-case form, or of its
    simplified one. RAISES ValueError [HS007]: the vocabulary has no such table, or no such
    column."""
    first = words[0].vocab.lookups.get_table(TABLE, {})
    tables = [first, *first.get(MORE, ())] if first else []
    places = [(table, k) for table in tables for k in range(len(table["columns"]))]
    if number > len(places):
        n = len(places)
        raise ValueError(Errors.HS007.format(name=f"word_class{number}", table=TABLE, n=n))
    table, column = places[number - 1]
    names = table["columns"]
    texts = tuple([word.text for word in words])
    return [
        names[column][i] for i in _numbers_of(texts, table["rows"], len(names))[column].tolist()
    ]


@lru_cache(maxsize=2)  # templates ask for all columns, one after the other
def _numbers_of(words: tuple[str, ...], packed: bytes, n_columns: int) -> NDArray[np.uint16]:
    """The numbers of the classes of words (K, W), 0 = none. A word counts as it is written, else in
    lower case, else in simplified characters."""
    keys, classes = _unpacked(packed, n_columns)
    if not len(keys):
        return np.zeros((n_columns, len(words)), np.uint16)
    wanted = _form_keys(words)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    in_table = keys[places] == wanted
    place = np.take_along_axis(places, in_table.argmax(axis=0)[None], axis=0)[0]
    numbers: NDArray[np.uint16] = classes[:, place] * in_table.any(axis=0)
    return numbers


@lru_cache(maxsize=1)
def _form_keys(words: tuple[str, ...]) -> NDArray[np.uint32]:
    """Of each word as it is written, in lower case, in simplified characters (3, W)."""
    forms = [words, [*map(str.lower, words)], [*map(in_simplified, words)]]
    return np.stack([*map(as_keys, forms)]).astype(np.uint32)


@lru_cache(maxsize=8)
def _unpacked(packed: bytes, n_columns: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Keys of all words (W,), sorted, and the numbers of their classes (K, W)."""
    data = np.frombuffer(zlib.decompress(packed), np.uint8)
    n_words = len(data) // (4 + 2 * n_columns)
    differences, numbers = (
        np.ascontiguousarray(part.reshape(size, -1).T).reshape(-1)
        for part, size in ((data[: 4 * n_words], 4), (data[4 * n_words :], 2))
    )
    keys = np.cumsum(differences.view("<u4"), dtype=np.uint32)
    return keys, numbers.view("<u2").reshape(n_columns, n_words)
