"""CoNLL-U, the format of Universal Dependencies: ten columns separated by tabs, a blank line after
each sentence.

    # text = They're tired.
    1-2  They're  _     _     _    _                    _  _      _  _
    1    They     they  PRON  PRP  Number=Plur          3  nsubj  _  _
    2    're      be    AUX   VBP  Tense=Pres           3  cop    _  _
    3    tired    tired ADJ   JJ   Degree=Pos           0  root   _  SpaceAfter=No
    4    .        .     PUNCT .    _                    3  punct  _  _

A multi-word token ("They're", ids 1-2) stays one word, because spaCy's tokenizers make one of it.
Its annotation is put together as `spacy convert --merge-subtokens` does it: tags joined by "_",
lemmas by spaces, features united. Part of speech, head and relation are those of the syntactic word
whose head lies outside of it. With `cut`, one that its words spell ("don't": "do", "n't") is these
words instead, without a space between. Empty nodes ("8.1") are dropped and counted.

Column 10 may have SpaceAfter=No, other white space (SpacesAfter=\\s\\n, SpacesBefore, as UDPipe writes
it), which becomes a word of white space, and tags of entities and chunks (NER=B-PER, Chunk=B-NP).

Source: https://universaldependencies.org/format.html
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spacy.parts_of_speech import IDS as POS

from ..files import Line, blocks_of, read_lines
from ..format import Format
from ..sentences import Items, LabelledSpan, Sentence, Unreadable, read_each
from ..settings import Settings
from .columns import is_entity_tag, spans_of

N_COLUMNS = 10
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY = re.compile(r"[0-9]+\.[1-9][0-9]*")
_FEATURES = re.compile(r"_?|[^=|]*=[^=|]*(\|[^=|]*=[^=|]*)*")
NO_SPACE = {"SpaceAfter": "No"}
_ESCAPED = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "p": "|", "\\": "\\"}


class _Row(NamedTuple):
    """A word; head: 0 is the root, None if there is none. misc: column 10."""

    form: str
    tag: str = ""
    pos: str = ""
    features: str = ""
    lemma: str = ""
    head: int | None = None
    relation: str = ""
    misc: dict[str, str] = NO_SPACE


class _Token(NamedTuple):
    """Syntactic words first <= i < end, from 0, and what they are as one."""

    first: int
    end: int
    row: _Row


def conllu_format() -> Format:
    """Registered as `spacy_hoseq.conllu_format.v1`: the format of Universal Dependencies."""
    return Format(read_conllu, (".conllu",), "CoNLL-U")


def read_conllu(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of lines, or a Problem for its first line that cannot be read.

    The Sentence has words, tags (column 5, or where that is empty column 4), pos, lemmas, morphs,
    heads (None if they are no tree), deps, spaces and multiword. An empty column ("_") is "".
    settings.cut (bool): of a multi-word token that its words spell, take them.
    """
    lines = read_lines(path, settings.encodings)
    blocks = blocks_of(lines, lambda text, begins: text.startswith("#"))
    yield from read_each(path, blocks, partial(_sentence, cut=settings.cut))


def _sentence(lines: Sequence[Line], cut: bool) -> list[Sentence]:
    """The one of a block. RAISES Unreadable."""
    rows, ranges, n_empty = _rows(lines)
    if cut:
        ranges = [token for token in ranges if not _is_spelled(rows, token)]
    tokens: list[_Token] = []
    for token in [*ranges, _Token(len(rows), len(rows), _Row(""))]:
        begin = tokens[-1].end if tokens else 0
        tokens += [_Token(i, i + 1, rows[i]) for i in range(begin, token.first)]
        tokens += [_merged(rows, token)] if token.row.form else []
    token_of = {i: n for n, token in enumerate(tokens) for i in range(token.first, token.end)}
    merged = [token.row for token in tokens]
    heads = [token_of.get(row.head - 1, n) if row.head else n for n, row in enumerate(merged)]
    is_annotated = all(row.relation and row.head is not None for row in merged)
    words, places = _with_white_space(merged, cut)
    placed = [max(place - 1, 0) for place in range(len(words))]  # white space at the word before
    for place, head in zip(places, heads, strict=True):
        placed[place] = places[head]
    entities, chunks = (_spans(merged, places, key) for key in ("NER", "Chunk"))
    sentence = Sentence(
        words=[row.form for row in words],
        tags=[row.tag for row in words],
        n_traces=n_empty,
        pos=[row.pos for row in words],
        morphs=[row.features for row in words],
        lemmas=[row.lemma for row in words],
        heads=placed if is_annotated and _is_tree(heads) else None,
        deps=[row.relation for row in words],
        spaces=[row.misc.get("SpaceAfter") != "No" for row in words],
        entities=entities,
        chunks=chunks,
        multiword=[
            (token.row.form, [list(row[:5]) for row in rows[token.first : token.end]])
            for token in ranges
        ],
    )
    return [sentence]


def _rows(lines: Sequence[Line]) -> tuple[list[_Row], list[_Token], int]:
    """Syntactic words, multi-word tokens, and how many words are empty. RAISES Unreadable."""
    rows: list[_Row] = []
    ranges: list[_Token] = []
    n_empty = 0
    for number, text in lines:
        fields = [field.strip(" ") or field for field in text.split("\t")]
        expected = _expected(fields, len(rows), ranges[-1].end if ranges else 0)
        if expected:
            raise Unreadable(number, f'"{text[:100]}"', expected)
        misc = dict(part.split("=", 1) for part in fields[9].split("|") if "=" in part)
        match = _RANGE.fullmatch(fields[0])
        if match:
            ranges.append(_Token(int(match[1]) - 1, int(match[2]), _Row(fields[1], misc=misc)))
        elif _EMPTY.fullmatch(fields[0]):
            n_empty += 1
        else:
            rows.append(_row(fields, misc))
    if ranges and ranges[-1].end > len(rows):
        first, end, row = ranges[-1]
        actual = f'"{row.form}" of the words {first + 1}-{end}'
        raise Unreadable(lines[-1].number, actual, f"{end} words, got {len(rows)}")
    outside = next((row for row in rows if row.head is not None and row.head > len(rows)), None)
    if outside is not None:
        actual = f'the head {outside.head} of "{outside.form}"'
        raise Unreadable(lines[-1].number, actual, f"0 to {len(rows)}")
    return rows, ranges, n_empty


def _expected(fields: list[str], n_rows: int, end: int) -> str:
    """Expected value of the first column that is wrong; "" = all are good. n_rows:
    words before. end: of the multi-word tokens before."""
    if len(fields) != N_COLUMNS:
        return f"{N_COLUMNS} columns separated by tabs, got {len(fields)}"
    if _EMPTY.fullmatch(fields[0]):
        return ""
    names = [feature.partition("=")[0] for feature in fields[5].split("|")]
    is_good: dict[str, object] = {
        f"the id {n_rows + 1}": fields[0] == str(n_rows + 1),
        "a universal part of speech in column 4": _content(fields[3]) in POS,
        "features in column 6, such as Case=Nom|Number=Sing": _FEATURES.fullmatch(fields[5]),
        "each feature once in column 6, such as Case=Acc,Nom": len(set(names)) == len(names),
        "the number of the head in column 7": fields[6] == "_" or fields[6].isdecimal(),
    }
    match = _RANGE.fullmatch(fields[0])
    if match:
        is_next = end <= n_rows == int(match[1]) - 1 < int(match[2]) - 1
        is_good = {f"a range that begins with {n_rows + 1}": is_next}
    is_good = {"a form in column 2": fields[1], **is_good}
    return next((expected for expected, good in is_good.items() if not good), "")


def _row(fields: list[str], misc: dict[str, str]) -> _Row:
    lemma, pos, tag, features = map(_content, fields[2:6])
    if fields[1] == fields[2] == "_":
        lemma = "_"  # of the underscore itself
    head = None if fields[6] == "_" else int(fields[6])
    return _Row(fields[1], tag or pos, pos, features, lemma, head, _content(fields[7]), misc)


def _content(field: str) -> str:
    return "" if field == "_" else field


def _is_spelled(rows: list[_Row], token: _Token) -> bool:
    """By its words. If so, they get the spaces that the text has."""
    parts = rows[token.first : token.end]
    if "".join(row.form for row in parts) != token.row.form:
        return False
    miscs = [NO_SPACE] * (len(parts) - 1) + [token.row.misc]
    rows[token.first : token.end] = [
        row._replace(misc=misc) for row, misc in zip(parts, miscs, strict=True)
    ]
    return True


def _merged(rows: Sequence[_Row], token: _Token) -> _Token:
    """A token with the annotation of its words as that of one."""
    parts = rows[token.first : token.end]
    inside = range(token.first + 1, token.end + 1)
    root = next((row for row in parts if row.head not in inside), parts[0])
    row = root._replace(
        form=token.row.form,
        lemma=" ".join(row.lemma for row in parts if row.lemma),
        tag="_".join(row.tag for row in parts if row.tag),
        features=united([row.features for row in parts]),
        misc=token.row.misc,
    )
    return token._replace(row=row)


def _with_white_space(rows: Sequence[_Row], cut: bool) -> tuple[list[_Row], list[int]]:
    """Words with one for white space that is more than one space behind a word, unless cut; and the
    place of each row among them."""
    words: list[_Row] = []
    places: list[int] = []
    for row in rows:
        before, after = (
            "" if cut else re.sub(r"\\(.)", _unescaped, row.misc.get(key, ""))
            for key in ("SpacesBefore", "SpacesAfter")
        )
        words += [_Row(before)] if before else []
        places.append(len(words))
        if after:
            row = row._replace(misc={} if after.startswith(" ") else NO_SPACE)
        gap = after.removeprefix(" ")
        words += [row, _Row(gap)] if gap else [row]
    return words, places


def _unescaped(match: "re.Match[str]") -> str:
    return _ESCAPED.get(match[1], match[1])


def _spans(rows: Sequence[_Row], places: list[int], key: str) -> list[LabelledSpan] | None:
    """The entities or chunks in column 10; None if no word has any."""
    tags = [row.misc.get(key, "O") for row in rows]
    if not any(key in row.misc for row in rows) or not all(map(is_entity_tag, tags)):
        return None
    return [
        LabelledSpan(places[first], places[end - 1] + 1, name)
        for first, end, name in spans_of(tags)[0]
    ]


def _is_tree(heads: list[int]) -> bool:
    """True if all words come to one root: of others, spaCy makes several sentences."""
    for _ in range(len(heads).bit_length()):
        heads = [heads[head] for head in heads]
    return len(set(heads)) == 1


def united(features: Sequence[str]) -> str:
    """Features of several words as those of one: "Case=Dat" and "Case=Acc|Number=Sing" give
    "Case=Acc,Dat|Number=Sing"."""
    values_of: dict[str, set[str]] = {}
    for name, _, values in (
        feature.partition("=") for one in features for feature in one.split("|") if feature
    ):
        values_of.setdefault(name, set()).update(values.split(","))
    return "|".join(
        f"{name}={','.join(sorted(values))}" for name, values in sorted(values_of.items())
    )
