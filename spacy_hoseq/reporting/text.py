"""The page of an annotated text: words with their tags below and spans above; each word opens all
that is known of it and, where the pipeline is known, the reasons.

One page for `hoseq tag`, `explain`, `serve` and the notebook.
"""

from html import escape
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from spacy.language import Language
from spacy.tokens import Doc

from ..components.targets.places import COLUMNS
from ..inspection import Explanation
from ..inspection.explanation import as_data, decisions, explained
from .layers import Sentence, label_layers, said, sentences_of, span_layers
from .pages import direction, packed, rendered, uncalibrated
from .sentence import cut, may_break, shown

REASONS = 12  # terms of a decision that are shown
HEIGHT = 420  # pixels of a page in a notebook
BEGINNING = 40  # columns of a text in a title
LEFT_OUT = ("labels", "others", "p_against", "start", "first", "end", "p")  # of reasons in a page


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
    nlp: Optional[Language] = None,
    *,
    title: str = "",
    reasons: Sequence[List[Dict[str, Any]]] = (),
    template: str = "text.html.jinja",
    **more: object,
) -> str:
    """RETURNS (str): a page that needs no network. nlp: the pipeline; None = not known, and so
    whether probabilities are calibrated. reasons: of each Doc, as `reasons_of` has them. template,
    more: of a page that extends this one."""
    model = "" if nlp is None else f"{nlp.meta['lang']}_{nlp.meta['name']}"
    texts = []
    opened = []
    for number, doc in enumerate(docs):
        texts.append((doc.lang_, sentences_of(doc)))
        opened.append(_opened(doc, reasons[number] if reasons else ()))
        title = title or _title(doc, model)
    sentences = [sentence for _, of_text in texts for sentence in of_text]
    values = {
        "title": title or model or "Text",
        "model": model,
        "texts": [(lang, list(map(_line, of_text))) for lang, of_text in texts],
        "below": list(dict.fromkeys(name for s in sentences for name in s.labels[:1])),
        "spans": list(dict.fromkeys(name for s in sentences for name in s.spans)),
        "has_p": any(map(_has_p, sentences)),
        "notes": None if nlp is None else notes_of(nlp),
        "data": packed(opened),
    }
    return rendered(template, **values, **more)


def _title(doc: Doc, model: str) -> str:
    """How a text begins, and the pipeline."""
    beginning = cut(" ".join(map(shown, doc.text[: 4 * BEGINNING].split())), BEGINNING)
    return f"{beginning} ({model})" if model and beginning else beginning


def _has_p(sentence: Sentence) -> bool:
    """Whether anything that is seen at once has a probability."""
    seen = [p for word in sentence.words for _, p, _ in word.labels[:1]]
    seen += [cell.p for word in sentence.words for cell in word.spans]
    return any(p is not None for p in seen)


def _line(sentence: Sentence) -> Dict[str, Any]:
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


def _opened(doc: Doc, reasons: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """What the words of a Doc open. facts: by token, rows of layer, label, probability, and what
    else it could be."""
    facts: Dict[int, List[Any]] = {token.i: [] for token in doc if not token.is_space}
    for name, layer in label_layers(doc).items():
        for i in facts:
            if layer[i].text:
                facts[i].append([name, *layer[i]])
    for name, row in span_layers(doc):
        for first, end, label, p in row:
            for i in facts.keys() & range(first, end):
                facts[i].append([name, f"{label}: {doc[first:end].text}", p, []])
    return {"text": doc.text, "facts": facts, "reasons": list(map(shortened, reasons))}


def shortened(one: Dict[str, Any]) -> Dict[str, Any]:
    """What a page has of a decision: the terms of most weight, and of how many."""
    terms = {"terms": one["terms"][:REASONS], "n_terms": len(one["terms"])}
    return {**{key: one[key] for key in one if key not in LEFT_OUT}, **terms}


def reasons_of(
    nlp: Language, doc: Doc, seen: Mapping[str, Doc], *asked: Any
) -> Iterator[Dict[str, Any]]:
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
