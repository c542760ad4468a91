"""An annotated text as rows, and its page: words with their labels and how probable these are, spans
above them, and, where the pipeline is known, the reasons that each word opens.

`sentences_of` is what the page, the notebook and the command line show. Everything on a Doc is a
layer: labels of tokens (tags, parts of speech, features, extensions), and spans (each group of
`doc.spans`, `doc.ents`).
"""

from html import escape
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, SpanGroup, Token
from wasabi import table

from ..components import COLUMNS, DECISIONS, MARGINALS, target_at
from ..inspection import Explanation
from ..inspection.explanation import as_data, decisions, explained
from ..words import spans_of
from .pages import rendered, uncalibrated
from .sentence import shown

ENTITIES = "ents"
REASONS = 12  # rows in the terminal
WIDEST = 80  # characters of a column
HEIGHT = 420  # pixels of a page in a notebook
PLACES = {column: place for place, column in COLUMNS.items()}
Probability = Optional[float]  # None = not known
Layer = List[Tuple[str, Probability]]  # a label for each token, "" = none
Stretch = Tuple[int, int, str, Probability]  # a span of tokens, first <= i < end


class Cell(NamedTuple):
    """What a layer of spans has at a word. begins, ends: it is the first, the last word of its
    span. label: "" = there is no span."""

    label: str = ""
    p: Probability = None
    begins: bool = False
    ends: bool = False


class Word(NamedTuple):
    """token: its number. labels: (label, probability) of each layer of labels. spans: of each layer
    of spans. spaced: white space follows."""

    token: int
    text: str
    labels: List[Tuple[str, Probability]]
    spans: List[Cell]
    spaced: bool = True


class Sentence(NamedTuple):
    """labels, spans: names of the layers that the words have, without those that are empty in this
    sentence."""

    labels: List[str]
    spans: List[str]
    words: List[Word]


class Page:
    """What a notebook shows: a page in a frame of its own. html (str): the whole page."""

    def __init__(self, html: str, height: int = HEIGHT) -> None:
        self.html = html
        self.height = height

    def _repr_html_(self) -> str:
        source = escape(self.html, quote=True)
        return (
            f'<iframe title="spacy_hoseq" sandbox="allow-scripts" srcdoc="{source}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def render(
    docs: Union[Doc, Iterable[Doc]],
    nlp: Optional[Language] = None,
    names: Optional[Sequence[str]] = None,
    *,
    title: str = "Text",
    height: int = HEIGHT,
) -> Any:
    """Words with their labels, how probable these are, and chunks as frames. nlp: the pipeline that
    has annotated the docs; with it each word opens its alternatives and reasons, of all components
    or of those of these names. RETURNS (Page): a notebook shows it as the last value of a cell."""
    some = [docs] if isinstance(docs, Doc) else list(docs)
    if nlp is None:
        return Page(text_page(some, title=title), height)
    chosen = explained(nlp, names)
    reasons = [list(reasons_of(nlp, doc, dict.fromkeys(chosen, doc))) for doc in some]
    return Page(text_page(some, title=title, notes=notes_of(nlp), reasons=reasons), height)


def text_page(
    docs: Iterable[Doc],
    *,
    title: str = "Text",
    notes: Optional[Mapping[str, str]] = None,
    reasons: Sequence[List[Dict[str, Any]]] = (),
) -> str:
    """RETURNS (str): a page that needs no network, without reasons without scripts. Words with
    their labels; a bar is as long as the probability of the label, if it was kept
    (`save_marginals`). notes: as `notes_of` has them; None = not known, which the page says.
    reasons: of each Doc, as `reasons_of` has them."""
    sentences = [sentences_of(doc) for doc in docs]
    values = {"title": title, "texts": sentences, "notes": notes, "reasons": list(reasons)}
    return rendered("text.html.jinja", **values)


def reasons_of(nlp: Language, doc: Doc, seen: Mapping[str, Doc]) -> Iterator[Dict[str, Any]]:
    """What the words of a Doc open, as data: each decision of some components, with the "tokens"
    of the Doc that it is about. seen: as of `inspection.explanation.annotated`."""
    notes = uncalibrated(nlp)
    for given, one in decisions(nlp, doc, seen):
        span = given[one.first : one.end]
        shown_at = doc.char_span(span.start_char, span.end_char, alignment_mode="expand") or span
        rough = ", not calibrated" if one.component in notes else ""
        tokens = list(range(shown_at.start, shown_at.end))
        yield {**as_data(one, given), "tokens": tokens, "rough": rough}


def explanation_text(one: Explanation, doc: Doc, *, calibrated: bool = True) -> str:
    """RETURNS (str): what was decided, how probable the alternatives are, and what the decision is
    the sum of. calibrated (bool): whether these probabilities are."""
    said = " ".join(shown(token.text) for token in doc[one.first : one.end])
    places = f"{one.first}-{one.end - 1}" if one.end - one.first > 1 else f"{one.first}"
    turn = f" (turn {one.turn})" if one.turn else ""
    alternatives = ", ".join(f"{label} {p:.3f}" for label, p in one.alternatives)
    lines = [
        f"{one.component}, {places}: {said}{turn}",
        f"  {alternatives}{'' if calibrated else ' (not calibrated)'}",
    ]
    if not one.against:
        return "\n".join([*lines, "  no other label is permitted here"])
    lines.append(
        f"  {one.label}, not {one.against}: ahead by {one.difference:.3f}, which is the sum of"
    )
    rows = [
        (f"{term.value:+.3f}", term.kind, term.name, shown(doc[term.token].text))
        for term in one.terms[:REASONS]
    ]
    rest = one.terms[REASONS:]
    if rest:
        rows.append((f"{sum(term.value for term in rest):+.3f}", f"{len(rest)} more", "", ""))
    header = ("value", "", "what", "at")
    text = table(rows, header=header, aligns=("r", "l", "l", "l"), max_col=WIDEST)
    return "\n".join([*lines, *(f"    {line}".rstrip() for line in text.strip("\n").splitlines())])


def notes_of(nlp: Language) -> Dict[str, str]:
    """Layers whose probabilities are not calibrated, and what to say of them. Starts of sentences
    are no layer."""
    targets = {name: nlp.get_pipe(name).target for name in uncalibrated(nlp)}  # type: ignore[attr-defined]
    return {
        COLUMNS.get(place, place.removeprefix("_.").removeprefix("spans.")): note
        for name, note in uncalibrated(nlp).items()
        for place in targets[name].places
        if not targets[name].finds_sentences
    }


def sentences_of(doc: Doc) -> List[Sentence]:
    """Each sentence with its words, in order. White space is left out."""
    labels = label_layers(doc)
    spans = [(name, _cells(row, len(doc))) for name, row in span_layers(doc)]
    result = []
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        tokens = [token for token in sentence if not token.is_space]
        here = {name: row for name, row in labels.items() if any(row[t.i][0] for t in tokens)}
        above = [(name, row) for name, row in spans if any(row[t.i].label for t in tokens)]
        words = [
            Word(
                t.i,
                shown(t.text),
                [row[t.i] for row in here.values()],
                [row[t.i] for _, row in above],
                bool(t.whitespace_) or doc[t.i + 1 : t.i + 2].text.isspace(),
            )
            for t in tokens
        ]
        if words:
            result.append(Sentence(list(here), [name for name, _ in above], words))
    return result


def label_layers(doc: Doc) -> Dict[str, Layer]:
    """Labels of tokens, layer by layer, each with the probabilities that some component has kept of
    it."""
    layers = {
        name: [str(getattr(t, place if place == "morph" else f"{place}_")) for t in doc]
        for place, name in COLUMNS.items()
    }
    layers |= {name: [t._.get(name) or "" for t in doc] for name in _extensions(doc)}
    extensions = [name for name in (MARGINALS, DECISIONS) if doc.has_extension(name)]
    kept = [one for name in extensions for one in (doc._.get(name) or {}).values()]
    return {
        name: list(zip(labels, _probabilities(doc, name, labels, kept), strict=True))
        for name, labels in layers.items()
        if any(labels)
    }


def span_layers(doc: Doc) -> List[Tuple[str, List[Stretch]]]:
    """Entities and span groups, in rows of spans that do not overlap. Of entities that are a group,
    too, the group is not repeated: it has probabilities."""
    groups = {key: stretches(group) for key, group in doc.spans.items()}
    entities: List[Stretch] = [(span.start, span.end, span.label_, None) for span in doc.ents]
    bounds = {span[:3] for span in entities}
    same = [key for key, spans in groups.items() if bounds and bounds <= {s[:3] for s in spans}]
    if same:
        entities = [span for span in groups.pop(same[0]) if span[:3] in bounds]
    named = {**groups, **({ENTITIES: entities} if entities else {})}
    return [(name, row) for name, spans in named.items() for row in _rows(spans)]


def stretches(group: SpanGroup) -> List[Stretch]:
    """The spans of a group with their scores, in order."""
    spans = spans_of(group)
    scores = group.attrs.get("scores")
    p = [None] * len(spans) if scores is None or len(scores) != len(spans) else map(float, scores)
    pairs = zip(spans, p, strict=True)
    return sorted([(s.start, s.end, s.label_, x) for s, x in pairs], key=lambda one: one[:3])


def _rows(spans: List[Stretch]) -> List[List[Stretch]]:
    """Spans in as few rows as need be, so that those of a row do not overlap."""
    rows: List[List[Stretch]] = []
    for span in sorted(spans, key=lambda one: one[:3]):
        free = [row for row in rows if row[-1][1] <= span[0]]
        if free:
            free[0].append(span)
        else:
            rows.append([span])
    return rows


def _cells(spans: List[Stretch], n: int) -> List[Cell]:
    cells = [Cell()] * n
    for first, end, label, p in spans:
        for i in range(first, end):
            cells[i] = Cell(shown(label), p, i == first, i == end - 1)
    return cells


def _extensions(doc: Doc) -> List[str]:
    """Extensions of tokens that hold strings on this Doc: their keys are ("._.", name, start,
    None)."""
    names = {
        key[1]
        for key, value in doc.user_data.items()
        if isinstance(value, str) and isinstance(key, tuple) and key[0] == "._."
        if key[2] is not None and key[3] is None
    }
    return sorted(name for name in names if Token.has_extension(name))


def _probabilities(
    doc: Doc, name: str, labels: List[str], kept: List[Dict[str, Any]]
) -> List[Probability]:
    """Of the labels of a layer, by the first component that knows all of them, and has kept
    probabilities of these tokens."""
    if name in PLACES:  # what is shown may be made of the label
        of_tokens = {i: label for i, _, label in target_at(PLACES[name]).items(doc)}
        labels = [of_tokens.get(i, "") for i in range(len(doc))]
    there = {label for label, token in zip(labels, doc, strict=True) if not token.is_space} - {""}
    for one in kept:
        p = one["probabilities"]
        if there <= set(one["labels"]) and len(p) == len(doc):
            if p.ndim > 1:  # of all labels, not of decisions
                column = {label: i for i, label in enumerate(one["labels"])}
                p = p[np.arange(len(p)), [column.get(label, 0) for label in labels]]
            return [float(x) if label else None for x, label in zip(p, labels, strict=True)]
    return [None] * len(doc)
