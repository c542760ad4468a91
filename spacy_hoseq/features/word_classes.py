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
from .attributes import FURTHER_TABLES, as_keys, register_attribute
from .simplified import in_simplified

# {"columns": names of the classes in each column, "rows": packed keys, and numbers of names}.
# FURTHER_TABLES of this form may stand within: their columns come after these.
WORD_CLASSES_TABLE = "hoseq_word_classes"
CLASS_WORDS_TABLE = "hoseq_class_words"  # {"word_class1": {class: its first words}}, for readers
MAX_CLASS_COLUMNS = 16


def word_classes(path: str | Path | None = None, lexicon: str | Path | None = None) -> Lookups:
    """Registered as `spacy_hoseq.word_classes.v1`: the classes of words in a file, the tags of
    forms in a lexicon.

    RAISES ValueError [E913]: neither path nor lexicon; [HS073]: what `read_forms` raises, and a
    line with another number of columns, or too many classes.
    """
    if path is None and lexicon is None:
        raise ValueError(SpacyErrors.E913)
    columns = [] if path is None else _read_classes(path)
    if lexicon is not None:
        forms = read_forms(lexicon)
        columns.append({_key(form): " ".join(tags) for form, tags in forms.items()})
    names = [["", *sorted({*column.values()} - {""})] for column in columns]
    if max(map(len, names), default=0) > 1 << 16 or len(columns) > MAX_CLASS_COLUMNS:
        sizes = ", ".join(f"{len(column) - 1:,}" for column in names)
        raise _refused(path or lexicon, "all", f"{len(columns)} columns, of {sizes} classes")
    keys = sorted(set().union(*columns))
    classes = np.empty((len(columns), len(keys)), "<u2")
    for k, column in enumerate(columns):
        number_of = {name: number for number, name in enumerate(names[k])}
        classes[k] = [number_of[column.get(key, "")] for key in keys]
    lookups = Lookups()
    rows = pack_rows(np.array(keys, np.uint32), classes)
    lookups.add_table(WORD_CLASSES_TABLE, {"columns": names, "rows": rows})
    if path is not None:
        lookups.add_table(CLASS_WORDS_TABLE, _class_words(path))
    return lookups


def _class_words(path: str | Path) -> dict[str, dict[str, list[str]]]:
    """The first three words of each class in a file, by attribute and name of the class."""
    table: dict[str, dict[str, list[str]]] = {}
    for _, line in lines_of(path):
        word, *classes = line.split("\t")
        for number, name in enumerate(classes, start=1):
            words = table.setdefault(f"word_class{number}", {}).setdefault(name, [])
            if name and len(words) < 3:
                words.append(word)
    return table


def pack_rows(keys: NDArray[np.uint32], classes: NDArray[np.uint16]) -> bytes:
    """Pack keys (W,), ascending, and the numbers of their classes (K, W).

    RETURNS compressed bytes: the first bytes of all differences of keys, then their second bytes,
    and so on, then the same of the numbers. So similar bytes stand together.
    """
    differences = np.diff(keys, prepend=np.uint32(0)).astype("<u4")
    numbers = np.ascontiguousarray(classes, "<u2").reshape(-1)
    data = b""
    for part in (differences, numbers):
        data += part.view(np.uint8).reshape(len(part), part.itemsize).T.tobytes()
    return zlib.compress(data, 9)


def _key(word: str) -> int:
    """The lowest 32 bits of its hash."""
    return int(get_string_id(word)) & 0xFFFFFFFF


def _read_classes(path: str | Path) -> list[dict[int, str]]:
    """The class of each word, by key, in each column. If a word is there twice, the first counts."""
    columns: list[dict[int, str]] = []
    for number, line in lines_of(path):
        word, *classes = line.split("\t")
        if not columns:
            columns = [{} for _ in classes]
        if not word or len(classes) != len(columns) or not 1 <= len(columns) <= MAX_CLASS_COLUMNS:
            raise _refused(path, number, line[:40])
        for column, name in zip(columns, classes, strict=True):
            column.setdefault(_key(word), name)
    return columns


def _refused(path: str | Path | None, line: int | str, actual: str) -> ValueError:
    """Error [HS073] about a file of classes."""
    expected = f"a word and 1 to {MAX_CLASS_COLUMNS} classes (of at most 65,535 names), as many in each line"
    return ValueError(Errors.HS073.format(path=path, line=line, expected=expected, actual=actual))


def lines_of(path: str | Path | None) -> Iterable[tuple[int, str]]:
    """The lines of a list of words, with their numbers from 1. RAISES ValueError [E913]: no path;
    [HS073]: it is not UTF-8."""
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
    forms: dict[str, set[str]] = {}
    for number, line in lines_of(path):
        form, *tag = line.split("\t")
        if not form or not 1 <= len(tag) <= 2 or not tag[0]:
            expected = "a form and its tag, or a form, its part of speech and its features"
            raise ValueError(
                Errors.HS073.format(path=path, line=number, expected=expected, actual=line[:40])
            )
        parts = [part for part in tag if part not in ("", "_")]
        forms.setdefault(form, set()).add("|".join(parts))
    return {form: sorted(tags) for form, tags in forms.items()}


@register_attribute(
    "word_class",
    numbers=range(1, MAX_CLASS_COLUMNS + 1),
    word="lexemes",
    table=WORD_CLASSES_TABLE,
)
def word_class(number: int, words: Sequence[Any]) -> list[str]:
    """The class of each word in this column of the table: of the word, of its lower-case form, or
    of its simplified form. RAISES ValueError [HS007]: the vocabulary has no such table, or no such
    column."""
    first = words[0].vocab.lookups.get_table(WORD_CLASSES_TABLE, {})
    column = number - 1
    n_columns = 0
    for table in [first, *first.get(FURTHER_TABLES, ())] if first else []:
        names = table["columns"]
        if column < len(names):
            texts = tuple([word.text for word in words])
            numbers = _class_numbers(texts, table["rows"], len(names))[column]
            return [names[column][i] for i in numbers.tolist()]
        column -= len(names)
        n_columns += len(names)
    name = f"word_class{number}"
    raise ValueError(Errors.HS007.format(name=name, table=WORD_CLASSES_TABLE, n=n_columns))


@lru_cache(maxsize=2)  # templates read all columns of the same words, one after the other
def _class_numbers(words: tuple[str, ...], packed: bytes, n_columns: int) -> NDArray[np.uint16]:
    """The numbers of the classes of words (K, W), 0 = none. A word is looked up as it is written,
    else in lower case, else in simplified characters."""
    keys, classes = _unpacked(packed, n_columns)
    if not len(keys):
        return np.zeros((n_columns, len(words)), np.uint16)
    wanted = _form_keys(words)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    in_table = keys[places] == wanted
    # of each word, the first form that is in the table
    place = np.take_along_axis(places, in_table.argmax(axis=0)[None], axis=0)[0]
    numbers: NDArray[np.uint16] = classes[:, place] * in_table.any(axis=0)
    return numbers


@lru_cache(maxsize=1)
def _form_keys(words: tuple[str, ...]) -> NDArray[np.uint32]:
    """Keys of each word as it is written, in lower case, in simplified characters (3, W)."""
    forms = [words, [*map(str.lower, words)], [*map(in_simplified, words)]]
    return np.stack([*map(as_keys, forms)]).astype(np.uint32)


@lru_cache(maxsize=8)
def _unpacked(packed: bytes, n_columns: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Keys of all words (W,), ascending, and the numbers of their classes (K, W)."""
    data = np.frombuffer(zlib.decompress(packed), np.uint8)
    n_words = len(data) // (4 + 2 * n_columns)
    differences = np.ascontiguousarray(data[: 4 * n_words].reshape(4, -1).T).view("<u4")
    classes = np.ascontiguousarray(data[4 * n_words :].reshape(2, -1).T).view("<u2")
    keys = np.cumsum(differences, dtype=np.uint32)
    return keys, classes.reshape(n_columns, n_words)
