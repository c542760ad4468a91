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
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spacy.parts_of_speech import IDS as POS

from ..files import Line, blocks_of, read_lines
from ..sentences import Items, LabelledSpan, Sentence, Unreadable, read_each
from ..settings import Format, Settings
from .columns import is_entity_tag, spans_of

NO_SPACE = {"SpaceAfter": "No"}


class _Word(NamedTuple):
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
    """A token: the syntactic words first <= i < end, from 0, and their annotation together."""

    first: int
    end: int
    word: _Word


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
    """The sentence of a block. RAISES Unreadable."""
    syntactic, ranges, n_empty = _words(lines)
    # from here on, tokens that their words spell are these words
    if cut:
        ranges = [token for token in ranges if not _is_spelled(syntactic, token)]
    tokens = list(_tokens(syntactic, ranges))
    merged = [token.word for token in tokens]
    words, places = _with_white_space(merged, cut)
    if not words:
        return [Sentence([], n_traces=n_empty)]
    forms, tags, pos, morphs, lemmas, _, deps, miscs = map(list, zip(*words, strict=True))
    multiword: list[tuple[str, list[list[str]]]] = []
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
        spaces=[misc.get("SpaceAfter") != "No" for misc in miscs],
        entities=_spans(merged, places, "NER"),
        chunks=_spans(merged, places, "Chunk"),
        multiword=multiword,
    )
    return [sentence]


def _words(lines: Sequence[Line]) -> tuple[list[_Word], list[_Token], int]:
    """The syntactic words, the multi-word tokens, and the number of empty nodes. RAISES
    Unreadable."""
    words: list[_Word] = []
    ranges: list[_Token] = []
    n_empty = 0
    for number, text in lines:
        fields = [field.strip(" ") or field for field in text.split("\t")]
        expected = _expected(fields, len(words), ranges[-1].end if ranges else 0)
        if expected:
            raise Unreadable(number, f'"{text[:100]}"', expected)
        misc = dict(part.split("=", 1) for part in fields[9].split("|") if "=" in part)
        # ids: 8.1 is an empty node, 1-2 a multi-word token
        if "." in fields[0]:
            n_empty += 1
        elif "-" in fields[0]:
            first, last = map(int, fields[0].split("-"))
            ranges.append(_Token(first - 1, last, _Word(fields[1], misc=misc)))
        else:
            words.append(_word(fields, misc))
    if ranges and ranges[-1].end > len(words):
        first, end, word = ranges[-1]
        actual = f'"{word.form}" of the words {first + 1}-{end}'
        raise Unreadable(lines[-1].number, actual, f"{end} words, got {len(words)}")
    for word in words:
        if word.head is not None and word.head > len(words):
            actual = f'the head {word.head} of "{word.form}"'
            raise Unreadable(lines[-1].number, actual, f"0 to {len(words)}")
    return words, ranges, n_empty


def _expected(fields: list[str], n_words: int, end: int) -> str:
    """What the first wrong column should have; "" = all are good. n_words: words before. end: of
    the multi-word tokens before."""
    if len(fields) != 10:
        return f"10 columns separated by tabs, got {len(fields)}"
    place, form, _, pos, _, features, head = fields[:7]
    if re.fullmatch(r"[0-9]+\.[1-9][0-9]*", place):
        return ""
    if not form:
        return "a form in column 2"
    bounds = re.fullmatch(r"([1-9][0-9]*)-([1-9][0-9]*)", place)
    if bounds:
        if end <= n_words == int(bounds[1]) - 1 < int(bounds[2]) - 1:
            return ""
        return f"a range that begins with {n_words + 1}"
    if place != str(n_words + 1):
        return f"the id {n_words + 1}"
    if _content(pos) not in POS:
        return "a universal part of speech in column 4"
    if not re.fullmatch(r"_?|[^=|]*=[^=|]*(\|[^=|]*=[^=|]*)*", features):
        return "features in column 6, such as Case=Nom|Number=Sing"
    names = [feature.partition("=")[0] for feature in features.split("|")]
    if len(set(names)) < len(names):
        return "each feature once in column 6, such as Case=Acc,Nom"
    if head != "_" and not head.isdecimal():
        return "the number of the head in column 7"
    return ""


def _word(fields: list[str], misc: dict[str, str]) -> _Word:
    lemma, pos, tag, features = map(_content, fields[2:6])
    if fields[1] == fields[2] == "_":
        lemma = "_"  # of the underscore itself
    head = None if fields[6] == "_" else int(fields[6])
    return _Word(fields[1], tag or pos, pos, features, lemma, head, _content(fields[7]), misc)


def _content(field: str) -> str:
    return "" if field == "_" else field


def _is_spelled(words: list[_Word], token: _Token) -> bool:
    """True if its words spell a token. Then they get the spaces of the text."""
    parts = words[token.first : token.end]
    if "".join(part.form for part in parts) != token.word.form:
        return False
    # no space between them; behind the last one as behind the token
    for i in range(token.first, token.end - 1):
        words[i] = words[i]._replace(misc=NO_SPACE)
    words[token.end - 1] = parts[-1]._replace(misc=token.word.misc)
    return True


def _tokens(words: Sequence[_Word], ranges: Sequence[_Token]) -> Iterator[_Token]:
    """Multi-word tokens, and the other words between them."""
    end = 0
    for token in ranges:
        for i in range(end, token.first):
            yield _Token(i, i + 1, words[i])
        yield _merged(words, token)
        end = token.end
    for i in range(end, len(words)):
        yield _Token(i, i + 1, words[i])


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


def _with_white_space(words: Sequence[_Word], cut: bool) -> tuple[list[_Word], list[int]]:
    """The words, with a word for white space that is more than one space; and the place of each
    word among them. cut: white space is ignored."""
    if cut:
        return [*words], [*range(len(words))]
    together: list[_Word] = []
    places: list[int] = []
    for word in words:
        before = _white_space(word, "SpacesBefore")
        if before:
            together.append(_Word(before))
        places.append(len(together))
        after = _white_space(word, "SpacesAfter")
        gap = after.removeprefix(" ")  # one space belongs to the word
        if after == gap != "":
            word = word._replace(misc=NO_SPACE)
        elif after:
            word = word._replace(misc={})
        together.append(word)
        if gap:
            together.append(_Word(gap))
    return together, places


def _white_space(word: _Word, key: str) -> str:
    """White space in column 10, where it is written as `\\s`, `\\n` and the like."""
    return re.sub(r"\\(.)", _unescaped, word.misc.get(key, ""))


def _unescaped(match: "re.Match[str]") -> str:
    escaped = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "p": "|", "\\": "\\"}
    return escaped.get(match[1], match[1])


def _heads(tokens: Sequence[_Token], places: list[int], n_words: int) -> list[int] | None:
    """The place of each word's head, counting white space; None if heads are missing or are no
    tree."""
    token_of: list[int] = []  # of each syntactic word
    for n, token in enumerate(tokens):
        token_of += [n] * (token.end - token.first)
    heads: list[int] = []
    # heads point to syntactic words: to the tokens that these are in
    for n, token in enumerate(tokens):
        if token.word.head is None or not token.word.relation:
            return None
        heads.append(token_of[token.word.head - 1] if token.word.head else n)
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


def _spans(words: Sequence[_Word], places: list[int], key: str) -> list[LabelledSpan] | None:
    """The entities or chunks in column 10; None if no word has any."""
    tags = [word.misc.get(key, "O") for word in words]
    # another tool may have other values under this key
    if not any(key in word.misc for word in words) or not all(map(is_entity_tag, tags)):
        return None
    spans: list[LabelledSpan] = []
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
