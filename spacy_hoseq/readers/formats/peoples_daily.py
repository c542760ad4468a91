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
from ..format import Format
from ..sentences import Items, LabelledSpan, Sentence, Unreadable, read_each
from ..settings import Settings

EXPECTED = "word/tag, with [ before the first word of a group and ]tag behind the last"
NUMBER = re.compile(r"\d{8}-\d{2}-\d{3}-\d{3}(/m)?")
_PIECE = re.compile(r"(?P<open>\[*)(?P<word>.+)/(?P<tag>[A-Za-z]+)(?P<close>(\][A-Za-z]+)*)")
_ENDS = "。！？"
_FOLLOWERS = "”’』」）"  # what follows the end of a sentence and belongs to it


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
    pieces = [piece for piece in re.split(r"[ \t]+", text) if piece]
    if pieces and NUMBER.fullmatch(pieces[0]):
        pieces.pop(0)
    words: list[str] = []
    tags: list[str] = []
    groups: list[LabelledSpan] = []  # as they close: an inner one before the outer one
    open_at: list[int] = []
    for i, piece in enumerate(pieces):
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise Unreadable(number, f'"{piece}"', EXPECTED)
        open_at += [i] * len(match["open"])
        words.append(match["word"])
        tags.append(match["tag"])
        for tag in match["close"].split("]")[1:]:
            if not open_at:
                raise Unreadable(number, f'"{piece}" without an opening bracket', EXPECTED)
            groups.append(LabelledSpan(open_at.pop(), i + 1, tag))
    if open_at:
        actual = f'"{pieces[open_at[0]]}" without a closing bracket'
        raise Unreadable(number, actual, EXPECTED)
    names = {"nt": "ORG"} if settings.groups is None else settings.groups
    groups += [LabelledSpan(i, i + 1, tag) for i, tag in enumerate(tags)]
    paragraph = Sentence(words, tags, None, _outermost(groups, names))
    if not settings.split_sentences or not words:
        return [paragraph] if words else []
    return list(_cut(paragraph))


def _outermost(groups: list[LabelledSpan], entities: dict[str, str]) -> list[LabelledSpan]:
    """Groups that have a name, without those within another one, in order."""
    result: list[LabelledSpan] = []
    for first, end, tag in sorted(groups, key=lambda group: (group.first, -group.end)):
        if tag in entities and (not result or result[-1].end <= first):
            result.append(LabelledSpan(first, end, entities[tag]))
    return result


def _cut(paragraph: Sentence) -> Iterator[Sentence]:
    """Cut after the ends of sentences and what closes there, outside of entities."""
    words, tags, _, entities = paragraph[:4]
    cuts = [0]
    ended = False
    for i, word in enumerate(words[:-1], 1):
        ended = word in _ENDS or (ended and word in _FOLLOWERS)
        goes_on = words[i] in _ENDS or words[i] in _FOLLOWERS
        within = any(first < i < end for first, end, _ in entities or ())
        if ended and not goes_on and not within:
            cuts.append(i)
    for begin, stop in zip(cuts, [*cuts[1:], len(words)], strict=True):
        of_sentence = [
            LabelledSpan(first - begin, end - begin, name)
            for first, end, name in entities or ()
            if begin <= first < stop
        ]
        yield Sentence(words[begin:stop], (tags or [])[begin:stop], None, of_sentence)
