"""The People's Daily corpus of Peking University (PFR): a paragraph a line, words with tags, groups
in brackets.

    19980101-07-001-002/m  [学校/n  图书馆/n]nt  今天/t  开放/v  。/w

The number of the paragraph is dropped. A group `[...]nt` is one entity of the name that the tag has
in `groups`, and so is a single word with such a tag outside of such a group. Groups may be
nested: the outermost of those named counts.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from ..files import Line, read_lines
from ..sentences import Items, LabelledSpan, Sentence, Unreadable, read_each
from ..settings import Format, Settings

NUMBER = re.compile(r"\d{8}-\d{2}-\d{3}-\d{3}(/m)?")


def peoples_daily_format() -> Format:
    """Registered as `spacy_hoseq.peoples_daily_format.v1`: the corpus of Peking University."""
    return Format(read_peoples_daily, (".txt",), "the People's Daily corpus")


def read_peoples_daily(path: Path, settings: Settings) -> Items:
    """The sentences of each paragraph, or a Problem for a paragraph that cannot be read.

    settings.groups: names of entities by the tags of groups and words. settings.split_sentences: at
    。！？ with the closing quotes and brackets behind them, outside of groups; otherwise a paragraph is
    one sentence.
    """
    lines = ([line] for line in read_lines(path, settings.encodings))
    yield from read_each(path, lines, partial(_sentences, settings=settings))


def _sentences(lines: Sequence[Line], settings: Settings) -> list[Sentence]:
    """Sentences of a paragraph. RAISES Unreadable."""
    ((number, text),) = lines
    pieces = re.split(r"[ \t]+", text.strip(" \t"))
    if NUMBER.fullmatch(pieces[0]):
        pieces.pop(0)
    if not any(pieces):
        return []
    words, tags, groups = _parsed(number, pieces)
    names = {"nt": "ORG"} if settings.groups is None else settings.groups
    entities = _outermost(groups, names)
    if settings.split_sentences:
        return list(_cut(words, tags, entities))
    return [Sentence(words, tags, entities=entities)]


def _parsed(number: int, pieces: Sequence[str]) -> tuple[list[str], list[str], list[LabelledSpan]]:
    """The words, their tags, and tagged groups; each word is a group, too. number: of the line.
    RAISES Unreadable."""
    expected = "word/tag, with [ before the first word of a group and ]tag behind the last"
    words = []
    tags = []
    groups = []  # as they close: an inner one before the outer one
    open_at = []
    for i, piece in enumerate(pieces):
        match = re.fullmatch(r"(\[*)(.+)/([A-Za-z]+)((\][A-Za-z]+)*)", piece)
        if match is None:
            raise Unreadable(number, f'"{piece}"', expected)
        opening, word, tag, closing, _ = match.groups()
        # [[a/n begins two groups
        open_at += [i] * len(opening)
        words.append(word)
        tags.append(tag)
        for group_tag in closing.split("]")[1:]:
            if not open_at:
                raise Unreadable(number, f'"{piece}" without an opening bracket', expected)
            groups.append(LabelledSpan(open_at.pop(), i + 1, group_tag))
    if open_at:
        actual = f'"{pieces[open_at[0]]}" without a closing bracket'
        raise Unreadable(number, actual, expected)
    groups += [LabelledSpan(i, i + 1, tag) for i, tag in enumerate(tags)]
    return words, tags, groups


def _outermost(groups: list[LabelledSpan], names: dict[str, str]) -> list[LabelledSpan]:
    """Entities: the outermost groups that have a name, in order."""
    entities: list[LabelledSpan] = []
    # outer groups first
    for first, end, tag in sorted(groups, key=lambda group: (group.first, -group.end)):
        if tag in names and (not entities or entities[-1].end <= first):
            entities.append(LabelledSpan(first, end, names[tag]))
    return entities


def _cut(words: list[str], tags: list[str], entities: list[LabelledSpan]) -> Iterator[Sentence]:
    """Sentences cut after their ends and what closes there, outside of entities."""
    ends = "。！？"
    closing = "”’』」）"  # follows the end of a sentence and belongs to it
    begin = 0
    ended = False
    for i, word in enumerate(words, 1):
        ended = word in ends or (ended and word in closing)
        # a sentence ends with the paragraph at the latest
        is_last = i == len(words)
        goes_on = not is_last and (words[i] in ends or words[i] in closing)
        within = any(first < i < end for first, end, _ in entities)
        if is_last or (ended and not goes_on and not within):
            inside = []
            for first, end, name in entities:
                if begin <= first < i:
                    inside.append(LabelledSpan(first - begin, end - begin, name))
            yield Sentence(words[begin:i], tags[begin:i], entities=inside)
            begin = i
