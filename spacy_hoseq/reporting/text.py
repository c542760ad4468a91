"""An annotated text as one page of HTML: words with their tags and how probable these are, chunks as frames."""

from typing import Any, Dict, Iterable, List

from spacy.tokens import Doc, Span

from ..components.annotation import MARGINALS
from .pages import rendered

SPACE = "\u2423"


def text_page(docs: Iterable[Doc], *, title: str = "Text", spans_key: str = "chunks") -> str:
    """RETURNS (str): a page without scripts that needs no network. Words with their tags; a bar is as long as the
    probability of the tag, if the tagger kept it (`save_marginals`). spans_key: of the spans that frame words."""
    sentences = [sentence for doc in docs for sentence in sentences_of(doc, spans_key)]
    return rendered("text.html.jinja", title=title, sentences=sentences)


def sentences_of(doc: Doc, spans_key: str = "chunks") -> List[List[Dict[str, Any]]]:
    """Each sentence as its chunks, in order: {"label", "p", "tokens": [{"word", "tag", "pos", "p"}]}. label: "" = the
    token is in no chunk. p: a probability, or None where it is not known. White space is left out."""
    chunks = doc.spans.get(spans_key, [])
    scores = getattr(chunks, "attrs", {}).get("scores", [None] * len(chunks))
    known = [None if score is None else float(score) for score in scores]
    begins = {span.start: (span, p) for span, p in zip(chunks, known, strict=True)}
    probabilities = tag_probabilities(doc)
    sentences: List[List[Dict[str, Any]]] = []
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        groups, i = [], sentence.start
        while i < sentence.end:
            span, p = begins.get(i, (Span(doc, i, i + 1), None))
            tokens = [
                {"word": shown(token.text), "tag": token.tag_, "pos": token.pos_, "p": probabilities[token.i]}
                for token in span
                if not token.is_space
            ]
            i = span.end
            if tokens:
                groups.append({"label": span.label_, "p": p, "tokens": tokens})
        if groups:
            sentences.append(groups)
    return sentences


def tag_probabilities(doc: Doc) -> List[Any]:
    """Probability of each token's tag, None where it is not known."""
    kept: Dict[str, Any] = (doc._.get(MARGINALS) or {}) if doc.has_extension(MARGINALS) else {}
    for marginals in kept.values():
        rows = {label: i for i, label in enumerate(marginals["labels"])}
        if any(token.tag_ in rows for token in doc):
            return [
                float(p[rows[token.tag_]]) if token.tag_ in rows else None
                for token, p in zip(doc, marginals["probabilities"], strict=True)
            ]
    return [None] * len(doc)


def shown(word: str) -> str:
    """A word on one line: white space and control characters become an open box."""
    return "".join(c if c.isprintable() and not c.isspace() else SPACE for c in word)
