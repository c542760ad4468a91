"""The page of an annotated text: words with their tags below and spans above; each word opens all
that is known of it and, where the pipeline is known, the reasons.

One page for `hoseq tag`, `explain`, `serve` and the notebook.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..components.targets.places import COLUMNS
from ..inspection import Explanation
from ..inspection.explanation import as_data, decisions, explained
from .layers import Sentence, Word, said, sentences_of
from .pages import direction, packed, rendered, uncalibrated
from .sentence import cut, may_break, shown

REASONS = 10  # terms of a decision that are shown
TITLE = "Text"
HEIGHT = 420  # pixels of a page in a notebook
BEGINNING = 40  # columns of a text in a title
WIDEST = 4 * BEGINNING  # characters
LEFT_OUT = ("labels", "others", "p_against", "start", "first", "end", "p")  # of reasons in a page


class Page:
    """A page for a notebook, in a frame of its own. html (str): the whole page."""

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
    docs: Doc | Iterable[Doc],
    nlp: Language | None = None,
    names: Sequence[str] | None = None,
    *,
    title: str = "",
    height: int = HEIGHT,
) -> Page:
    """Words with their tags and chunks; each opens its other labels and probabilities. nlp: the
    pipeline that has annotated the docs; with it words open their reasons, too, of all components
    or of those of these names. title: "" = how the text begins. RETURNS (Page): a notebook shows it
    as the last value of a cell."""
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
    """RETURNS (str): a page that needs no network. nlp: the pipeline; None = not known, and so
    whether probabilities are calibrated. reasons: of each Doc, as `reasons_of` has them. template,
    more: of a page that extends this one."""
    model = "" if nlp is None else f"{nlp.meta['lang']}_{nlp.meta['name']}"
    beginning = ""
    texts = []
    opened = []
    sentences = []
    for number, doc in enumerate(docs):
        found = sentences_of(doc)
        sentences += found
        texts.append((doc.lang_, list(map(_line, found))))
        facts = {
            word.token: _facts(sentence, word) for sentence in found for word in sentence.words
        }
        why = [shortened(one) for one in (reasons[number] if reasons else ())]
        opened.append({"text": doc.text, "facts": facts, "reasons": why})
        beginning = beginning or cut(" ".join(map(shown, doc.text[:WIDEST].split())), BEGINNING)
    seen: list[Any] = [
        one for s in sentences for word in s.words for one in (*word.labels[:1], *word.spans)
    ]
    values = {
        "title": title
        or (f"{beginning} ({model})" if beginning and model else beginning or model or TITLE),
        "model": model,
        "texts": texts,
        "below": list(dict.fromkeys(name for s in sentences for name in s.labels[:1])),
        "spans": list(dict.fromkeys(name for s in sentences for name in s.spans)),
        "has_p": any(one.p is not None for one in seen),
        "notes": None if nlp is None else notes_of(nlp),
        "data": packed(opened),
    }
    return rendered(template, **values, **more)


def _line(sentence: Sentence) -> dict[str, Any]:
    """A sentence as a page shows it: its direction; of each word its own, and whether a line may
    end before it."""
    words = sentence.words
    around = direction(word.text for word in words) or "ltr"
    sides = [direction([word.text]) for word in words]
    breaks = []
    for i, word in enumerate(words):
        if not sides[i]:  # that of both neighbours (rules N1, N2 of Unicode's algorithm)
            after = next(filter(None, sides[i:]), around)
            sides[i] = after if i and sides[i - 1] == after else around
        is_inside = i and sides[i] == sides[i - 1] != around
        ends = i and (words[i - 1].spaced or may_break(words[i - 1].text, word.text))
        breaks.append(bool(ends and not is_inside))
    rows = zip(words, sides, breaks, strict=True)
    return {"direction": around, "spans": sentence.spans, "words": list(rows)}


def _facts(sentence: Sentence, word: Word) -> list[Any]:
    """Facts of a word: rows of layer, label, probability, and what else it could be."""
    labels = zip(sentence.labels, word.labels, strict=True)
    spans = zip(sentence.spans, word.spans, strict=True)
    facts = [[name, *label] for name, label in labels if label.text]
    return facts + [[name, f"{x.label}: {x.text}", x.p, []] for name, x in spans if x.label]


def shortened(one: dict[str, Any]) -> dict[str, Any]:
    """A decision for a page: the terms of most weight, and of how many."""
    terms = {"terms": one["terms"][:REASONS], "n_terms": len(one["terms"])}
    return {**{key: one[key] for key in one if key not in LEFT_OUT}, **terms}


def reasons_of(
    nlp: Language, doc: Doc, seen: Mapping[str, Doc], *asked: Any
) -> Iterator[dict[str, Any]]:
    """Decisions of some components, as data: as of `as_data`, calibrated: whether the probabilities
    are; tokens: of the Doc, that it is about; said: labels of lemmas as words. seen, asked: as of
    `inspection.explanation.decisions`."""
    rough = uncalibrated(nlp)
    for given, one in decisions(nlp, doc, seen, *asked):
        span = given[one.first : one.end]
        here = doc.char_span(span.start_char, span.end_char, alignment_mode="expand") or span
        place = nlp.get_pipe(one.component).target.place  # type: ignore[attr-defined]
        labels = [label for label, _ in one.alternatives] + [one.against or one.label]
        words = {label: said(place, label, one.text) for label in labels}
        yield {
            "calibrated": one.component not in rough,
            **as_data(one, given),
            "tokens": list(range(here.start, here.end)),
            "said": {label: word for label, word in words.items() if label != word},
        }


def explanation_text(one: Explanation, doc: Doc, *, calibrated: bool = True) -> str:
    """RETURNS (str): what was decided, how probable the alternatives are, and what the decision is
    the sum of. calibrated (bool): whether these probabilities are."""
    rows = [(f"{t.value:+.3f}", t.kind, t.name, shown(doc[t.token].text)) for t in one.terms]
    rest = sum(term.value for term in one.terms[REASONS:])
    more = [(f"{rest:+.3f}", f"{len(rows) - REASONS} more", "", "")] * (len(rows) > REASONS)
    values = {"terms": [*rows[:REASONS], *more], "calibrated": calibrated}
    words = " ".join(shown(token.text) for token in doc[one.first : one.end])
    return rendered("explanation.txt.jinja", one=one, words=words, **values).rstrip("\n")


def notes_of(nlp: Language) -> dict[str, str]:
    """Layers whose probabilities are not calibrated, and what to say of them. Starts of sentences
    are no layer."""
    targets = {name: nlp.get_pipe(name).target for name in uncalibrated(nlp)}  # type: ignore[attr-defined]
    return {
        COLUMNS.get(place, place.removeprefix("_.").removeprefix("spans.")): note
        for name, note in uncalibrated(nlp).items()
        for place in targets[name].places
        if not targets[name].finds_sentences
    }
