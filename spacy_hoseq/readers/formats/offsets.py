"""Texts with spans by offsets: JSON of Prodigy, doccano, Label Studio and spaCy's examples, and brat.

    {"text": "Ann sleeps.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}       Prodigy
    {"text": "Ann sleeps.", "label": [[0, 3, "PER"]]}                                doccano
    {"text": "Ann sleeps.", "entities": [{"start_offset": 0, "end_offset": 3, ...}]} doccano, relations
    {"data": {"text": ...}, "annotations": [{"result": [{"value": {...}}]}]}         Label Studio
    ["Ann sleeps.", {"entities": [[0, 3, "PER"]]}]                                   spaCy

One object a line, or all in one list. brat: a text in NAME.txt, `T1<tab>PER 0 3<tab>Ann` in NAME.ann.
Words are those of spaCy's tokenizer of the language. A span that does not begin and end with words is
a Problem, and the entities of its words are not known; nothing is moved.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language

from ..files import read_lines
from ..rows import Entry, read_values
from ..sentences import Items, LabelledSpan, Problem, Sentence
from ..settings import Format, Settings

Offsets = tuple[int, int, str]


def offsets_format() -> Format:
    """Registered as `spacy_hoseq.offsets_format.v1`: texts with spans by offsets, in JSON."""
    return Format(read_offsets, (".jsonl", ".json"), "texts with spans by offsets")


def brat_format() -> Format:
    """Registered as `spacy_hoseq.brat_format.v1`: texts with spans in .ann files beside them."""
    return Format(read_brat, (".ann",), "brat: texts with spans in .ann files")


def read_offsets(path: Path, settings: Settings) -> Items:
    """A Sentence for each text; a Problem for each object, and for each span, that cannot be
    read."""

    def read(entry: Entry) -> Items:
        value = entry.value
        # answers of Prodigy
        if not isinstance(value, dict) or value.get("answer") not in ("reject", "ignore"):
            yield from sentence_of(*text_and_spans(value), settings, path, entry.number)

    expected = 'an object with "text" and spans: {"start": 0, "end": 3, "label": "PER"}'
    return read_values(path, settings.encodings, read, expected)


def text_and_spans(value: Any) -> tuple[str, list[Offsets]]:
    """The text and the spans of a value. RAISES LookupError, TypeError, ValueError, AttributeError:
    it has no known form."""
    # spaCy: [text, {"entities": ...}]
    if isinstance(value, list):
        value = {"text": value[0], **value[1]}
    if not isinstance(value, dict):
        raise TypeError(value)
    if "annotations" in value and "data" in value:
        return _label_studio_task(value)
    keys = ("spans", "entities", "labels", "label")
    # the first key that has a list: Prodigy also has "tokens", doccano "relations"
    key = [key for key in keys if isinstance(value.get(key), list)][0]
    if not isinstance(value["text"], str):
        raise TypeError(value)
    return value["text"], [_offsets(span) for span in value[key]]


def _label_studio_task(task: dict[str, Any]) -> tuple[str, list[Offsets]]:
    """The text of a task, and the spans of its first annotation that was not cancelled. RAISES as
    `text_and_spans`."""
    texts = {key: text for key, text in task["data"].items() if isinstance(text, str)}
    text = texts.get("text", [*texts.values()][0])
    for annotation in task["annotations"]:
        if not annotation.get("was_cancelled"):
            values = [result.get("value", {}) for result in annotation["result"]]
            return text, [_offsets(value) for value in values if "start" in value]
    return text, []


def _offsets(span: Any) -> Offsets:
    """Start, end and label of [start, end, label] or of an object. RAISES KeyError, TypeError,
    ValueError."""
    if isinstance(span, dict):
        start = span.get("start", span.get("start_offset"))
        end = span.get("end", span.get("end_offset"))
        label = span.get("label", span.get("labels"))
    else:
        start, end, label = span[:3]
    if isinstance(label, list):
        label = label[0]
    # True is an int, too
    if not (type(start) is int and type(end) is int):
        raise TypeError(span)
    if not isinstance(label, str) or not label:
        raise ValueError(span)
    return start, end, label


def sentence_of(
    text: str, spans: Sequence[Offsets], settings: Settings, path: Path, line: int
) -> Items:
    """The words of a text with its spans. A span that cannot be kept is a Problem."""
    doc = _blank(settings.lang or "xx").tokenizer(text)
    good: list[LabelledSpan] = []
    unknown: set[int] = set()  # words in spans that do not begin and end with words
    known: set[int] = set()
    # longer ones first, so that the outer of nested spans stays
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        span = doc.char_span(start, end, label) if 0 <= start < end <= len(text) else None
        actual = f'{label} "{text[max(start, 0) : max(end, 0)]}" ({start}-{end})'
        if span is None:
            words = [token for token in doc if token.idx < end and start < token.idx + len(token)]
            unknown.update(token.i for token in words)
            example = " ".join(token.text for token in words)[:60]
            yield Problem(path, line, actual, f'the borders of words, such as "{example}"')
        elif good and span.start < good[-1].end and not settings.spans_key:
            yield Problem(path, line, actual, "no overlap (--spans-key SPANS keeps both)")
        else:
            good.append(LabelledSpan(span.start, span.end, label))
            known.update(range(span.start, span.end))
    yield Sentence(
        [token.text for token in doc],
        entities=good,
        spaces=[token.whitespace_ != "" for token in doc],
        unknown=[LabelledSpan(i, i + 1, "") for i in sorted(unknown - known)],
        is_text=True,
    )


@lru_cache
def _blank(lang: str) -> Language:
    """A blank pipeline, for its tokenizer. A cache: key language, bound 128, forgets the least
    recently used."""
    return spacy.blank(lang)


def read_brat(path: Path, settings: Settings) -> Items:
    """A Sentence for the text beside an .ann file, and Problems. path: the .ann file."""
    beside = path.with_suffix(".txt")
    text = _text(beside, settings)
    if text is None:
        expected = f"the text in {beside.name}, in {' or '.join(settings.encodings)}"
        yield Problem(path, 1, "no such file, or another encoding", expected)
        return
    spans: list[Offsets] = []
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Problem):
            yield line
        elif line.text.startswith("T"):
            try:
                label, start, end = line.text.split("\t")[1].split(" ")
                spans.append((int(start), int(end), label))
            except (IndexError, ValueError):
                expected = "T1, a tab, LABEL START END, a tab and the words"
                yield Problem(path, line.number, f'"{line.text}"', expected)
    yield from sentence_of(text, spans, settings, path, 1)


def _text(path: Path, settings: Settings) -> str | None:
    """A whole file with its own line ends, because offsets count them; None if no encoding fits."""
    # read as bytes: offsets count line ends as they are
    for encoding in settings.encodings:
        try:
            return path.read_bytes().decode(encoding)
        except (OSError, UnicodeDecodeError):
            continue
    return None
