"""Texts with spans by offsets: JSON of Prodigy, doccano, Label Studio and spaCy's examples, and brat.

    {"text": "Ann sleeps.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}       Prodigy
    {"text": "Ann sleeps.", "label": [[0, 3, "PER"]]}                                doccano
    {"text": "Ann sleeps.", "entities": [{"start_offset": 0, "end_offset": 3, ...}]} doccano, relations
    {"data": {"text": ...}, "annotations": [{"result": [{"value": {...}}]}]}         Label Studio
    ["Ann sleeps.", {"entities": [[0, 3, "PER"]]}]                                   spaCy

One object a line, or all in one list; or a table with a column of texts and one of spans. Keys may have
other names (`_offsets`); `end` may be that of the last character if the span has its text. brat: a text in
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
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span, Token

from ..files import read_lines
from ..rows import Entry, literal, read_values
from ..sentences import Items, LabelledSpan, Problem, Sentence
from ..settings import Format, Settings

TEXT_KEYS = ("text", "data", "document", "content", "sentence")
SPAN_KEYS = ("spans", "entities", "labels", "label", "annotations", "annotation", "ner", "tokens")


class Offsets(NamedTuple):
    """A span by its characters. label: "" = none was given. words: what it should be; "" = not known."""

    start: int
    end: int
    label: str
    words: str = ""


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
    # spaCy: [text, {"entities": ...}], or the list of entities alone
    if isinstance(value, list | tuple):
        text, spans = value
        value = {"text": text, **(spans if isinstance(spans, dict) else {"entities": spans})}
    row = {key.strip().lower(): literal(cell) for key, cell in value.items()}
    answers = row.get("annotations", row.get("completions"))
    if isinstance(answers, list) and all(isinstance(a, dict) and "result" in a for a in answers):
        return _task(row, answers)
    for key in ("annotations", "data"):
        # spaCy's "annotations" may have "entities"
        if isinstance(row.get(key), dict) and "annotations" not in row[key]:
            row = {**row.pop(key), **row}
    texts = [cell for cell in row.values() if isinstance(cell, str)]
    text = next((row[key] for key in TEXT_KEYS if isinstance(row.get(key), str)), None)
    # answers of Prodigy
    if row.get("answer") in ("reject", "ignore"):
        return text or max(texts, key=len), None
    spans = _spans(row, text or max(texts, key=len))
    if text is None:
        # under another key, the longest string is a text if spans fit into it
        text = max(texts, key=len)
        if not spans or max(span.end for span in spans) > len(text):
            raise LookupError(TEXT_KEYS)
    return text, spans


def _task(row: dict[str, Any], answers: list[dict[str, Any]]) -> tuple[str, list[Offsets] | None]:
    """The text and the spans of a task of Label Studio. RAISES as `text_and_spans`."""
    data = row["data"] if isinstance(row.get("data"), dict) else row
    texts = [cell for cell in data.values() if isinstance(cell, str)]
    text = next((data[key] for key in TEXT_KEYS if isinstance(data.get(key), str)), None)
    text = text or max(texts, key=lambda cell: (" " in cell, len(cell)))  # no address
    results = [answer["result"] for answer in answers if not answer.get("was_cancelled")]
    if not results:
        return text, None
    spans = []
    for result in results[0]:
        # others are relations, choices and comments
        if str(result.get("type", "labels")).endswith("labels") and "start" in result["value"]:
            spans += _offsets(result["value"], text)
    return text, spans


def _spans(row: dict[str, Any], text: str) -> list[Offsets] | None:
    """The spans in the first field that has some; None = there is no such field. RAISES ValueError:
    the fields of spans cannot be read."""
    is_given = False
    others = [key for key in row if not re.search("predict|suggest", key)]  # nobody has seen those
    for key in (*SPAN_KEYS, *others):
        cells = row.get(key)
        if isinstance(cells, dict):
            cells = next((cells[inner] for inner in SPAN_KEYS if inner in cells), cells)
        is_given |= key in SPAN_KEYS and key != "tokens" and bool(cells)
        if isinstance(cells, list | tuple) and (cells or key in SPAN_KEYS):
            with suppress(AttributeError, LookupError, TypeError, ValueError):
                return [span for cell in cells for span in _offsets(cell, text)]
    if is_given:
        raise ValueError(row)
    return None


def _offsets(span: Any, text: str) -> list[Offsets]:
    """The offsets of [start, end, label] or of an object, once for each of its labels. RAISES LookupError,
    TypeError, ValueError."""
    if isinstance(span, list | tuple):
        first, last = [part for part in span if type(part) is int][:2]
        names = [part for part in span if isinstance(part, str) and part != text[first:last]]
        span = {"start": first, "end": last, "label": names[0]}
    # names of the fields of a span, without "_"
    forms = {
        "start": "(start|begin|beginning|from)(offset|char|index|idx|position|pos)?|offset",
        "end": "(end|stop|to)(offset|char|index|idx|position|pos)?",
        "length": "length",
        "label": "labels?|type|tag|class|category|entity(label|type|group)?",
        "text": "text|value|word|mention",
    }
    fields: dict[str, Any] = {}
    for key, value in {**span, **(span.get("points") or [{}])[0]}.items():
        for name, form in forms.items():
            if re.fullmatch(form, key.replace("_", "").lower()):
                fields.setdefault(name, value)
    start = fields["start"]
    end: Any = fields.get("end")
    if end is None:
        end = start + fields["length"]
    # True is an int, too
    if not (type(start) is int and type(end) is int):
        raise TypeError(span)
    words = fields.get("text")
    if isinstance(words, str):
        start, end = _fitted(start, end, words, text)
    labels = fields["label"]
    if not isinstance(labels, list):
        labels = [labels]
    if not all(isinstance(label, str) for label in labels if label):
        raise TypeError(span)
    return [Offsets(start, end, label or "", words or "") for label in labels or [""]]


def _fitted(start: int, end: int, words: str, text: str) -> tuple[int, int]:
    """Offsets at which the words are: of an end that is the last character, of characters as JavaScript
    counts them, or of bytes; else those that were given."""
    if text[start:end] == words:
        return start, end
    if text[start : end + 1] == words:
        return start, end + 1
    for encoding, size in (("utf-16-le", 2), ("utf-8", 1)):
        data = text.encode(encoding)
        if data[size * start : size * end] == words.encode(encoding):
            before = len(data[: size * start].decode(encoding))
            return before, before + len(words)
    return start, end


def sentence_of(
    text: str, spans: Sequence[Offsets] | None, settings: Settings, path: Path, line: int
) -> Items:
    """The words of a text with its spans. A span that cannot be kept is a Problem."""
    if spans is None and settings.unanswered == "leave-out":
        return
    doc = _blank(settings.lang or "xx").tokenizer(text)
    kept: list[LabelledSpan] = []
    n_unnamed = 0
    unknown: set[int] = set()  # words in spans that do not begin and end with words
    # longer ones first, so that the outer of nested spans stays
    for offsets in sorted(spans or (), key=lambda span: (span.start, -span.end)):
        if not offsets.label:
            n_unnamed += 1
            continue
        offsets_of_words = _trimmed(offsets, text)
        span, expected = _aligned(doc, offsets_of_words, settings.align)
        if span and kept and span.start < kept[-1].end and not settings.spans_key:
            expected = "no overlap (--spans-key SPANS keeps both)"
        if span and not expected:
            kept.append(LabelledSpan(span.start, span.end, offsets.label))
            continue
        unknown.update(token.i for token in _tokens(doc, offsets_of_words))
        start, end, label, _ = offsets
        actual = f'{label} "{text[max(start, 0) : max(end, 0)]}" ({start}-{end})'
        yield Problem(path, line, actual, expected, is_partial=True)
    for known in kept:
        unknown.difference_update(range(known.first, known.end))
    sentence = Sentence(
        [token.text for token in doc],
        entities=kept,
        spaces=[token.whitespace_ != "" for token in doc],
        unknown=[LabelledSpan(i, i + 1, "") for i in sorted(unknown)],
        is_text=True,
        starts=_starts(doc, kept),
        n_dropped=n_unnamed,
    )
    if spans is None and settings.unanswered == "missing":
        sentence = sentence._replace(entities=None)
    yield sentence


def _aligned(doc: Doc, span: Offsets, align: str) -> tuple[Span | None, str]:
    """The words of a span and "", or None and what was expected."""
    text = doc.text
    start, end, label, words = span
    if words in text and text[start:end] != words.strip() and words:
        return None, f'"{words}", as the span says'
    if 0 <= start < end <= len(text):
        found = doc.char_span(start, end, label, alignment_mode=align)
        if found is not None:
            return found, ""
    example = " ".join(token.text for token in _tokens(doc, span))[:60]
    return None, f'the borders of words, such as "{example}" (--align expand moves it)'


def _tokens(doc: Doc, span: Offsets) -> list[Token]:
    """The tokens of which a span has characters."""
    return [token for token in doc if token.idx < span.end and span.start < token.idx + len(token)]


def _trimmed(span: Offsets, text: str) -> Offsets:
    """A span without white space at its edges, which is no part of a name."""
    words = text[span.start : span.end]
    if not 0 <= span.start < span.end <= len(text) or not words.strip():
        return span
    start = span.end - len(words.lstrip())
    return span._replace(start=start, end=start + len(words.strip()))


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
    spans = []
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Problem):
            yield line
        elif line.text.startswith("T"):
            try:
                _, bounds, *words = line.text.split("\t")
                label, bounds = bounds.split(" ", 1)
                # a name that goes over a line break: 0 3;4 8
                numbers = [int(number) for number in re.split("[ ;]", bounds)]
                gaps = [text[a:b] for a, b in zip(numbers[1:-1:2], numbers[2::2], strict=True)]
                if "".join(gaps).strip():
                    raise ValueError(gaps)
                spans.append(Offsets(numbers[0], numbers[-1], label, *words[:1]))
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
