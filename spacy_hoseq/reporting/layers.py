"""An annotated text as rows of words. All that a Doc has is a layer: labels of tokens (tags, parts of
speech, features, lemmas, extensions) or spans (each group of `doc.spans`, `doc.ents`).

Pages, notebooks and the command line show `sentences_of`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup, Token

from ..arrays import Floats
from ..components.extensions import DECISIONS, MARGINALS, values_on
from ..components.targets.lemmas import script_named
from ..components.targets.places import COLUMN_NAMES, target_at
from ..words import spans_of
from .sentence import EMOJI, sentences_in, shown

PLACES = {column: place for place, column in COLUMN_NAMES.items()}
Probability = float | None  # None = not known
Stretch = tuple[int, int, str, Probability]  # a span of tokens, first <= i < end


class Label(NamedTuple):
    """A label of a token in a layer; "" = none. others: what else it could be, with probabilities,
    the most probable first."""

    text: str
    p: Probability = None
    others: Sequence[tuple[str, float]] = ()


class Cell(NamedTuple):
    """A word in a layer of spans. text: of the span. begins, ends: the word is the first, the last
    one of the span. label: "" = there is no span."""

    label: str = ""
    p: Probability = None
    text: str = ""
    begins: bool = False
    ends: bool = False


class Word(NamedTuple):
    """A word with its labels and spans. token: its number, the first of several. labels: of each
    layer of labels. spans: of each layer of spans. spaced: white space follows."""

    token: int
    text: str
    labels: list[Label]
    spans: list[Cell]
    spaced: bool = True


class Sentence(NamedTuple):
    """Words and the names of their layers, without layers that are empty in this sentence."""

    labels: list[str]
    spans: list[str]
    words: list[Word]


def sentences_of(doc: Doc) -> list[Sentence]:
    """Sentences with their words, in order. White space is left out; tokens that are drawn
    together, such as those of a flag, are one word."""
    labels = list(label_layers(doc).items())
    spans = span_layers(doc)
    sentences = []
    for sentence in sentences_in(doc):
        words = _drawn_words(sentence)
        if words:
            sentences.append(_sentence(words, labels, spans))
    return sentences


def _drawn_words(sentence: Span) -> list[Span]:
    """The words of a sentence as they are drawn: several tokens may be one emoji."""
    doc = sentence.doc
    words: list[Span] = []
    for token in sentence:
        if words and EMOJI.fullmatch(doc[words[-1].start : token.i + 1].text):
            words[-1] = doc[words[-1].start : token.i + 1]
        elif not token.is_space:
            words.append(doc[token.i : token.i + 1])
    return words


def _sentence(
    words: Sequence[Span],
    labels: Sequence[tuple[str, list[Label]]],
    spans: Sequence[tuple[str, list[Cell]]],
) -> Sentence:
    """Words with the layers that have something for one of them."""
    # a layer that is empty in this sentence would make an empty line
    here = [(name, row) for name, row in labels if any(row[w.start].text for w in words)]
    above = [(name, row) for name, row in spans if any(row[w.start].label for w in words)]
    doc = words[0].doc
    rows = []
    for word in words:
        cells = []
        for _, row in above:
            # a span begins at the first token of a drawn word and ends at its last one
            cells.append(row[word.start]._replace(ends=row[word.end - 1].ends))
        spaced = bool(word[-1].whitespace_) or doc[word.end : word.end + 1].text.isspace()
        word_labels = [row[word.start] for _, row in here]
        rows.append(Word(word.start, shown(word.text), word_labels, cells, spaced))
    return Sentence([name for name, _ in here], [name for name, _ in above], rows)


def label_layers(doc: Doc) -> dict[str, list[Label]]:
    """Labels of tokens by the name of their layer, with probabilities where a component has saved
    them."""
    texts = {}
    for place, name in COLUMN_NAMES.items():
        attribute = f"{place}_"
        if place == "morph":  # it has no attribute for its text
            attribute = place
        texts[name] = [str(getattr(token, attribute)) for token in doc]
    for name in _extensions(doc):
        texts[name] = [token._.get(name) or "" for token in doc]
    return {name: _layer(doc, name, labels) for name, labels in texts.items() if any(labels)}


def _layer(doc: Doc, name: str, texts: list[str]) -> list[Label]:
    """A layer with the probabilities of the first component that knows all its labels and has saved
    those of these tokens."""
    labels = list(texts)
    if name in PLACES:
        # A text can be made of its label: a lemma of the script that makes it.
        labels = [""] * len(doc)
        for i, _, label in target_at(PLACES[name]).items(doc):
            labels[i] = label
    for token in doc:
        if token.is_space:
            labels[token.i] = ""
    for extension in (MARGINALS, DECISIONS):
        for saved in (values_on(doc, extension) or {}).values():
            table = saved["probabilities"]
            if set(labels) <= {"", *saved["labels"]} and len(table) == len(doc):
                rows = zip(texts, labels, doc, table, strict=True)
                return [_label(name, *row, saved["labels"]) for row in rows]
    return list(map(Label, texts))


def _label(name: str, text: str, label: str, token: Token, p: Floats, names: list[str]) -> Label:
    """A label with what else it could be. p: of all labels, or of the one that was decided."""
    if not label:
        return Label(text)
    if not p.ndim:
        return Label(text, float(p))
    own = names.index(label)
    others = []
    # six, since the label itself is among the likeliest: five others are shown
    for i in np.argsort(-p, kind="stable")[:6].tolist():
        if i != own and p[i] >= 0.001:
            others.append((said(name, names[i], token.text), round(float(p[i]), 3)))
    return Label(text, float(p[own]), others[:5])


def said(place: str, label: str, word: str) -> str:
    """A label as it is shown: a lemma is shown as a word, not as the script that makes it."""
    if place == "lemma":
        return script_named(label).lemma(word)
    return label


def span_layers(doc: Doc) -> list[tuple[str, list[Cell]]]:
    """Entities and span groups, each in as few rows of cells as possible: spans of a row do not
    overlap. Entities that are also a group are shown once, with the probabilities of the group."""
    groups = {key: stretches(group) for key, group in doc.spans.items()}
    entities: list[Stretch] = [(e.start, e.end, e.label_, None) for e in doc.ents]
    bounds = {entity[:3] for entity in entities}
    # entities have no probabilities; a group with the same spans may have them
    for key, spans in groups.items():
        if bounds and bounds <= {span[:3] for span in spans}:
            entities = [span for span in groups.pop(key) if span[:3] in bounds]
            break
    rows = []
    for name, spans in {**groups, "ents": entities}.items():
        for row in _rows_of_cells(doc, spans):
            rows.append((name, row))
    return rows


def _rows_of_cells(doc: Doc, spans: Sequence[Stretch]) -> list[list[Cell]]:
    """Spans, in the order of their beginnings, each in the first row that is free there."""
    rows: list[list[Cell]] = []
    for first, end, label, p in spans:
        for row in rows:
            if not row[first].label:
                break
        else:
            row = [Cell()] * len(doc)
            rows.append(row)
        cell = Cell(shown(label), p, doc[first:end].text)
        row[first:end] = [cell] * (end - first)
        row[first] = cell._replace(begins=True)
        row[end - 1] = row[end - 1]._replace(ends=True)
    return rows


def stretches(group: SpanGroup) -> list[Stretch]:
    """The spans of a group with their scores, in order."""
    spans = spans_of(group)
    scores: Sequence[Any] = group.attrs.get("scores", ())
    if len(scores) != len(spans):
        scores = [None] * len(spans)
    rows: list[Stretch] = []
    for span, score in zip(spans, scores, strict=True):
        p = None if score is None else float(score)
        rows.append((span.start, span.end, span.label_, p))
    return sorted(rows, key=lambda row: row[:3])


def _extensions(doc: Doc) -> list[str]:
    """Extensions of tokens that hold strings on this Doc."""
    names: set[str] = set()
    for key, value in doc.user_data.items():
        # spaCy's keys of a token are ("._.", name, start, None)
        if isinstance(value, str) and isinstance(key, tuple) and key[0] == "._.":
            if key[2] is not None and key[3] is None and Token.has_extension(key[1]):
                names.add(key[1])
    return sorted(names)
