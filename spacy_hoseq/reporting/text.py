"""An annotated text as rows: words with their labels and how probable these are, spans above them.

`sentences_of` is what the page, the notebook and the command line show. Everything on a Doc is a
layer: labels of tokens (tags, parts of speech, features, extensions), and spans (each group of
`doc.spans`, `doc.ents`).
"""

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc, Token

from ..components import COLUMNS, DECISIONS, MARGINALS, target_at
from .pages import rendered, uncalibrated
from .sentence import shown

ENTITIES = "ents"
PLACES = {column: place for place, column in COLUMNS.items()}


class Labels(NamedTuple):
    """A layer of labels of tokens. labels (n,): "" = none. p (n,): how probable each is, None = not
    known."""

    name: str
    labels: List[str]
    p: List[Optional[float]]


class Stretch(NamedTuple):
    """A span of tokens, first <= i < end. p: how probable it is, None = not known."""

    first: int
    end: int
    label: str
    p: Optional[float]


class Spans(NamedTuple):
    """A layer of spans that do not overlap."""

    name: str
    spans: List[Stretch]


class Cell(NamedTuple):
    """What a layer of spans has at a word. begins, ends: whether it is the first and the last word
    of its span. label: "" = there is no span."""

    label: str = ""
    p: Optional[float] = None
    begins: bool = False
    ends: bool = False


class Word(NamedTuple):
    """labels: (label, probability) of each layer of labels. spans: of each layer of spans. spaced:
    whether white space follows."""

    text: str
    labels: List[Tuple[str, Optional[float]]]
    spans: List[Cell]
    spaced: bool = True


class Sentence(NamedTuple):
    """labels, spans: names of the layers that the words have, without those that are empty in this
    sentence."""

    labels: List[str]
    spans: List[str]
    words: List[Word]


def text_page(
    docs: Iterable[Doc], *, title: str = "Text", notes: Optional[Mapping[str, str]] = None
) -> str:
    """RETURNS (str): a page without scripts that needs no network. Words with their labels; a bar
    is as long as the probability of the label, if it was kept (`save_marginals`). notes: as
    `notes_of` has them; None = not known, which the page says."""
    sentences = [sentence for doc in docs for sentence in sentences_of(doc)]
    return rendered("text.html.jinja", title=title, sentences=sentences, notes=notes)


def notes_of(nlp: Language) -> Dict[str, str]:
    """Layers whose probabilities are not calibrated, and what to say of them. Starts of sentences
    are no layer."""
    return {
        COLUMNS.get(place, place.removeprefix("_.").removeprefix("spans.")): note
        for name, note in uncalibrated(nlp).items()
        for place in nlp.get_pipe(name).target.places  # type: ignore[attr-defined]
        if not nlp.get_pipe(name).target.finds_sentences  # type: ignore[attr-defined]
    }


def sentences_of(doc: Doc) -> List[Sentence]:
    """Each sentence with its words, in order. White space is left out."""
    labels = label_layers(doc)
    spans = span_layers(doc)
    result = []
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        tokens = [token.i for token in sentence if not token.is_space]
        if tokens:
            result.append(_sentence(doc, tokens, labels, spans))
    return result


def label_layers(doc: Doc) -> List[Labels]:
    """Labels of tokens, layer by layer, each with the probabilities that some component has kept of
    it."""
    layers = [
        (name, [_text(token, attribute) for token in doc]) for attribute, name in COLUMNS.items()
    ]
    layers += [(name, [token._.get(name) or "" for token in doc]) for name in _extensions(doc)]
    kept = _kept(doc)
    return [
        Labels(name, labels, _probabilities(doc, name, labels, kept))
        for name, labels in layers
        if any(labels)
    ]


def span_layers(doc: Doc) -> List[Spans]:
    """Entities and span groups. Of entities that are a group, too, the group is not repeated: it
    has probabilities."""
    groups = {key: _of_group(group) for key, group in doc.spans.items()}
    entities = sorted(Stretch(span.start, span.end, span.label_, None) for span in doc.ents)
    same = [
        key for key, spans in groups.items() if entities and _bounds(entities) <= _bounds(spans)
    ]
    if same:
        known = {stretch[:3]: stretch.p for stretch in groups.pop(same[0])}
        entities = [stretch._replace(p=known[stretch[:3]]) for stretch in entities]
    named = [*groups.items(), *([(ENTITIES, entities)] if entities else [])]
    return [Spans(name, row) for name, spans in named for row in _rows(spans)]


def _sentence(doc: Doc, tokens: List[int], labels: List[Labels], spans: List[Spans]) -> Sentence:
    here = [layer for layer in labels if any(layer.labels[i] for i in tokens)]
    above = [
        layer
        for layer in spans
        if any(span.first <= tokens[-1] and span.end > tokens[0] for span in layer.spans)
    ]
    rows = [_cells(layer, tokens) for layer in above]
    words = [
        Word(
            shown(doc[i].text),
            [(layer.labels[i], layer.p[i]) for layer in here],
            [row[at] for row in rows],
            bool(doc[i].whitespace_) or doc[i + 1 : i + 2].text.isspace(),
        )
        for at, i in enumerate(tokens)
    ]
    return Sentence([layer.name for layer in here], [layer.name for layer in above], words)


def _cells(layer: Spans, tokens: List[int]) -> List[Cell]:
    cells = [Cell()] * len(tokens)
    for span in layer.spans:
        inside = [at for at, i in enumerate(tokens) if span.first <= i < span.end]
        for at in inside:
            cells[at] = Cell(shown(span.label), span.p, at == inside[0], at == inside[-1])
    return cells


def _text(token: Token, attribute: str) -> str:
    return str(token.morph) if attribute == "morph" else str(getattr(token, f"{attribute}_"))


def _extensions(doc: Doc) -> List[str]:
    """Extensions of tokens that hold strings on this Doc."""
    names = {
        key[1]
        for key, value in doc.user_data.items()
        if _is_of_token(key) and isinstance(value, str)
    }
    return sorted(name for name in names if Token.has_extension(name))


def _is_of_token(key: object) -> bool:
    return (
        isinstance(key, tuple)
        and len(key) == 4
        and key[0] == "._."
        and key[2] is not None
        and key[3] is None
    )


def _kept(doc: Doc) -> List[Dict[str, object]]:
    """What components have kept of their labels."""
    extensions = [name for name in (MARGINALS, DECISIONS) if doc.has_extension(name)]
    return [kept for name in extensions for kept in (doc._.get(name) or {}).values()]


def _probabilities(
    doc: Doc, name: str, labels: List[str], kept: List[Dict[str, Any]]
) -> List[Optional[float]]:
    """Of the labels of a layer, by the first component that knows all of them."""
    if name in PLACES:  # what is shown may be made of the label
        labels = [""] * len(doc)
        for i, _, label in target_at(PLACES[name]).items(doc):
            labels[i] = label
    there = {
        label for label, token in zip(labels, doc, strict=True) if label and not token.is_space
    }
    for one in kept:
        if there <= set(one["labels"]):
            return (
                _of_decisions(one) if one["probabilities"].ndim == 1 else _of_marginals(one, labels)
            )
    return [None] * len(doc)


def _of_decisions(kept: Dict[str, Any]) -> List[Optional[float]]:
    pairs = zip(kept["labels"], kept["probabilities"].tolist(), strict=True)
    return [p if label else None for label, p in pairs]


def _of_marginals(kept: Dict[str, Any], labels: List[str]) -> List[Optional[float]]:
    column = {label: i for i, label in enumerate(kept["labels"])}
    rows = zip(labels, kept["probabilities"], strict=True)
    return [
        float(row[column[label]]) if label in column and row.any() else None for label, row in rows
    ]


def _of_group(group: Any) -> List[Stretch]:
    scores = group.attrs.get("scores")
    known: Sequence[Optional[float]] = [None] * len(group)
    if scores is not None and len(scores) == len(group):
        known = [float(score) for score in scores]
    return sorted(
        Stretch(span.start, span.end, span.label_, p) for span, p in zip(group, known, strict=True)
    )


def _bounds(spans: Iterable[Stretch]) -> "set[Tuple[int, int, str]]":
    return {span[:3] for span in spans}


def _rows(spans: List[Stretch]) -> List[List[Stretch]]:
    """Spans in as few rows as need be, so that those of a row do not overlap."""
    rows: List[List[Stretch]] = []
    for span in spans:
        free = [row for row in rows if row[-1].end <= span.first]
        if free:
            free[0].append(span)
        else:
            rows.append([span])
    return rows
