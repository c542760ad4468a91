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

from functools import lru_cache
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language

from ..files import read_lines
from ..format import Format
from ..rows import Entry, read_values
from ..sentences import Items, LabelledSpan, Problem, Sentence
from ..settings import Settings

EXPECTED = 'an object with "text" and spans: {"start": 0, "end": 3, "label": "PER"}'
SPANS = ("spans", "entities", "labels", "label")  # keys beside the text
START = ("start", "start_offset")
END = ("end", "end_offset")
LABEL = ("label", "labels")
REJECTED = ("reject", "ignore")  # answers of Prodigy

Offsets = tuple[int, int, str]


def offsets_format() -> Format:
    """Registered as `spacy_hoseq.offsets_format.v1`: texts with spans by offsets, in JSON."""
    return Format(read_offsets, (".jsonl", ".json"), "texts with spans by offsets")


def read_offsets(path: Path, settings: Settings) -> Items:
    """A Sentence for each text; a Problem for each object, and for each span, that cannot be
    read."""

    def read(entry: Entry) -> Items:
        value = entry.value
        if not isinstance(value, dict) or value.get("answer") not in REJECTED:
            yield from sentence_of(*text_and_spans(value), settings, path, entry.number)

    return read_values(path, settings.encodings, read, EXPECTED)


def text_and_spans(value: Any) -> tuple[str, list[Offsets]]:
    """A text and its spans. RAISES LookupError, TypeError, ValueError, AttributeError: of no known
    form."""
    if isinstance(value, list):
        value = {"text": value[0], **value[1]}
    if not isinstance(value, dict):
        raise TypeError(value)
    if "annotations" in value and "data" in value:
        done = [each for each in value["annotations"] if not each.get("was_cancelled")]
        results = done[0]["result"] if done else []
        spans = [each["value"] for each in results if "start" in each.get("value", {})]
        texts = {key: each for key, each in value["data"].items() if isinstance(each, str)}
        return texts.get("text", [*texts.values()][0]), [_offsets(span) for span in spans]
    key = [key for key in SPANS if isinstance(value.get(key), list)][0]
    if not isinstance(value["text"], str):
        raise TypeError(value)
    return value["text"], [_offsets(span) for span in value[key]]


def _offsets(span: Any) -> Offsets:
    """Bounds and label of [start, end, label], or of an object. RAISES KeyError, TypeError,
    ValueError."""
    if isinstance(span, dict):
        start, end, label = (
            next((span[key] for key in keys if key in span), None) for keys in (START, END, LABEL)
        )
    else:
        start, end, label = span[:3]
    label = label[0] if isinstance(label, list) else label
    if not (type(start) is int and type(end) is int):
        raise TypeError(span)
    if not isinstance(label, str) or not label:
        raise ValueError(span)
    return start, end, label


def sentence_of(
    text: str, spans: list[Offsets], settings: Settings, path: Path, line: int
) -> Items:
    """The words of a text with its spans, and Problems of those that cannot be."""
    doc = _blank(settings.lang or "xx").tokenizer(text)
    good: list[LabelledSpan] = []
    unknown: set[int] = set()
    for start, end, label in sorted(spans, key=lambda each: (each[0], -each[1])):
        span = doc.char_span(start, end, label) if 0 <= start < end <= len(text) else None
        actual = f'{label} "{text[max(start, 0) : max(end, 0)]}" ({start}-{end})'
        if span is None:
            words = [t for t in doc if t.idx < end and start < t.idx + len(t)]
            unknown.update(token.i for token in words)
            said = " ".join(token.text for token in words)
            yield Problem(path, line, actual, f'the borders of words, such as "{said[:60]}"')
        elif good and span.start < good[-1].end and not settings.spans_key:
            yield Problem(path, line, actual, "no overlap (--spans-key SPANS keeps both)")
        else:
            good.append(LabelledSpan(span.start, span.end, label))
    unknown.difference_update(i for first, end, _ in good for i in range(first, end))
    yield Sentence(
        [token.text for token in doc],
        entities=good,
        spaces=[bool(token.whitespace_) for token in doc],
        unknown=[LabelledSpan(i, i + 1, "") for i in sorted(unknown)],
        is_text=True,
    )


@lru_cache
def _blank(lang: str) -> Language:
    return spacy.blank(lang)


def brat_format() -> Format:
    """Registered as `spacy_hoseq.brat_format.v1`: texts with spans in .ann files beside them."""
    return Format(read_brat, (".ann",), "brat: texts with spans in .ann files")


def read_brat(path: Path, settings: Settings) -> Items:
    """The text beside an .ann file, as one Sentence, and Problems. path: of the .ann file."""
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
    """A whole file with its line ends as they are: offsets count them."""
    for encoding in settings.encodings:
        try:
            return path.read_bytes().decode(encoding)
        except (OSError, UnicodeDecodeError):
            continue
    return None
