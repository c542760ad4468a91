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
it), which becomes a word of white space, and tags of entities and chunks (NER=B-PER, name=B-PER, B-PER;
Chunk=B-NP).

Its relatives are read by their own columns: CoNLL-X, 2008, 2009, CoreNLP's, and CoNLL-U Plus by its
`# global.columns`. A tree, a part of speech or a feature of another form is dropped; the sentence stays.

Source: https://universaldependencies.org/format.html
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from spacy.parts_of_speech import IDS as POS

from ..files import Line, blocks_of, read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence, Unreadable, read_each
from ..settings import Format, Settings
from .columns import (
    BARE_TAG,
    BRACKETS,
    ENTITY_TAG,
    is_entity_tag,
    spans_of,
    standard_tags,
)

# columns, from 0, of: id, form, lemma, part of speech (or other tags), tag, features, head, relation,
# others, entity; -1 = there is none
LAYOUTS = {
    "CoNLL-U": (0, 1, 2, 3, 4, 5, 6, 7, 9, -1),
    "CoNLL-X": (0, 1, 2, 3, 4, 5, 6, 7, -1, -1),
    "CoNLL-2008": (0, 5, 6, 7, 3, -1, 8, 9, -1, -1),
    "CoNLL-2009": (0, 1, 2, 5, 4, 6, 8, 10, -1, -1),
    "columns of CoreNLP": (0, 1, 2, -1, 3, -1, 5, 6, -1, 4),
}


class Layout(NamedTuple):
    """The columns of a file, as in `LAYOUTS`. width (int): of its rows; 0 = at least so many."""

    name: str
    columns: Sequence[int]
    width: int = 0


class _Word(NamedTuple):
    """A word; head: 0 is the root, None if there is none. misc: column 10; that of a word of white space
    says that no space follows."""

    form: str
    tag: str = ""
    pos: str = ""
    features: str = ""
    lemma: str = ""
    head: int | None = None
    relation: str = ""
    misc: dict[str, str] = {"SpaceAfter": "No"}


class _Token(NamedTuple):
    """A token: the syntactic words first <= i < end, from 0, and their annotation together."""

    first: int
    end: int
    word: _Word


def conllu_format() -> Format:
    """Registered as `spacy_hoseq.conllu_format.v1`: Universal Dependencies and its relatives."""
    return Format(read_conllu, (".conllu", ".conllup", ".conllx"), "CoNLL-U", _layout_name)


def _layout_name(path: Path, settings: Settings) -> str:
    layout = layout_of(islice(read_lines(path, settings.encodings), 200))
    return layout.name if layout else "of another form"


def layout_of(lines: Iterable[Line | Problem]) -> Layout | None:
    """The columns of a file with an id and a head in each row, by its first lines; None if it is
    none."""
    rows = []
    for line in lines:
        if isinstance(line, Problem):
            continue
        named = re.match(r"# *global\.columns *= *(.+)", line.text)
        if named:
            return _named_columns(named[1].upper().split())
        if re.match(r"\d+[ \t]", line.text):
            rows.append(_fields(line.text))
    if not rows or rows[0][0] not in ("0", "1"):
        return None
    width = min(map(len, rows))
    name = _family(rows, width)
    if not name:
        return None
    columns = LAYOUTS[name]
    if name == "CoNLL-U":
        # one more column may have names
        for column in range(10, width):
            if _has(rows, column, ENTITY_TAG.pattern):
                columns = (*columns[:-1], column)
    return Layout(name, columns, width if width == 10 else 0)


def _family(rows: list[list[str]], width: int) -> str:
    """The format, by the number and the content of columns; "" = none."""
    if width > 11 and _has(rows, 8, r"\d+") and _has(rows, 9, r"\d+|_"):
        return "CoNLL-2009"
    if width > 10 and _has(rows, 8, r"\d+"):
        return "CoNLL-2008"
    if width >= 10 and (_has(rows, 3, "|".join(filter(None, POS)) + "|_") or _has(rows, 6, "_")):
        return "CoNLL-U"
    if width >= 8 and _has(rows, 6, r"\d+"):
        return "CoNLL-X"
    if width == 7 and _has(rows, 5, r"\d+") and not _has(rows, 6, r"\d+"):
        return "columns of CoreNLP"
    return ""


def _has(rows: list[list[str]], column: int, form: str) -> bool:
    """True if nearly all cells of a column have a form."""
    return sum(re.fullmatch(form, row[column]) is not None for row in rows) >= 0.9 * len(rows)


def _named_columns(names: list[str]) -> Layout:
    """The columns of CoNLL-U Plus."""
    known = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL MISC".split()
    columns = [names.index(name) if name in names else -1 for name in known]
    entity = next((i for i, name in enumerate(names) if re.search("NER|^NE$|BIO|IOB", name)), -1)
    return Layout("CoNLL-U Plus", (*columns, entity))


def read_conllu(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of lines, or a Problem for its first line that cannot be read.

    The Sentence has words, tags (column 5, or where that is empty column 4), pos, lemmas, morphs,
    heads (None if they are no tree), deps, spaces and multiword. An empty column ("_") is "".
    settings.cut (bool): of a multi-word token that its words spell, take them.
    """
    layout = layout_of(islice(read_lines(path, settings.encodings), 200))
    layout = layout or Layout("CoNLL-U", LAYOUTS["CoNLL-U"], 10)
    lines = read_lines(path, settings.encodings)
    blocks = blocks_of(lines, lambda text, begins: text.startswith("#"))
    yield from read_each(path, blocks, partial(_sentence, cut=settings.cut, layout=layout))


def _fields(text: str) -> list[str]:
    if "\t" not in text:
        return text.split()
    return [field.strip(" ") or field for field in text.split("\t")]


def _sentence(lines: Sequence[Line], cut: bool, layout: Layout) -> list[Sentence]:
    """The sentence of a block. RAISES Unreadable."""
    syntactic, ranges, n_empty, n_dropped = _words(lines, layout)
    # from here on, tokens that their words spell are these words
    if cut:
        ranges = [token for token in ranges if not _is_spelled(syntactic, token)]
    tokens = list(_tokens(syntactic, ranges))
    merged = [token.word for token in tokens]
    words = merged
    places = [*range(len(merged))]
    if not cut:
        words, places = _with_white_space(merged)
    if not words:
        return [Sentence([], n_traces=n_empty)]
    forms, tags, pos, morphs, lemmas, _, deps, miscs = map(list, zip(*words, strict=True))
    spaces = None
    if layout.columns[8] >= 0:
        spaces = [misc.get("SpaceAfter") != "No" for misc in miscs]
    multiword = []
    for first, end, word in ranges:
        multiword.append((word.form, [list(part[:5]) for part in syntactic[first:end]]))
    sentence = Sentence(
        forms,
        tags=tags,
        n_traces=n_empty,
        pos=pos,
        morphs=morphs,
        lemmas=lemmas,
        heads=_heads(tokens, places, len(words)),
        deps=deps,
        spaces=spaces,
        multiword=multiword,
        n_dropped=n_dropped,
    )
    return [_with_spans(sentence, merged, places)]


def _words(lines: Sequence[Line], layout: Layout) -> tuple[list[_Word], list[_Token], int, int]:
    """The syntactic words, the multi-word tokens, and the numbers of empty nodes and of annotations
    that are dropped. RAISES Unreadable."""
    words: list[_Word] = []
    ranges: list[_Token] = []
    n_empty = 0
    n_dropped = 0
    for number, text in lines:
        fields = _cells(number, text, layout)
        # CoNLL-U Plus may have no ids
        place = fields[0] if layout.columns[0] >= 0 else str(len(words) + 1)
        end = ranges[-1].end if ranges else 0
        expected = _expected(place, fields[1], len(words), end)
        if expected:
            raise Unreadable(number, f'"{text[:100]}"', expected)
        # 8.1 is an empty node, 1-2 a multi-word token, 1-1 says nothing
        if "." in place:
            n_empty += 1
        elif "-" in place:
            first, last = map(int, place.split("-"))
            if first < last:
                word = _Word(fields[1], misc=_misc(*fields[8:]))
                ranges.append(_Token(first - 1, last, word))
        else:
            word, n_odd = _word(fields)
            if layout.name.startswith("CoNLL-U"):
                n_dropped += n_odd
            else:
                word = word._replace(pos="")  # they have other tags
            words.append(word)
    if ranges and ranges[-1].end > len(words):
        first, end, word = ranges[-1]
        actual = f'"{word.form}" of the words {first + 1}-{end}'
        raise Unreadable(lines[-1].number, actual, f"{end} words, got {len(words)}")
    return words, ranges, n_empty, n_dropped


def _cells(number: int, text: str, layout: Layout) -> list[str]:
    """The cells of a row in the order of `LAYOUTS`, "_" for a column that is not there. RAISES
    Unreadable."""
    row = _fields(text)
    least = max(layout.columns) + 1
    if layout.width and len(row) != layout.width:
        expected = f"{layout.width} columns separated by tabs, got {len(row)}"
        raise Unreadable(number, f'"{text[:100]}"', expected)
    if len(row) < least:
        expected = f"at least {least} columns separated by tabs, got {len(row)}"
        raise Unreadable(number, f'"{text[:100]}"', expected)
    return [row[column] if column >= 0 else "_" for column in layout.columns]


def _expected(place: str, form: str, n_words: int, end: int) -> str:
    """What the id or the form should be; "" = they are good. n_words: words before. end: of the
    multi-word tokens before."""
    if re.fullmatch(r"[0-9]+\.[1-9][0-9]*", place):
        return ""
    if not form:
        return "a form in column 2"
    bounds = re.fullmatch(r"([1-9][0-9]*)-([1-9][0-9]*)", place)
    if bounds is None:
        return "" if place == str(n_words + 1) else f"the id {n_words + 1}"
    if end <= n_words == int(bounds[1]) - 1 < int(bounds[2]):
        return ""
    return f"a range that begins with {n_words + 1}"


def _word(fields: list[str]) -> tuple[_Word, int]:
    """A word, and the number of its annotations that have no known form and are dropped."""
    form = fields[1]
    lemma, pos, tag, features, head, relation = (
        "" if field == "_" else field for field in fields[2:8]
    )
    if form == fields[2] == "_":
        lemma = "_"  # of the underscore itself
    parts = features.split("|") if features else []
    known = [part for part in parts if re.fullmatch("[^=]+=[^=]+", part)]
    n_odd = len(parts) - len(known) + (pos not in POS)
    features = "|".join(known)
    if len({part.partition("=")[0] for part in known}) < len(known):
        features = united(known)
    word = _Word(form, tag or pos, "", features, lemma, None, relation, _misc(*fields[8:]))
    if pos in POS:
        word = word._replace(pos=pos)
    if head.isdecimal():
        word = word._replace(head=int(head))
    return word, n_odd


def _misc(text: str, entity: str) -> dict[str, str]:
    """What column 10 says by its key; tags of entities without one, and those of a column of their
    own, by "NER"."""
    misc = {}
    for part in text.split("|"):
        key, equals, value = part.partition("=")
        if equals:
            misc[key] = value
        elif is_entity_tag(part):
            misc["NER"] = part
    if is_entity_tag(entity):
        misc["NER"] = entity
    elif entity != "_":
        misc["NER"] = f"I-{entity}"  # CoreNLP has types alone
    return misc


def _is_spelled(words: list[_Word], token: _Token) -> bool:
    """True if its words spell a token. Then they get the spaces of the text."""
    parts = words[token.first : token.end]
    if "".join(part.form for part in parts) != token.word.form:
        return False
    # no space between them; behind the last one as behind the token
    for i in range(token.first, token.end - 1):
        words[i] = words[i]._replace(misc={"SpaceAfter": "No"})
    words[token.end - 1] = parts[-1]._replace(misc=token.word.misc)
    return True


def _tokens(words: Sequence[_Word], ranges: Sequence[_Token]) -> Iterator[_Token]:
    """Multi-word tokens, and the other words between them."""
    end = 0
    for token in (*ranges, _Token(len(words), len(words), _Word(""))):
        for i in range(end, token.first):
            yield _Token(i, i + 1, words[i])
        if token.first < token.end:
            yield _merged(words, token)
        end = token.end


def _merged(words: Sequence[_Word], token: _Token) -> _Token:
    """A multi-word token with the annotation of its words put together."""
    parts = words[token.first : token.end]
    # heads count from 1
    inside = range(token.first + 1, token.end + 1)
    root = next((part for part in parts if part.head not in inside), parts[0])
    word = root._replace(
        form=token.word.form,
        lemma=" ".join(part.lemma for part in parts if part.lemma),
        tag="_".join(part.tag for part in parts if part.tag),
        features=united([part.features for part in parts]),
        misc=token.word.misc,
    )
    return token._replace(word=word)


def _with_white_space(words: Sequence[_Word]) -> tuple[list[_Word], list[int]]:
    """The words, with a word for white space that is more than one space; and the place of each
    word among them."""
    together = []
    places = []
    for word in words:
        before = _white_space(word, "SpacesBefore")
        if before:
            together.append(_Word(before))
        places.append(len(together))
        after = _white_space(word, "SpacesAfter")
        gap = after.removeprefix(" ")  # one space belongs to the word
        if after == gap != "":
            word = word._replace(misc={"SpaceAfter": "No"})
        elif after:
            word = word._replace(misc={})
        together.append(word)
        if gap:
            together.append(_Word(gap))
    return together, places


def _white_space(word: _Word, key: str) -> str:
    """White space in column 10, where it is written as `\\s`, `\\n` and the like."""
    text = word.misc.get(key, "")
    escaped = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "p": "|", "\\": "\\"}
    return re.sub(r"\\(.)", lambda match: escaped.get(match[1], match[1]), text)


def _heads(tokens: Sequence[_Token], places: list[int], n_words: int) -> list[int] | None:
    """The place of each word's head, counting white space; None if heads are missing or are no
    tree."""
    token_of = []  # of each syntactic word
    for n, token in enumerate(tokens):
        token_of += [n] * (token.end - token.first)
    heads = []
    # heads point to syntactic words: to the tokens that these are in
    for n, (_, _, word) in enumerate(tokens):
        if word.head is None or word.head > len(token_of) or not word.relation:
            return None
        heads.append(token_of[word.head - 1] if word.head else n)
    if not _is_tree(heads):
        return None
    placed = [max(place - 1, 0) for place in range(n_words)]  # white space: the word before
    for place, head in zip(places, heads, strict=True):
        placed[place] = places[head]
    return placed


def _is_tree(heads: list[int]) -> bool:
    """True if all words come to one root: of others, spaCy makes several sentences."""
    # after k rounds heads are 2^k steps above
    for _ in range(len(heads).bit_length()):
        heads = [heads[head] for head in heads]
    return len(set(heads)) == 1


def _with_spans(sentence: Sentence, words: Sequence[_Word], places: list[int]) -> Sentence:
    """The sentence with the entities and chunks in column 10: of the first key of each. Keys with other
    labels are unread."""
    unread = []
    name_keys = ("ner", "name", "tag", "entity", "ne")
    for key in dict.fromkeys(chain.from_iterable(word.misc for word in words)):
        tags = _tags([word.misc.get(key, "O") for word in words])
        is_readable = all(map(is_entity_tag, tags))
        if is_readable and key.lower() == "chunk":
            if sentence.chunks is None:
                sentence = sentence._replace(chunks=_spans(tags, places))
        elif is_readable and key.lower() in name_keys:
            if sentence.entities is None:
                sentence = sentence._replace(entities=_spans(tags, places))
        # other tools have other values
        elif (is_readable or key.lower() in name_keys) and set(tags) != {"O"}:
            unread.append(f"{key}= in column 10 has labels")
    return sentence._replace(unread=tuple(unread))


def _tags(cells: list[str]) -> list[str]:
    """Entity tags: of letters alone, or of brackets; other cells stay."""
    if all(map(BARE_TAG.fullmatch, cells)):
        return standard_tags(cells, "bare", "ENTITY")
    if all(cell == "O" or BRACKETS.fullmatch(cell) for cell in cells):
        return standard_tags(cells, "brackets", "ENTITY")
    return standard_tags(cells, "", "ENTITY")


def _spans(tags: list[str], places: list[int]) -> list[LabelledSpan]:
    """The spans of tags, counting white space."""
    spans = []
    for first, end, name in spans_of(tags)[0]:
        spans.append(LabelledSpan(places[first], places[end - 1] + 1, name))
    return spans


def united(features: Sequence[str]) -> str:
    """Unites features of several words: "Case=Dat" and "Case=Acc|Number=Sing" give
    "Case=Acc,Dat|Number=Sing"."""
    values: dict[str, set[str]] = {}
    for feature in "|".join(features).split("|"):
        if feature:
            name, _, value = feature.partition("=")
            values.setdefault(name, set()).update(value.split(","))
    return "|".join(f"{name}={','.join(sorted(values[name]))}" for name in sorted(values))
