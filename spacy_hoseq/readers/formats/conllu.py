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

Source: https://universaldependencies.org/format.html
"""

import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Union

from spacy.parts_of_speech import IDS as POS

from ..files import Line, read_lines
from ..sentences import Items, Problem, Sentence

N_COLUMNS = 10
_WORD = re.compile(r"[1-9][0-9]*")
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY = re.compile(r"[0-9]+\.[1-9][0-9]*")
_FEATURES = re.compile(r"_?|[^=|]*=[^=|]*(\|[^=|]*=[^=|]*)*")
_NO_SPACE = re.compile(r"(^|\|)SpaceAfter=No($|\|)")


class _Row(NamedTuple):
    """A syntactic word; head: 0 is the root, None if there is none."""

    form: str
    tag: str
    pos: str
    features: str
    lemma: str
    head: Optional[int]
    relation: str
    has_space: bool


class _Range(NamedTuple):
    """A multi-word token: syntactic words first <= i < end, from 0."""

    first: int
    end: int
    form: str
    has_space: bool


class _Block:
    """The lines of a sentence, as far as they were read."""

    def __init__(self, path: Path, cut: bool) -> None:
        self._cut = cut
        self.rows: List[_Row] = []
        self.ranges: List[_Range] = []
        self.n_empty = 0
        self.problem: Optional[Problem] = None
        self._path = path

    def __bool__(self) -> bool:
        return bool(self.rows or self.ranges or self.n_empty or self.problem)

    def add(self, line: Union[Line, Problem]) -> None:
        """Take in a line that is neither blank nor a comment. After a problem nothing more is
        taken."""
        if self.problem:
            return
        if isinstance(line, Problem):
            self.problem = line
            return
        expected = self._take([field.strip(" ") or field for field in line.text.split("\t")])
        if expected:
            self.problem = Problem(self._path, line.number, f'"{line.text[:100]}"', expected)

    def _take(self, fields: List[str]) -> str:
        """RETURNS what was expected instead, "" if the line is good."""
        if len(fields) != N_COLUMNS:
            return f"{N_COLUMNS} columns separated by tabs, got {len(fields)}"
        number = fields[0]
        if _EMPTY.fullmatch(number):
            self.n_empty += 1
            return ""
        if not fields[1]:
            return "a form in column 2"
        has_space = not _NO_SPACE.search(fields[9])
        match = _RANGE.fullmatch(number)
        if match:
            token = _Range(int(match[1]) - 1, int(match[2]), fields[1], has_space)
            is_next = token.first == len(self.rows) and token.first + 1 < token.end
            if not is_next or (self.ranges and self.ranges[-1].end > token.first):
                return f"a range that begins with {len(self.rows) + 1}"
            self.ranges.append(token)
            return ""
        if not _WORD.fullmatch(number) or int(number) != len(self.rows) + 1:
            return f"the id {len(self.rows) + 1}"
        expected = _expected(fields)
        if not expected:
            self.rows.append(_row(fields, has_space))
        return expected

    def finished(self) -> Union[Sentence, Problem]:
        """The sentence, or the first problem."""
        if self.problem:
            return self.problem
        if self.ranges and self.ranges[-1].end > len(self.rows):
            token = self.ranges[-1]
            actual = f'"{token.form}" of the words {token.first + 1}-{token.end}'
            return Problem(self._path, 0, actual, f"{token.end} words, got {len(self.rows)}")
        if self._cut:
            self.ranges = [token for token in self.ranges if not self._is_spelled(token)]
        return _sentence(self.rows, self.ranges, self.n_empty)

    def _is_spelled(self, token: _Range) -> bool:
        """If so, its words have the spaces that the text has."""
        rows = self.rows[token.first : token.end]
        if "".join(row.form for row in rows) != token.form:
            return False
        spaces = [False] * (len(rows) - 1) + [token.has_space]
        self.rows[token.first : token.end] = [
            row._replace(has_space=space) for row, space in zip(rows, spaces, strict=True)
        ]
        return True


def read_conllu(path: Path, encodings: Sequence[str], cut: bool = False) -> Items:
    """A Sentence for each block of lines, or a Problem for its first line that cannot be read.

    The Sentence has words, tags (column 5, or where that is empty column 4), pos, lemmas, morphs,
    heads (None if they are no tree), deps, spaces and multiword. An empty column ("_") is "". cut
    (bool): of a multi-word token that its words spell, take them.
    """
    block = _Block(path, cut)
    last_number = 0
    for line in read_lines(path, encodings):
        if isinstance(line, Line):
            last_number = line.number
            if line.text.startswith("#"):
                continue
            if not line.text.strip():
                if block:
                    yield _located(block.finished(), last_number)
                block = _Block(path, cut)
                continue
        block.add(line)
    if block:
        yield _located(block.finished(), last_number)


def _located(item: Union[Sentence, Problem], number: int) -> Union[Sentence, Problem]:
    """Give a problem of a whole block the number of the line where the block ends."""
    return item._replace(line=number) if isinstance(item, Problem) and not item.line else item


def _expected(fields: List[str]) -> str:
    """What should stand in the first column of a word that has something else; "" = all are good."""
    is_good = {
        "a universal part of speech in column 4": _content(fields[3]) in POS,
        "features in column 6, such as Case=Nom|Number=Sing": _FEATURES.fullmatch(fields[5]),
        "the number of the head in column 7": fields[6] == "_" or fields[6].isdecimal(),
    }
    return next((expected for expected, good in is_good.items() if not good), "")


def _row(fields: List[str], has_space: bool) -> _Row:
    lemma, pos, tag, features = (_content(field) for field in fields[2:6])
    if fields[2] == "_" and fields[1] == "_":
        lemma = "_"  # of the underscore itself
    head = None if fields[6] == "_" else int(fields[6])
    return _Row(fields[1], tag or pos, pos, features, lemma, head, _content(fields[7]), has_space)


def _content(field: str) -> str:
    return "" if field == "_" else field


def _sentence(rows: List[_Row], ranges: List[_Range], n_empty: int) -> Sentence:
    tokens = _tokens(len(rows), ranges)
    merged = [_merged(rows, token) for token in tokens]
    place_of = {
        i: place for place, token in enumerate(tokens) for i in range(token.first, token.end)
    }
    heads = [
        place if not row.head else place_of.get(row.head - 1, place)
        for place, row in enumerate(merged)
    ]
    is_annotated = all(row.relation and row.head is not None for row in merged)
    return Sentence(
        words=[row.form for row in merged],
        tags=[row.tag for row in merged],
        n_traces=n_empty,
        pos=[row.pos for row in merged],
        morphs=[row.features for row in merged],
        lemmas=[row.lemma for row in merged],
        heads=heads if is_annotated and _is_tree(heads) else None,
        deps=[row.relation for row in merged],
        spaces=[row.has_space for row in merged],
        multiword=[
            (token.form, [list(row[:5]) for row in rows[token.first : token.end]])
            for token in ranges
        ],
    )


def _is_tree(heads: List[int]) -> bool:
    """Whether all words come to one root: of others, spaCy makes several sentences."""
    for _ in range(len(heads).bit_length()):
        heads = [heads[head] for head in heads]
    return len(set(heads)) == 1


def _tokens(n_rows: int, ranges: List[_Range]) -> List[_Range]:
    """All tokens in order; those of one syntactic word have no form of their own."""
    tokens: List[_Range] = []
    i = 0
    for token in [*ranges, _Range(n_rows, n_rows, "", True)]:
        tokens += [_Range(k, k + 1, "", True) for k in range(i, token.first)]
        tokens.append(token)
        i = token.end
    return tokens[:-1]


def _merged(rows: List[_Row], token: _Range) -> _Row:
    """The syntactic words of a token as one."""
    parts = rows[token.first : token.end]
    if not token.form:
        return parts[0]
    inside = range(token.first + 1, token.end + 1)
    root = next((row for row in parts if row.head not in inside), parts[0])
    return root._replace(
        form=token.form,
        lemma=" ".join(row.lemma for row in parts if row.lemma),
        tag="_".join(row.tag for row in parts if row.tag),
        features=united([row.features for row in parts]),
        has_space=token.has_space,
    )


def united(features: Sequence[str]) -> str:
    """Features of several words as those of one: "Case=Dat" and "Case=Acc|Number=Sing" give
    "Case=Acc,Dat|Number=Sing"."""
    values_of: Dict[str, Set[str]] = {}
    for name, _, values in (
        feature.partition("=") for one in features for feature in one.split("|") if feature
    ):
        values_of.setdefault(name, set()).update(values.split(","))
    return "|".join(
        f"{name}={','.join(sorted(values))}" for name, values in sorted(values_of.items())
    )
