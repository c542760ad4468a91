"""Scores of components, under spaCy's names (they follow the annotated attribute, not the component)."""

from typing import Any, Dict, Iterable

from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, Token
from spacy.training import Example


def _extension_value(token: Token, name: str) -> Any:
    return token.vocab.strings.add(getattr(token._, name) or "") if getattr(token._, name) else 0


def label_score(examples: Iterable[Example], *, attribute: str = "tag", **_: Any) -> Dict[str, Any]:
    """Accuracy of token labels as "{attribute}_acc": spaCy's `Scorer.score_token_attr` on the component's attribute."""
    if not attribute.startswith("_."):
        return dict(Scorer.score_token_attr(examples, attribute))
    return dict(Scorer.score_token_attr(examples, attribute[2:], getter=_extension_value))


def make_label_scorer() -> Any:
    """Registered as `spacy_hoseq.label_scorer.v1`."""
    return label_score


def chunk_score(examples: Iterable[Example], *, spans_key: str = "chunks", **_: Any) -> Dict[str, Any]:
    """Precision, recall and F of whole chunks as "spans_{spans_key}_{p,r,f,per_type}": spaCy's `Scorer.score_spans`."""
    attribute = f"spans_{spans_key}"

    def chunks(doc: Doc, _: str) -> Iterable[Span]:
        return doc.spans.get(spans_key, [])

    def is_annotated(doc: Doc) -> bool:
        return spans_key in doc.spans

    return dict(Scorer.score_spans(examples, attribute, getter=chunks, has_annotation=is_annotated))


def make_chunk_scorer() -> Any:
    """Registered as `spacy_hoseq.chunk_scorer.v1`."""
    return chunk_score
