"""Texts with spans by offsets: JSON of Prodigy, doccano, Label Studio and spaCy's examples, and brat.

    {"text": "Ann sleeps.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}       Prodigy
    {"text": "Ann sleeps.", "label": [[0, 3, "PER"]]}                                doccano
    {"text": "Ann sleeps.", "entities": [{"start_offset": 0, "end_offset": 3, ...}]} doccano, relations
    {"data": {"text": ...}, "annotations": [{"result": [{"value": {...}}]}]}         Label Studio
    ["Ann sleeps.", {"entities": [[0, 3, "PER"]]}]                                   spaCy

One object a line, or all in one list; or a table with a column of texts and one of spans. Keys may have
other names (`SPAN_FIELDS`); `end` may be that of the last character if the span has its text. brat: a text in
NAME.txt, `T1<tab>PER 0 3<tab>Ann` in NAME.ann. Words are those of spaCy's tokenizer of the language.
White space at the edges of a span is no part of it. A span that does not begin and end with words is a
Problem, and the entities of its words are not known, unless `align` moves it. What nobody has answered
(skipped, rejected, not annotated) has no annotation.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ..files import read_lines
from ..rows import Entry, literal, read_values
from ..sentences import Items, LabelledSpan, Problem, Sentence
from ..settings import Format, Settings

Offsets = tuple[int, int, str]
TEXT_KEYS = ("text", "data", "document", "content", "sentence")
SPAN_KEYS = ("spans", "entities", "labels", "label", "annotations", "annotation", "ner", "tokens")
# names of the fields of a span, without "_"
SPAN_FIELDS = {
    "start": re.compile("(start|begin|beginning|from)(offset|char|index|idx|position|pos)?|offset"),
    "end": re.compile("(end|stop|to)(offset|char|index|idx|position|pos)?"),
    "length": re.compile("length"),
    "label": re.compile("labels?|type|tag|class|category|entity(label|type|group)?"),
    "text": re.compile("text|value|word|mention"),
}


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
        return sentence_of(*text_and_spans(entry.value), settings, path, entry.number)

    expected = 'an object with "text" and spans: {"start": 0, "end": 3, "label": "PER"}'
    return read_values(path, settings.encodings, read, expected)


def text_and_spans(value: Any) -> tuple[str, list[Offsets] | None]:
    """The text and the spans of a value; None = nobody has answered. RAISES LookupError, TypeError,
    ValueError, AttributeError: it has no known form."""
    # spaCy: [text, {"entities": ...}]
    if isinstance(value, list | tuple):
        value = {"text": value[0], **value[1]}
    row = {key.strip().lower(): literal(cell) for key, cell in value.items()}
    for key in ("annotations", "data"):
        # spaCy's "annotations" may have "entities"
        if isinstance(row.get(key), dict) and "annotations" not in row[key]:
            row = {**row.pop(key), **row}
    text = [row[key] for key in (*TEXT_KEYS, *row) if isinstance(row.get(key), str)][0]
    # answers of Prodigy; tasks of Label Studio have a list of annotations with a result each
    if row.get("answer") in ("reject", "ignore"):
        return text, None
    answers = row.get("annotations", row.get("completions"))
    if isinstance(answers, list) and all(isinstance(a, dict) and "result" in a for a in answers):
        results = [a["result"] for a in answers if not a.get("was_cancelled")]
        if not results:
            return text, None
        values = [result.get("value", {}) for result in results[0]]
        return text, [_offsets(value, text) for value in values if "start" in value]
    is_given = False
    for key in (*SPAN_KEYS, *row):
        spans = row.get(key)
        is_given |= key in SPAN_KEYS and bool(spans)
        if isinstance(spans, list | tuple):
            with suppress(AttributeError, LookupError, TypeError, ValueError):
                return text, [_offsets(span, text) for span in spans]
    if is_given:
        raise ValueError(value)
    return text, None


def _offsets(span: Any, text: str) -> Offsets:
    """Start, end and label of [start, end, label] or of an object. RAISES LookupError, TypeError,
    ValueError."""
    if isinstance(span, list | tuple):
        start, end = [part for part in span if type(part) is int][:2]
        names = [part for part in span if isinstance(part, str) and part != text[start:end]]
        span = {"start": start, "end": end, "label": names[0]}
    fields: dict[str, Any] = {}
    for key, value in {**span, **(span.get("points") or [{}])[0]}.items():
        for name, form in SPAN_FIELDS.items():
            if form.fullmatch(key.replace("_", "").lower()):
                fields.setdefault(name, value)
    start = fields["start"]
    end = fields["end"] if "end" in fields else start + fields["length"]
    label = fields["label"]
    if isinstance(label, list):
        label = label[0]
    # True is an int, too
    if not (type(start) is int and type(end) is int):
        raise TypeError(span)
    if not isinstance(label, str) or not label:
        raise ValueError(span)
    words = fields.get("text")
    if words and text[start:end] != words:
        wide = text.encode("utf-16-le")  # characters as JavaScript counts them
        if text[start : end + 1] == words:
            end += 1
        elif wide[2 * start : 2 * end] == words.encode("utf-16-le"):
            start, end = (len(wide[: 2 * at].decode("utf-16-le")) for at in (start, end))
    return start, end, label


def sentence_of(
    text: str, spans: Sequence[Offsets] | None, settings: Settings, path: Path, line: int
) -> Items:
    """The words of a text with its spans. A span that cannot be kept is a Problem."""
    doc = _blank(settings.lang or "xx").tokenizer(text)
    good: list[LabelledSpan] = []
    unknown: set[int] = set()  # words in spans that do not begin and end with words
    known: set[int] = set()
    if spans is None and settings.unanswered == "leave-out":
        return
    # longer ones first, so that the outer of nested spans stays
    for start, end, label in sorted(spans or (), key=lambda span: (span[0], -span[1])):
        actual = f'{label} "{text[max(start, 0) : max(end, 0)]}" ({start}-{end})'
        span = None
        if 0 <= start < end <= len(text):
            # white space at the edges is no part of a name
            start = end - len(text[start:end].lstrip())
            end = start + len(text[start:end].rstrip())
            span = doc.char_span(start, end, label, alignment_mode=settings.align)
        if span is None or not text[start:end].strip():
            words = [token for token in doc if token.idx < end and start < token.idx + len(token)]
            unknown.update(token.i for token in words)
            example = " ".join(token.text for token in words)[:60]
            expected = f'the borders of words, such as "{example}" (--align expand moves it)'
            yield Problem(path, line, actual, expected, is_partial=True)
        elif good and span.start < good[-1].end and not settings.spans_key:
            expected = "no overlap (--spans-key SPANS keeps both)"
            yield Problem(path, line, actual, expected, is_partial=True)
        else:
            good.append(LabelledSpan(span.start, span.end, label))
            known.update(range(span.start, span.end))
    is_open = spans is None and settings.unanswered == "missing"
    yield Sentence(
        [token.text for token in doc],
        entities=None if is_open else good,
        spaces=[token.whitespace_ != "" for token in doc],
        unknown=[LabelledSpan(i, i + 1, "") for i in sorted(unknown - known)],
        is_text=True,
        starts=_starts(doc, good),
    )


def _starts(doc: Doc, spans: Sequence[LabelledSpan]) -> list[int]:
    """The words at which lines begin, if nearly all lines are sentences; [] = they are not."""
    lines = [line for line in doc.text.splitlines() if line.strip()]
    ended = [line for line in lines if re.search(r"[.!?。！？…][\"'”’»)\]]*\s*$", line)]
    if len(lines) < 2 or len(ended) < 0.9 * len(lines):
        return []
    starts = [token.i + 1 for token in doc[:-1] if "\n" in token.text]
    inside = {i for first, end, _ in spans for i in range(first + 1, end)}
    return [] if inside.intersection(starts) else [0, *starts]


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
                label, bounds = line.text.split("\t")[1].split(" ", 1)
                # a name that goes over a line break: 0 3;4 8
                numbers = [int(number) for number in re.split("[ ;]", bounds)]
                gaps = [text[a:b] for a, b in zip(numbers[1:-1:2], numbers[2::2], strict=True)]
                if "".join(gaps).strip():
                    raise ValueError(gaps)
                spans.append((numbers[0], numbers[-1], label))
            except (IndexError, ValueError):
                expected = "T1, a tab, LABEL START END, a tab and the words"
                yield Problem(path, line.number, f'"{line.text}"', expected, is_partial=True)
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
