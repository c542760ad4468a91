"""The page of an annotated text: words with their tags below and spans above. Each word opens all
that is known about it and, where the pipeline is known, the reasons.

`hoseq tag`, `explain`, `serve` and the notebook show the same page.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..components.targets.places import COLUMN_NAMES
from ..inspection import Explanation
from ..inspection.explanation import as_data, decisions, explained
from .layers import Cell, Label, Sentence, sentences_of
from .pages import direction, packed, rendered, uncalibrated
from .sentence import cut, may_break, shown

MAX_TERMS = 10  # of a decision, as in `why.js.jinja`
FRAME_HEIGHT = 420  # pixels of a page in a notebook


class Page:
    """A page for a notebook, in a frame of its own. html (str): the complete page."""

    def __init__(self, html: str, height: int = FRAME_HEIGHT) -> None:
        self.html = html
        self.height = height

    def _repr_html_(self) -> str:
        source = escape(self.html, quote=True)
        return (
            f'<iframe title="spacy_hoseq" sandbox="allow-scripts" srcdoc="{source}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def render(
    docs: Doc | Iterable[Doc],
    nlp: Language | None = None,
    names: Sequence[str] | None = None,
    *,
    title: str = "",
    height: int = FRAME_HEIGHT,
) -> Page:
    """Words with their tags and chunks; each opens its other labels and probabilities.

    nlp: the pipeline that has annotated the docs; with it words open their reasons, too. names: of
    components whose reasons are shown; None = all. title: "" = the beginning of the text.
    RETURNS (Page): a notebook shows it as the last value of a cell.
    """
    texts = [docs] if isinstance(docs, Doc) else list(docs)
    if nlp is None:
        return Page(text_page(texts, title=title), height)
    chosen = explained(nlp, names)
    reasons = [list(reasons_of(nlp, doc, dict.fromkeys(chosen, doc))) for doc in texts]
    return Page(text_page(texts, nlp, title=title, reasons=reasons), height)


def text_page(
    docs: Iterable[Doc],
    nlp: Language | None = None,
    *,
    title: str = "",
    reasons: Sequence[list[dict[str, Any]]] = (),
    template: str = "text.html.jinja",
    **more: object,
) -> str:
    """A page of annotated texts that needs no network. nlp: the pipeline; None = not known, and then
    nothing says whether probabilities are calibrated. reasons: of each Doc, as `reasons_of` has
    them. template, more: of a page that extends this one."""
    model = ""
    notes = None
    if nlp is not None:
        model = f"{nlp.meta['lang']}_{nlp.meta['name']}"
        notes = notes_of(nlp)
    beginning = ""
    texts = []
    opened = []
    sentences: list[Sentence] = []
    for number, doc in enumerate(docs):
        doc_sentences = sentences_of(doc)
        sentences += doc_sentences
        texts.append((doc.lang_, [_line(sentence) for sentence in doc_sentences]))
        why = [shortened(one) for one in reasons[number]] if reasons else []
        opened.append({"text": doc.text, "facts": _facts(doc_sentences), "reasons": why})
        # the first text that is not empty is the title: 40 columns of it
        words = " ".join(map(shown, doc.text[:160].split()))
        beginning = beginning or cut(words, 40)
    if not title:
        title = beginning or model or "Text"
        if beginning and model:
            title = f"{beginning} ({model})"
    below: dict[str, None] = {}
    above: dict[str, None] = {}
    for sentence in sentences:
        below.update(dict.fromkeys(sentence.labels[:1]))
        above.update(dict.fromkeys(sentence.spans))
    values = {
        "title": title,
        "model": model,
        "texts": texts,
        "below": list(below),
        "spans": list(above),
        "has_p": _shows_probabilities(sentences),
        "notes": notes,
        "data": packed(opened),
    }
    return rendered(template, **values, **more)


def _line(sentence: Sentence) -> dict[str, Any]:
    """A sentence as a page shows it: its direction; for each word its own direction, and whether a
    line may end before it."""
    words = sentence.words
    main = direction(word.text for word in words) or "ltr"
    sides = [direction([word.text]) for word in words]
    breaks = []
    for i, word in enumerate(words):
        if not sides[i]:
            # A word without letters has the direction of both its neighbours, if that is one (rules
            # N1, N2 of Unicode's algorithm).
            after = next(filter(None, sides[i:]), main)
            sides[i] = after if i and sides[i - 1] == after else main
        # words against the direction of the sentence stay on one line
        is_inside = i and sides[i] == sides[i - 1] != main
        ends = i and (words[i - 1].spaced or may_break(words[i - 1].text, word.text))
        breaks.append(bool(ends and not is_inside))
    rows = zip(words, sides, breaks, strict=True)
    return {"direction": main, "spans": sentence.spans, "words": list(rows)}


def _facts(sentences: Iterable[Sentence]) -> dict[int, list[Any]]:
    """Facts about each word: rows of layer, label, probability, and what else it could be."""
    facts: dict[int, list[Any]] = {}
    for sentence in sentences:
        for word in sentence.words:
            rows = facts[word.token] = []
            for name, label in zip(sentence.labels, word.labels, strict=True):
                if label.text:
                    rows.append([name, *label])
            for name, cell in zip(sentence.spans, word.spans, strict=True):
                if cell.label:
                    rows.append([name, f"{cell.label}: {cell.text}", cell.p, []])
    return facts


def _shows_probabilities(sentences: Iterable[Sentence]) -> bool:
    """True if what stands below or above some word has a probability."""
    for sentence in sentences:
        for word in sentence.words:
            seen: list[Label | Cell] = [*word.labels[:1], *word.spans]
            if any(one.p is not None for one in seen):
                return True
    return False


def shortened(one: dict[str, Any]) -> dict[str, Any]:
    """A decision for a page: the terms of most weight, and the number of all."""
    short = {**one, "terms": one["terms"][:MAX_TERMS], "n_terms": len(one["terms"])}
    for unused in ("labels", "others", "p_against", "start", "first", "end", "p"):
        short.pop(unused, None)
    return short


def reasons_of(
    nlp: Language, doc: Doc, seen: Mapping[str, Doc], *settings: Any
) -> Iterator[dict[str, Any]]:
    """Decisions of some components, as data: those of `as_data`, and calibrated: whether the
    probabilities are; tokens: of the Doc, which it is about. seen, settings: as of
    `inspection.explanation.decisions`."""
    notes = uncalibrated(nlp)
    for given, one in decisions(nlp, doc, seen, *settings):
        # a later component may have merged or split the tokens that this one has seen
        span = given[one.first : one.end]
        here = doc.char_span(span.start_char, span.end_char, alignment_mode="expand") or span
        yield {
            "calibrated": one.component not in notes,
            **as_data(one, given),
            "tokens": list(range(here.start, here.end)),
        }


def explanation_text(one: Explanation, doc: Doc, *, calibrated: bool = True) -> str:
    """Say what was decided, how probable the alternatives are, and which terms add up to the
    decision. calibrated (bool): whether these probabilities are."""
    rows = []
    for term in one.terms[:MAX_TERMS]:
        rows.append((f"{term.value:+.3f}", term.kind, term.name, shown(doc[term.token].text)))
    n_more = len(one.terms) - len(rows)
    if n_more:
        value = sum(term.value for term in one.terms[MAX_TERMS:])
        rows.append((f"{value:+.3f}", f"{n_more} more", "", ""))
    values = {"terms": rows, "calibrated": calibrated}
    words = " ".join(shown(token.text) for token in doc[one.first : one.end])
    return rendered("explanation.txt.jinja", one=one, words=words, **values).rstrip("\n")


def notes_of(nlp: Language) -> dict[str, str]:
    """Layers whose probabilities are not calibrated, and what to say of them."""
    notes = {}
    for name, note in uncalibrated(nlp).items():
        target: Any = nlp.get_pipe(name).target  # type: ignore[attr-defined]
        if not target.finds_sentences:  # starts of sentences are no layer
            for place in target.places:
                layer = place.removeprefix("_.").removeprefix("spans.")
                notes[COLUMN_NAMES.get(place, layer)] = note
    return notes
