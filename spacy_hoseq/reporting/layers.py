"""An annotated text as rows: everything on a Doc is a layer, of labels of tokens (tags, parts of
speech, features, lemmas, extensions), or of spans (each group of `doc.spans`, `doc.ents`).

`sentences_of` is what the page, the notebook and the command line show.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup, Token

from ..arrays import Floats
from ..components.extensions import DECISIONS, MARGINALS, values_on
from ..components.targets.lemmas import script_named
from ..components.targets.places import COLUMNS, target_at
from ..words import spans_of
from .sentence import SIGN, shown

ENTITIES = "ents"
LEMMA = "lemma"
MOST = 5  # labels that a token could have, too
LEAST = 0.001  # probability of one that is said
PLACES = {column: place for place, column in COLUMNS.items()}
Probability = float | None  # None = not known
Stretch = tuple[int, int, str, Probability]  # a span of tokens, first <= i < end


class Label(NamedTuple):
    """A label of a token in a layer; "" = none. others: what else it could be, with probabilities,
    the most probable first."""

    text: str
    p: Probability = None
    others: Sequence[tuple[str, float]] = ()


class Cell(NamedTuple):
    """A word's cell in a layer of spans. text: of the span. begins, ends: the word is its first,
    its last one. label: "" = there is no span."""

    label: str = ""
    p: Probability = None
    text: str = ""
    begins: bool = False
    ends: bool = False


class Word(NamedTuple):
    """token: its number, the first of several. labels: of each layer of labels. spans: of each
    layer of spans. spaced: white space follows."""

    token: int
    text: str
    labels: list[Label]
    spans: list[Cell]
    spaced: bool = True


class Sentence(NamedTuple):
    """labels, spans: names of the layers that the words have, without those that are empty in this
    sentence."""

    labels: list[str]
    spans: list[str]
    words: list[Word]


def sentences_of(doc: Doc) -> list[Sentence]:
    """Sentences with their words, in order. White space is left out; tokens that are drawn
    together, such as those of a flag, are one word."""
    labels = label_layers(doc)
    spans = span_layers(doc)
    sentences = []
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        signs = _signs(sentence)
        here = {name: row for name, row in labels.items() if any(row[s.start].text for s in signs)}
        above = [(name, row) for name, row in spans if any(row[s.start].label for s in signs)]
        words = []
        for s in signs:
            cells = [row[s.start]._replace(ends=row[s.end - 1].ends) for _, row in above]
            spaced = bool(s[-1].whitespace_) or doc[s.end : s.end + 1].text.isspace()
            of_word = [row[s.start] for row in here.values()]
            words.append(Word(s.start, shown(s.text), of_word, cells, spaced))
        if words:
            sentences.append(Sentence(list(here), [name for name, _ in above], words))
    return sentences


def _signs(sentence: Span) -> list[Span]:
    doc = sentence.doc
    signs: list[Span] = []
    for token in sentence:
        if signs and SIGN.fullmatch(doc[signs[-1].start : token.i + 1].text):
            signs[-1] = doc[signs[-1].start : token.i + 1]
        elif not token.is_space:
            signs.append(doc[token.i : token.i + 1])
    return signs


def label_layers(doc: Doc) -> dict[str, list[Label]]:
    """Labels of tokens by the name of their layer, with the probabilities that some component has
    kept of them."""
    texts = {
        name: [str(getattr(t, place if place == "morph" else f"{place}_")) for t in doc]
        for place, name in COLUMNS.items()
    }
    texts |= {name: [t._.get(name) or "" for t in doc] for name in _extensions(doc)}
    return {name: _layer(doc, name, labels) for name, labels in texts.items() if any(labels)}


def _layer(doc: Doc, name: str, texts: list[str]) -> list[Label]:
    """A layer with the probabilities of the first component that knows all labels, and has kept
    those of these tokens."""
    labels = texts
    if name in PLACES:  # what is shown may be made of the label
        of_tokens = {i: label for i, _, label in target_at(PLACES[name]).items(doc)}
        labels = [of_tokens.get(i, "") for i in range(len(doc))]
    labels = [label * (not token.is_space) for label, token in zip(labels, doc, strict=True)]
    extensions = (MARGINALS, DECISIONS)
    for kept in [one for name in extensions for one in (values_on(doc, name) or {}).values()]:
        table = kept["probabilities"]
        if {*labels} - {""} <= {*kept["labels"]} and len(table) == len(doc):
            rows = zip(texts, labels, doc, table, strict=True)
            return [_label(name, *row, kept["labels"]) for row in rows]
    return list(map(Label, texts))


def _label(name: str, text: str, label: str, token: Token, p: Floats, names: list[str]) -> Label:
    """p: of all labels, or of the one that was decided."""
    if not label or not p.ndim:
        return Label(text, float(p) if label else None)
    own = names.index(label)
    order = [i for i in np.argsort(-p, kind="stable")[: MOST + 1].tolist() if p[i] >= LEAST]
    pairs = [(said(name, names[i], token.text), round(float(p[i]), 3)) for i in order if i != own]
    return Label(text, float(p[own]), pairs[:MOST])


def said(place: str, label: str, word: str) -> str:
    """A label as it is shown: of lemmas the word, not the script that makes it."""
    return script_named(label).lemma(word) if place == LEMMA else label


def span_layers(doc: Doc) -> list[tuple[str, list[Cell]]]:
    """Entities and span groups, each in as few rows of cells as need be, so that spans of a row do
    not overlap. Of entities that are a group, too, the group is not repeated: it has
    probabilities."""
    groups = {key: stretches(group) for key, group in doc.spans.items()}
    entities: list[Stretch] = [(e.start, e.end, e.label_, None) for e in doc.ents]
    bounds = {entity[:3] for entity in entities}
    same = [key for key, spans in groups.items() if bounds and bounds <= {s[:3] for s in spans}]
    if same:
        entities = [span for span in groups.pop(same[0]) if span[:3] in bounds]
    rows: list[tuple[str, list[Cell]]] = []
    for name, spans in {**groups, ENTITIES: entities}.items():
        n_before = len(rows)
        for first, end, label, p in spans:
            if all(row[first].label for _, row in rows[n_before:]):
                rows.append((name, [Cell()] * len(doc)))
            free = next(row for _, row in rows[n_before:] if not row[first].label)
            cell = Cell(shown(label), p, doc[first:end].text)
            free[first:end] = [cell] * (end - first)
            free[first] = cell._replace(begins=True)
            free[end - 1] = free[end - 1]._replace(ends=True)
    return rows


def stretches(group: SpanGroup) -> list[Stretch]:
    """The spans of a group with their scores, in order."""
    spans = spans_of(group)
    scores: Sequence[Any] = group.attrs.get("scores", ())
    p = map(float, scores) if len(scores) == len(spans) else [None] * len(spans)
    return sorted(
        ((s.start, s.end, s.label_, x) for s, x in zip(spans, p, strict=True)), key=lambda s: s[:3]
    )


def _extensions(doc: Doc) -> list[str]:
    """Extensions of tokens that hold strings on this Doc: their keys are ("._.", name, start,
    None)."""
    names = {
        key[1]
        for key, value in doc.user_data.items()
        if isinstance(value, str) and isinstance(key, tuple) and key[0] == "._."
        if key[2] is not None and key[3] is None
    }
    return sorted(name for name in names if Token.has_extension(name))
