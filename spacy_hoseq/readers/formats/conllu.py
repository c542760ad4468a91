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
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Union

from spacy.parts_of_speech import IDS as POS

from ...errors import Errors
from ..files import Line, read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence, Settings
from .columns import is_entity_tag, spans_of

N_COLUMNS = 10
PROBED = 100  # sentences by which a treebank without words is told
_WORD = re.compile(r"[1-9][0-9]*")
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY = re.compile(r"[0-9]+\.[1-9][0-9]*")
_FEATURES = re.compile(r"_?|[^=|]*=[^=|]*(\|[^=|]*=[^=|]*)*")
NO_SPACE = {"SpaceAfter": "No"}
_ESCAPED = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "p": "|", "\\": "\\"}


class _Row(NamedTuple):
    """A syntactic word; head: 0 is the root, None if there is none. misc: column 10."""

    form: str
    tag: str
    pos: str
    features: str
    lemma: str
    head: Optional[int]
    relation: str
    misc: Dict[str, str]


class _Range(NamedTuple):
    """A multi-word token: syntactic words first <= i < end, from 0."""

    first: int
    end: int
    form: str
    misc: Dict[str, str]


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
        misc = dict(part.split("=", 1) for part in fields[9].split("|") if "=" in part)
        match = _RANGE.fullmatch(number)
        if match:
            token = _Range(int(match[1]) - 1, int(match[2]), fields[1], misc)
            is_next = token.first == len(self.rows) and token.first + 1 < token.end
            if not is_next or (self.ranges and self.ranges[-1].end > token.first):
                return f"a range that begins with {len(self.rows) + 1}"
            self.ranges.append(token)
            return ""
        if not _WORD.fullmatch(number) or int(number) != len(self.rows) + 1:
            return f"the id {len(self.rows) + 1}"
        expected = _expected(fields)
        if not expected:
            self.rows.append(_row(fields, misc))
        return expected

    def finished(self) -> Union[Sentence, Problem]:
        """The sentence, or the first problem."""
        if self.problem:
            return self.problem
        if self.ranges and self.ranges[-1].end > len(self.rows):
            token = self.ranges[-1]
            actual = f'"{token.form}" of the words {token.first + 1}-{token.end}'
            return Problem(self._path, 0, actual, f"{token.end} words, got {len(self.rows)}")
        n = len(self.rows)
        outside = next((row for row in self.rows if row.head is not None and row.head > n), None)
        if outside is not None:
            return Problem(
                self._path, 0, f'the head {outside.head} of "{outside.form}"', f"0 to {n}"
            )
        if self._cut:
            self.ranges = [token for token in self.ranges if not self._is_spelled(token)]
        return _sentence(self.rows, self.ranges, self.n_empty, self._cut)

    def _is_spelled(self, token: _Range) -> bool:
        """If so, its words have the spaces that the text has."""
        rows = self.rows[token.first : token.end]
        if "".join(row.form for row in rows) != token.form:
            return False
        miscs = [NO_SPACE] * (len(rows) - 1) + [token.misc]
        self.rows[token.first : token.end] = [
            row._replace(misc=misc) for row, misc in zip(rows, miscs, strict=True)
        ]
        return True


def read_conllu(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of lines, or a Problem for its first line that cannot be read.

    The Sentence has words, tags (column 5, or where that is empty column 4), pos, lemmas, morphs,
    heads (None if they are no tree), deps, spaces and multiword. An empty column ("_") is "".
    settings.cut (bool): of a multi-word token that its words spell, take them.
    RAISES ValueError [HS085]: the first sentences have no words, but "_".
    """
    probed: Set[str] = set()
    for number, item in enumerate(_items(path, settings), 1):
        if isinstance(item, Sentence):
            probed.update(item.words)
        yield item
        if number == PROBED and probed == {"_"}:
            break
    if probed == {"_"}:
        seen = 'all its words are "_": a treebank without its text'
        raise ValueError(Errors.HS085.format(path=path, seen=seen, do="Add its words first"))


def _items(path: Path, settings: Settings) -> Items:
    block = _Block(path, settings.cut)
    last_number = 0
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Line):
            last_number = line.number
            if line.text.startswith("#"):
                continue
            if not line.text.strip():
                if block:
                    yield _located(block.finished(), last_number)
                block = _Block(path, settings.cut)
                continue
        block.add(line)
    if block:
        yield _located(block.finished(), last_number)


def _located(item: Union[Sentence, Problem], number: int) -> Union[Sentence, Problem]:
    """Give a problem of a whole block the number of the line where the block ends."""
    return item._replace(line=number) if isinstance(item, Problem) and not item.line else item


def _expected(fields: List[str]) -> str:
    """What should stand in the first column of a word that has something else; "" = all are good."""
    names = [feature.partition("=")[0] for feature in fields[5].split("|")]
    is_good = {
        "a universal part of speech in column 4": _content(fields[3]) in POS,
        "features in column 6, such as Case=Nom|Number=Sing": _FEATURES.fullmatch(fields[5]),
        "each feature once in column 6, such as Case=Acc,Nom": len(set(names)) == len(names),
        "the number of the head in column 7": fields[6] == "_" or fields[6].isdecimal(),
    }
    return next((expected for expected, good in is_good.items() if not good), "")


def _row(fields: List[str], misc: Dict[str, str]) -> _Row:
    lemma, pos, tag, features = (_content(field) for field in fields[2:6])
    if fields[2] == "_" and fields[1] == "_":
        lemma = "_"  # of the underscore itself
    head = None if fields[6] == "_" else int(fields[6])
    return _Row(fields[1], tag or pos, pos, features, lemma, head, _content(fields[7]), misc)


def _content(field: str) -> str:
    return "" if field == "_" else field


def _sentence(rows: List[_Row], ranges: List[_Range], n_empty: int, cut: bool) -> Sentence:
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
    entities, chunks = (_spans(merged, key) for key in ("NER", "Chunk"))
    sentence = Sentence(
        words=[row.form for row in merged],
        tags=[row.tag for row in merged],
        n_traces=n_empty,
        pos=[row.pos for row in merged],
        morphs=[row.features for row in merged],
        lemmas=[row.lemma for row in merged],
        heads=heads if is_annotated and _is_tree(heads) else None,
        deps=[row.relation for row in merged],
        spaces=[row.misc.get("SpaceAfter") != "No" for row in merged],
        entities=entities,
        chunks=chunks,
        multiword=[
            (token.form, [list(row[:5]) for row in rows[token.first : token.end]])
            for token in ranges
        ],
    )
    return sentence if cut else _with_white_space(sentence, [row.misc for row in merged])


def _spans(rows: List[_Row], key: str) -> Optional[List[LabelledSpan]]:
    """The entities or chunks in column 10; None if no word has any."""
    tags = [row.misc.get(key, "O") for row in rows]
    if not any(key in row.misc for row in rows) or not all(map(is_entity_tag, tags)):
        return None
    return spans_of(tags)[0]


def _with_white_space(sentence: Sentence, miscs: List[Dict[str, str]]) -> Sentence:
    """With a word for white space that is more than one space behind a word."""
    pieces: List[Union[int, str]] = []  # words by their place, and white space
    spaces = list(sentence.spaces or ())
    for i, misc in enumerate(miscs):
        before = _unescaped(misc.get("SpacesBefore", ""))
        after = _unescaped(misc.get("SpacesAfter", ""))
        pieces += [before, i] if before else [i]
        if after:
            spaces[i] = after.startswith(" ")
            pieces += [after[spaces[i] :]] if after != " " else []
    if len(pieces) == len(miscs):
        return sentence._replace(spaces=spaces)
    place_of = {piece: place for place, piece in enumerate(pieces) if isinstance(piece, int)}

    def spread(column: Optional[List[Any]], default: Any) -> List[Any]:
        return [column[piece] if column and isinstance(piece, int) else default for piece in pieces]

    def moved(spans: Optional[List[LabelledSpan]]) -> Optional[List[LabelledSpan]]:
        return spans and [
            LabelledSpan(place_of[first], place_of[end - 1] + 1, name) for first, end, name in spans
        ]

    heads = spread(sentence.heads, None)
    return sentence._replace(
        words=[sentence.words[piece] if isinstance(piece, int) else piece for piece in pieces],
        spaces=spread(spaces, False),
        tags=spread(sentence.tags, ""),
        pos=spread(sentence.pos, ""),
        morphs=spread(sentence.morphs, ""),
        lemmas=spread(sentence.lemmas, ""),
        deps=spread(sentence.deps, ""),
        heads=sentence.heads
        and [
            max(place - 1, 0) if head is None else place_of[head]
            for place, head in enumerate(heads)
        ],
        entities=moved(sentence.entities),
        chunks=moved(sentence.chunks),
    )


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), text)


def _is_tree(heads: List[int]) -> bool:
    """Whether all words come to one root: of others, spaCy makes several sentences."""
    for _ in range(len(heads).bit_length()):
        heads = [heads[head] for head in heads]
    return len(set(heads)) == 1


def _tokens(n_rows: int, ranges: List[_Range]) -> List[_Range]:
    """All tokens in order; those of one syntactic word have no form of their own."""
    tokens: List[_Range] = []
    i = 0
    for token in [*ranges, _Range(n_rows, n_rows, "", {})]:
        tokens += [_Range(k, k + 1, "", {}) for k in range(i, token.first)]
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
        misc=token.misc,
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
